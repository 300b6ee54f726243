"""The bar chart of the readme, light and dark, from the figures of docs/measured/gain.md.

    python -m docs.site.chart      # writes docs/images/perplexity-light.svg and -dark.svg
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parents[1]
PAGE = DOCS / "measured" / "gain.md"
ROW = "wiki/en, 400,000 lines"
INKS = {"light": ("#1f2328", "#59636e", "#d1d9e0"), "dark": ("#f0f6fc", "#9198a1", "#3d444d")}  # text, notes, lines
OURS, OTHERS = "#0f8a6d", "#8b949e"
WIDTH, LEFT, RIGHT, TOP, STEP, THICK = 760, 212, 100, 66, 40, 24


class Bar(NamedTuple):
    """A model: its name, its perplexity, and whether it is one of gapgram's better ones."""

    name: str
    perplexity: float
    ours: bool


def bars(page: str) -> list[Bar]:
    """The bars that a page's row holds: modified Kneser-Ney, the default, the best.

    >>> bars("| wiki/en, 400,000 lines | 10 M | 200.0 | 150.0, 25 % | 100.0, **50 %** | |")[1]
    Bar(name='gapgram', perplexity=150.0, ours=True)
    """
    (row,) = (line for line in page.splitlines() if line.startswith(f"| {ROW} |"))
    kneser_ney, default, best = (float(cell.split(",")[0]) for cell in row.split("|")[3:6])
    return [Bar("KenLM", kneser_ney, False), Bar("gapgram", default, True), Bar("gapgram, --effort best", best, True)]


def drawn(found: list[Bar], look: str) -> str:
    """The chart as SVG: bars from zero, the reduction beside the better ones."""
    ink, note, line = INKS[look]
    longest = max(bar.perplexity for bar in found)
    scale = (WIDTH - LEFT - RIGHT) / longest
    bottom = TOP + STEP * len(found)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 34}" role="img" '
        f'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="15" fill="{ink}">',
        f"<title>{'; '.join(f'{bar.name}: {bar.perplexity:.0f}' for bar in found)}</title>",
        f'<text x="{LEFT}" y="24" font-size="17" font-weight="600">Perplexity of unseen text (lower is better)</text>',
        f'<text x="{LEFT}" y="46" font-size="13" fill="{note}">'
        "English Wikipedia, 10.6 million words of training text, order 5</text>",
    ]
    for value in range(0, int(longest) + 1, 50):
        x = LEFT + scale * value
        parts += [
            f'<path d="M{x:.1f} {bottom - 5 if value else TOP - 6}V{bottom}" stroke="{line}"/>',
            f'<text x="{x:.1f}" y="{bottom + 20}" font-size="13" fill="{note}" text-anchor="middle">{value}</text>',
        ]
    for i, bar in enumerate(found):
        y, width = TOP + STEP * i, scale * bar.perplexity
        change = f" ({100 * (bar.perplexity / longest - 1):.0f} %)".replace("-", "\u2212") if bar.ours else ""
        colour, weight = (OURS, 600) if bar.ours else (OTHERS, 400)
        parts += [
            f'<text x="{LEFT - 12}" y="{y + 18}" text-anchor="end" font-weight="{weight}">{bar.name}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{THICK}" rx="2" fill="{colour}"/>',
            f'<text x="{LEFT + width + 8:.1f}" y="{y + 18}" font-weight="{weight}">{bar.perplexity:.0f}{change}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Write both pictures."""
    found = bars(PAGE.read_text(encoding="utf-8"))
    for look in INKS:
        (DOCS / "images" / f"perplexity-{look}.svg").write_text(drawn(found, look), encoding="utf-8")


if __name__ == "__main__":
    main()
