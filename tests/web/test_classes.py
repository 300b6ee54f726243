"""The page with a model of classes: a column of their own, their members, and labels that do not touch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.running_service import Service

from gapgram import Model

LABELS = """() => [...document.querySelectorAll("#why-lattice .kept")].map((text) => {
  const { left, right, top, bottom } = text.getBoundingClientRect();
  return [text.textContent, left, right, top, bottom];
})"""


@pytest.fixture(scope="module")
def service_of_classes(made: dict[str, Model]) -> Iterator[Service]:
    """A service of one model with classes."""
    pytest.importorskip("uvicorn", reason="the extra web is not installed")
    path = made["classes"].path
    assert path is not None
    running = Service([path])
    yield running
    running.stop()


def test_classes_are_told_and_drawn_apart(browser: Any, service_of_classes: Service) -> None:
    context = browser.new_context()
    page = context.new_page()
    for width in (360, 768, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto("about:blank")
        page.goto(f"{service_of_classes.url}#why?after=w1+w2+w3&word=w5")
        page.wait_for_selector("#why-lattice .node.of-classes rect.disc")
        labels = page.evaluate(LABELS)
        for i, (text, left, right, top, bottom) in enumerate(labels):
            assert 0 <= left < right <= width, text
            assert "…" not in text
            for other, a, b, c, d in labels[i + 1 :]:
                assert right <= a + 1 or b <= left + 1 or bottom <= c + 1 or d <= top + 1, (text, other, width)
        assert page.evaluate("document.documentElement.scrollWidth") == width
    page.click("#why-lattice .node[data-pattern='222'] rect.disc", force=True)
    assert "classes of “w2 w3”" in [label[0] for label in labels]
    members = page.locator("#why-lattice .members li").all_inner_texts()
    assert [line.split(":")[0] for line in members] == ["class of w2", "class of w3", "class of w5"]
    assert "w5" in members[2].split(": ")[1].replace("…", ",")
    context.close()
