"""Pictures of the page for the documentation, from a service that runs.

    gapgram serve .demo/mkn.model .demo/glm.model --text .demo/held-out.txt &
    python docs/images/screenshots.py http://127.0.0.1:8000/

Needs Playwright and Debian's Chromium; writes beside itself, looks and widths as the names say.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parent
SIZES = {"wide": {"width": 1100, "height": 860}, "phone": {"width": 390, "height": 844}}
LOOKS = [("wide", "light"), ("wide", "dark"), ("phone", "light"), ("phone", "dark")]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]


def type_view(page: Page) -> None:
    """The beginning of a sentence and the guesses for its next word, one learned from the sentence before."""
    page.fill("#type-text", "The method of the Fibonacci class may return a list.\nA rich comparison method may ")
    page.wait_for_timeout(900)
    page.press("#type-text", "ArrowDown")


def why_view(page: Page) -> None:
    """The lattice of the first example: the held-out word where gaps and classes save most bits."""
    page.click("#tab-why")
    page.wait_for_timeout(500)


def surprise_view(page: Page) -> None:
    """A shaded text and the lattice of one of its words."""
    page.click("#tab-surprise")
    page.wait_for_timeout(700)
    page.click(".word >> text=return")
    page.wait_for_timeout(400)


def correct_view(page: Page) -> None:
    """A text with mistakes, corrected by two models."""
    page.click("#tab-correct")
    page.fill("#correct-text", "The valeu of the expresion is retuned. If the name is no found, an exeption is raised.")
    page.wait_for_timeout(2500)


VIEWS = {"type": type_view, "why": why_view, "surprise": surprise_view, "correct": correct_view}


def main() -> None:
    """Take all pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        for size, look in LOOKS:
            options: dict[str, Any] = {"viewport": SIZES[size], "color_scheme": look, "device_scale_factor": 1.5}
            for name, act in VIEWS.items():
                page = browser.new_context(**options).new_page()
                page.goto(sys.argv[1])
                page.wait_for_selector(".guess")
                act(page)
                page.screenshot(path=FOLDER / f"{name}-{size}-{look}.png", full_page=True)
                page.context.close()
        browser.close()


if __name__ == "__main__":
    main()
