"""The lattice of one prediction as a picture: SVG drawn here, or DOT for Graphviz.

As in figure 1 of the paper, a level holds the patterns that keep equally many words, the most at the top;
an edge leads to a pattern that skips one word more, and the edges of the chain, which is all that modified
Kneser-Ney has, are bold. A box is the darker the more its pattern contributes; patterns
of words are blue, those of classes orange.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from gapgram.arguments import wrong_type
from gapgram.pattern import Pattern

if TYPE_CHECKING:
    from gapgram.queries.explain import Explanation, PatternShare

BOX_WIDTH, BOX_HEIGHT = 176, 62
COLUMN, ROW, TOP = 196, 112, 56


def _title(explanation: Explanation) -> str:
    if not hasattr(explanation, "uniform_share"):
        raise wrong_type("lattice", explanation, "an explanation, as model.explain(word, context) gives")
    return f"P({explanation.word} | {' '.join(explanation.context)}) = {explanation.probability:.6g}"


def _rest(explanation: Explanation) -> str:
    share, contribution = explanation.uniform_share, explanation.uniform_contribution
    return (
        f"uniform: weight {100 * share:.2f} %, gives {contribution:.3g}. Weights are passed on along the edges, so "
        "that they add up to more than 100 %; what boxes give adds up to the probability."
    )


def _lines(p: PatternShare) -> tuple[str, str, str]:
    """The three lines of a box."""
    return (
        f"{p.context} •".strip(),
        f"{p.count:,} of {p.total:,}, backoff {p.backoff:.3f}",
        f"weight {100 * p.share:.2f} %, gives {p.contribution:.3g}",
    )


def _part(p: PatternShare, explanation: Explanation) -> float:
    return p.contribution / explanation.probability


def _edges(explanation: Explanation) -> Iterator[tuple[PatternShare, PatternShare, bool]]:
    """(from, to, whether it belongs to the chain) for all patterns that the context is long enough for."""
    by_name = {p.pattern: p for p in explanation.patterns}
    for p in explanation.patterns:
        for name in p.below:
            chain = Pattern.parse(p.pattern).is_contiguous and Pattern.parse(name).is_contiguous
            yield p, by_name[name], chain


def as_dot(explanation: Explanation) -> str:
    """The lattice in Graphviz's language: `gapgram explain … --dot | dot -Tpdf`."""
    lines = [
        "digraph lattice {",
        f"  label={_quoted(_title(explanation))}; labelloc=t;",
        "  node [shape=box, style=filled, fontsize=10];",
    ]
    for p in explanation.patterns:
        shade = f"0.58 {0.7 * _part(p, explanation):.3f} 1.0"
        lines.append(f'  "{p.pattern}" [label={_quoted(*_lines(p))}, fillcolor="{shade}"];')
    for p, q, chain in _edges(explanation):
        lines.append(f'  "{p.pattern}" -> "{q.pattern}"{" [style=bold, penwidth=2.5]" * chain};')
    lines += [f'  "rest" [label={_quoted(_rest(explanation))}, style=dashed];', '  "1" -> "rest" [style=dashed];', "}"]
    return "\n".join(lines) + "\n"


def _quoted(*lines: str) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def as_svg(explanation: Explanation) -> str:
    """The lattice as a page of SVG that needs nothing from outside."""
    title, levels = _title(explanation), _levels(explanation)
    width = COLUMN * max(max(map(len, levels)), 3)
    height = TOP + ROW * len(levels) + 24
    corners = {
        p.pattern: (width / 2 + (i - (len(level) - 1) / 2) * COLUMN, TOP + row * ROW + BOX_HEIGHT / 2)
        for row, level in enumerate(levels)
        for i, p in enumerate(level)
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12" text-anchor="middle">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{width / 2:g}" y="28" font-size="17">{escape(title)}</text>',
    ]
    lines += [_line(corners[p.pattern], corners[q.pattern], chain) for p, q, chain in _edges(explanation)]
    lines += [_box(p, *corners[p.pattern], _part(p, explanation)) for p in explanation.patterns]
    lines.append(f'<text x="{width / 2:g}" y="{height - 16}" fill="#555">{escape(_rest(explanation))}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _levels(explanation: Explanation) -> list[list[PatternShare]]:
    """Patterns by falling number of words, in a level the nearest words to the left."""
    sizes = sorted({len(Pattern.parse(p.pattern)) for p in explanation.patterns}, reverse=True)
    return [[p for p in explanation.patterns if len(Pattern.parse(p.pattern)) == size] for size in sizes]


def _line(start: tuple[float, float], end: tuple[float, float], chain: bool) -> str:
    look = 'stroke="#000" stroke-width="3"' if chain else 'stroke="#999"'
    x1, y1, x2, y2 = start[0], start[1] + BOX_HEIGHT / 2, end[0], end[1] - BOX_HEIGHT / 2
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" {look}/>'


def _box(p: PatternShare, x: float, y: float, contribution: float) -> str:
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    box = f'<rect x="{left:g}" y="{top:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5"'
    texts = [
        f'<text x="{x:g}" y="{top + 17 + 18 * i:g}"{_fitted(line)}>{escape(line)}</text>'
        for i, line in enumerate(_lines(p))
    ]
    colour = "#d9822b" if p.classes else "#4a90d9"
    shade = f'fill="{colour}" fill-opacity="{0.8 * contribution:.3f}" stroke="#333"/>'
    white = 'fill="white"/>'
    title = f"<title>pattern {p.pattern}</title>"
    return f"<g>{title}{box} {white}{box} {shade}{''.join(texts)}</g>"


def _fitted(line: str) -> str:
    """Squeeze a line that would leave its box."""
    return f' textLength="{BOX_WIDTH - 8}" lengthAdjust="spacingAndGlyphs"' if len(line) > 27 else ""
