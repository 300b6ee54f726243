"""Build the documentation: `make docs`, or `python -m docs.site.build FOLDER` in the root of the repository.

Pages are those of `docs/` and two that are generated: Python's names and the commands. FOLDER gets `pages` (what
Zensical reads) and `site` (what a reader opens). A dead link, a page that no index names, and a name of an index that
has no page end the work. `try.html` on the front is what `gapgram page` makes of two small models, of Python's language
reference.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docs.site.command_reference import command_page
from docs.site.links import dead_links
from docs.site.mathml import equations_as_mathml
from docs.site.notebooks import as_markdown
from docs.site.python_reference import python_page

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
ENTRANCES = ("guide", "reference", "ideas", "measured")
GENERATED = {"reference/python.md": python_page, "reference/commands.md": command_page}


class SiteError(Exception):
    """Something about the documentation that its author must mend."""


def build(folder: Path) -> Path:
    """Build the site below a folder; the page to open."""
    pages = folder / "pages"
    shutil.rmtree(folder, ignore_errors=True)
    write_pages(pages)
    navigation = [{"Home": "README.md"}, *({entrance.title(): listed(pages, entrance)} for entrance in ENTRANCES)]
    settings = (HERE / "zensical.toml").read_text(encoding="utf-8")
    (folder / "zensical.toml").write_text(settings.replace("# navigation", f"nav = {as_toml(navigation)}"))
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(folder.resolve() / "zensical.toml")],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SiteError(re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr))
    if dead := dead_links(folder / "site"):
        raise SiteError("dead links:\n" + "\n".join(dead))
    return folder / "site" / "index.html"


def write_pages(pages: Path) -> None:
    """What Zensical reads: the pages of the repository, the generated ones, pictures, and what they link to."""
    for path in sorted(DOCS.rglob("*")):
        name = path.relative_to(DOCS)
        if not path.is_file() or name.parts[0] == "site" or path.suffix in (".py", ".pyc"):
            continue
        target = pages / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = re.sub(r"\.ipynb\)", ".md)", path.read_text(encoding="utf-8"))
            target.write_text(equations_as_mathml(text), encoding="utf-8")
        elif path.suffix == ".ipynb":
            target.with_suffix(".md").write_text(as_markdown(path, target.parent / "pictures"), encoding="utf-8")
        else:
            shutil.copyfile(path, target)
    shutil.copytree(HERE / "assets", pages / "assets", dirs_exist_ok=True)
    for generated, page in GENERATED.items():
        (pages / generated).write_text(page(), encoding="utf-8")
    write_page_to_try(pages / "try.html")


def write_page_to_try(path: Path) -> None:
    """A page with models in it, for who has installed nothing."""
    from compiler.library import build_for_page

    import gapgram
    from gapgram.experiments.demo import reference_sentences
    from gapgram.web.alone import write_page
    from gapgram.web.served import ServedModel

    build_for_page()
    sentences = reference_sentences()
    rest, held_out = [one for i, one in enumerate(sentences) if i % 20], sentences[::20]
    with tempfile.TemporaryDirectory() as folder:
        models = [
            gapgram.train(
                sentences=rest, order=4, model=kind, split="done", layout="compact", output=Path(folder) / kind
            ) for kind in ("mkn", "glm")
        ]  # fmt: skip
        write_page([ServedModel(model.name, model) for model in models], held_out, path)


def listed(pages: Path, entrance: str) -> list[str]:
    """The pages of an entrance in the order in which its index links to them."""
    index = (pages / entrance / "README.md").read_text(encoding="utf-8")
    names = [f"{entrance}/{name}" for name in dict.fromkeys(re.findall(r"\]\(([\w/-]+\.md)", index))]
    there = {str(path.relative_to(pages)) for path in (pages / entrance).rglob("*.md")}
    there -= {f"{entrance}/README.md"}
    if missing := sorted(there - set(names)):
        raise SiteError(f"{entrance}/README.md does not link to {', '.join(missing)}")
    return [f"{entrance}/README.md", *names]


def as_toml(navigation: object) -> str:
    """The navigation as a value of TOML, whose strings and lists are those of JSON."""
    return re.sub(r'("[^"]*"): ', r"\1 = ", json.dumps(navigation))


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build(Path(sys.argv[1]))}\n")
    except SiteError as error:
        sys.exit(f"make docs: {error}")
