"""The view of corrections, and the question behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.running_service import Service

from gapgram import Corrector, Model

pytest.importorskip("fastapi", reason="the extra web is not installed")

Ask = Callable[..., Any]
Page = Any  # playwright's, which may be missing


def test_corrections_are_the_correctors(ask: Ask, models: dict[str, Model]) -> None:
    answer = ask("correct", model="mkn", text="w1 w2 ww33\n\nw4 w5")
    corrector = Corrector(models["mkn"])
    expected = [corrector.correct(line) for line in ("w1 w2 ww33", "w4 w5")]
    assert [sentence["text"] for sentence in answer["sentences"]] == [one.after for one in expected]
    found = [[tuple(change.values()) for change in sentence["changes"]] for sentence in answer["sentences"]]
    assert found == [[tuple(change) for change in one.changes] for one in expected]
    assert answer["signature"] == str(models["mkn"].signature)


def test_long_texts_are_refused(ask: Ask) -> None:
    answer = ask("correct", 422, model="mkn", text="a" * 4001)
    assert answer["error"] == "text: string should have at most 4000 characters."


@pytest.fixture
def page(browser: Any, service: Service, models: dict[str, Model]) -> Iterator[Page]:
    """The view of corrections, with its first answer. Whatever the browser complains of fails the test."""
    for name in ("mkn", "glm"):
        Corrector(models[name]).correct("w1 ww33")  # what is compiled now takes none of the service's time
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{service.url}#correct")
    page.wait_for_selector("#correct-table td", state="attached")
    page.click("#view-correct summary")
    yield page
    assert complaints == []
    context.close()


def write(page: Page, text: str) -> None:
    """Write a text and wait for its answer."""
    page.fill("#correct-text", text)
    page.wait_for_selector("#correct-sides[aria-busy=false]")


def test_two_models_side_by_side(page: Page, models: dict[str, Model]) -> None:
    write(page, "w1 w2 w3")
    assert page.locator(".side h2").all_inner_texts() == ["mkn", "glm"]
    rows = page.locator("#correct-table tbody tr")
    assert rows.count() == 3
    cells = rows.nth(2).locator("td").all_inner_texts()
    for place, name in ((1, "mkn"), (3, "glm")):
        assert float(cells[place]) == pytest.approx(-models[name].scores("w1 w2 w3")[2] / 0.30103, abs=0.01)


def test_changes_are_marked(page: Page, models: dict[str, Model]) -> None:
    text = "w1 w2 xw"
    for name in ("mkn", "glm"):
        side = ["mkn", "glm"].index(name)
        write(page, text)
        changes = Corrector(models[name]).correct(text).changes
        marked = page.locator(f".side >> nth={side} >> .corrected ins").all_inner_texts()
        assert marked == [change.after for change in changes]


def test_the_table_can_be_taken_along(page: Page, models: dict[str, Model], tmp_path: Path) -> None:
    write(page, "w1 w2\nnowhere")
    with page.expect_download() as waiting:
        page.click("#correct-download")
    waiting.value.save_as(tmp_path / "table.tsv")
    lines = (tmp_path / "table.tsv").read_text().splitlines()
    assert lines[:2] == [f"# {name}: {models[name].signature}" for name in ("mkn", "glm")]
    assert lines[2].split("\t")[:5] == ["sentence", "position", "word", "surprisal_1", "known_1"]
    assert [line.split("\t")[:3] for line in lines[3:]] == [["1", "1", "w1"], ["1", "2", "w2"], ["2", "1", "nowhere"]]
    assert lines[5].split("\t")[4] == "0"


def test_views_are_reached_by_keys(page: Page) -> None:
    page.focus("#tab-correct")
    page.press("#tab-correct", "ArrowRight")
    assert page.locator("#view-type").is_visible()
    page.press("#tab-type", "ArrowLeft")
    assert page.locator("#view-correct").is_visible()
    page.press("#tab-correct", "Home")
    page.press("#tab-type", "End")
    assert page.locator("#view-correct").is_visible()
