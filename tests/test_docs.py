"""The documentation: who a page is for, how long it is, what is generated, a strict build, a search off-line."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from docs.site import chart
from docs.site.build import DOCS, SiteError, as_toml, build, listed
from docs.site.command_reference import command_page
from docs.site.links import dead_links
from docs.site.mathml import equations_as_mathml
from docs.site.notebooks import NOTEBOOKS, as_markdown, run
from docs.site.python_reference import python_page
from tests.support.walk import walk

import gapgram
from gapgram import sections
from gapgram.cli.commands import COMMANDS
from gapgram.estimation.spelling import PREFIX

PAGES = sorted(DOCS.rglob("*.md"))
GUIDE = sorted(path for path in (DOCS / "guide").glob("*.md") if path.name != "tutorial.md")
MOST_WORDS = 400


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^    .*$", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_says_first_who_it_is_for(page: Path) -> None:
    title, empty, first = page.read_text(encoding="utf-8").splitlines()[:3]
    assert title.startswith("# ") and empty == ""
    assert first.startswith("For ")


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.name)
def test_a_page_of_the_guide_is_short(page: Path) -> None:
    assert len(prose(page).split()) <= MOST_WORDS


def test_every_exported_name_is_in_the_reference() -> None:
    page = python_page()
    names = [name for name in gapgram.__all__ if not name.startswith("_")]
    assert [name for name in names if f"\n### {name}\n" not in page] == []
    assert "\n#### LanguageModel.predict\n" in page and "model: str = 'glm'," in page


def test_every_command_is_in_the_reference() -> None:
    page = command_page()
    assert [name for name in COMMANDS if f"\n## gapgram {name}\n" not in page] == []
    assert "\n### gapgram prepare wikipedia\n" in page


def test_every_section_of_every_file_is_on_the_page_of_the_format() -> None:
    page = (DOCS / "reference" / "format.md").read_text(encoding="utf-8")
    kinds = (sections.COUNTS, sections.MODEL, sections.BACKOFF, sections.SESSION, sections.MIXTURE)
    names = {name.removeprefix(PREFIX) for rules in kinds for name in rules} | {f"{PREFIX}…"}
    assert sorted(name for name in names if f"`{name}`" not in page) == []


def test_the_readme_is_short() -> None:
    assert len((DOCS.parent / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.parametrize("look", chart.INKS)
def test_the_chart_of_the_readme_has_the_figures_of_its_page(look: str) -> None:
    shown = (DOCS / "images" / f"perplexity-{look}.svg").read_text(encoding="utf-8")
    assert shown == chart.drawn(chart.bars(chart.PAGE.read_text(encoding="utf-8")), look)
    assert f"images/perplexity-{look}.svg" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_equations_become_mathml_and_code_stays() -> None:
    page = equations_as_mathml("`$5` is $a_S$:\n\n$$\\frac{1}{2}$$\n\n    echo $HOME $PATH\n")
    assert page.startswith("`$5` is <math") and "$HOME $PATH" in page
    assert '<div class="equation"><math' in page and "<mfrac>" in page and "_" not in page


def test_a_page_that_no_index_names_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "README.md").write_text("# Guide\n\n[one](one.md)\n")
    (tmp_path / "guide" / "one.md").write_text("# One\n")
    assert listed(tmp_path, "guide") == ["guide/README.md", "guide/one.md"]
    (tmp_path / "guide" / "two.md").write_text("# Two\n")
    with pytest.raises(SiteError, match=r"guide/README.md does not link to guide/two.md"):
        listed(tmp_path, "guide")


def test_dead_links_and_what_is_loaded_from_elsewhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        "<h1 id=top></h1><a href=b.html></a><a href='b.html#there'></a><a href='#top'></a><a href=https://x.org></a>"
        "<a href=gone.html></a><a href='b.html#gone'></a><script src=https://x.org/y.js></script>"
    )
    (tmp_path / "b.html").write_text("<p id=there></p>")
    assert dead_links(tmp_path) == ["a.html: gone.html", "a.html: b.html#gone", "a.html: https://x.org/y.js"]


def test_navigation_as_toml() -> None:
    assert as_toml([{"Home": "a.md"}, {"B": ["c.md"]}]) == '[{"Home" = "a.md"}, {"B" = ["c.md"]}]'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical")
    if find_spec("ziglang") is None and not os.environ.get("GAPGRAM_NEEDS_CHROMIUM"):
        pytest.skip("no ziglang: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("docs") / "built"
    return build(Path(os.path.relpath(folder))).resolve()  # as `make docs` names it


def test_the_site_is_built_strictly(site: Path) -> None:
    for name in ("guide/index.html", "reference/python.html", "ideas/mathematics.html", "measured/performance.html"):
        assert (site.parent / name).is_file()


def test_models_can_be_tried_and_the_search_works_from_a_folder(site: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None and not os.environ.get("GAPGRAM_NEEDS_CHROMIUM"):
        pytest.skip("no chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(site.as_uri())
        page.locator("body").press("/")
        page.get_by_role("combobox").fill("backoff")
        page.get_by_text(re.compile(r"\d+ results?")).first.wait_for()
        page.goto(site.as_uri())
        frame = page.frame_locator("iframe.try")
        frame.locator("#type-text").fill("The value of the ")
        frame.locator(".guess b", has_text="expression").first.wait_for()
        browser.close()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_and_has_its_output(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    page = as_markdown(path, tmp_path / "pictures")
    assert page.splitlines()[2].startswith("For ")
    assert "```text\n" in page and ".ipynb)" not in page
    run(path)  # raises where a cell does


def test_a_notebook_becomes_a_page_with_pictures(tmp_path: Path) -> None:
    page = as_markdown(DOCS / "guide" / "notebooks" / "kneser-ney-and-gaps.ipynb", tmp_path / "pictures")
    names = re.findall(r"\]\(pictures/([^)]+)\)", page)
    assert [Path(name).suffix for name in names] == [".svg", ".png"]
    assert all((tmp_path / "pictures" / name).stat().st_size > 1000 for name in names)


def test_the_tutorial_can_be_followed_word_for_word(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("its commands are those of a shell")
    pytest.importorskip("sentencex")
    differences = walk(DOCS / "guide" / "tutorial.md", tmp_path, Path(sys.executable).parent)
    assert not differences, "\n\n".join(differences)
