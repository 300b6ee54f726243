"""Text can be read in the light and in the dark: the colours of the style sheet, measured as WCAG does."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.running_service import Service

CONTRAST = """() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const numbers = (css) => css.match(/[\\d.]+/g).map(Number);
  const rgba = (css) => { probe.style.color = css; return numbers(getComputedStyle(probe).color); };
  const over = (top, under) => top.slice(0, 3).map((c, i) => c * (top[3] ?? 1) + under[i] * (1 - (top[3] ?? 1)));
  const light = (c) => { const l = c / 255; return l <= 0.04045 ? l / 12.92 : ((l + 0.055) / 1.055) ** 2.4; };
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort(); return (y + 0.05) / (x + 0.05); };
  const named = (name) => rgba(`var(--${name})`);
  const darkest = over(rgba("rgba(var(--warm), 0.62)"), named("card"));
  return [
    ...["ink", "soft", "accent"].flatMap((top) => ["paper", "card"].map((under) => ratio(named(top), named(under)))),
    ratio(named("accent-ink"), named("accent")), ratio(named("warn"), named("warn-paper")),
    ratio(named("ink"), darkest),
  ];
}"""


@pytest.mark.parametrize("look", ["light", "dark"])
def test_text_stands_out(browser: Any, service: Service, look: str) -> None:
    page = browser.new_page(color_scheme=look)
    page.goto(service.url)
    ratios = page.evaluate(CONTRAST)
    assert len(ratios) == 9
    assert min(ratios) >= 4.5  # what WCAG AA asks of text
    page.close()
