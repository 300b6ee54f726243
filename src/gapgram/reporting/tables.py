"""Results as tables of text."""

from __future__ import annotations

from collections.abc import Sequence

from gapgram.queries.explain import Explanation


def table(header: Sequence[str], rows: Sequence[Sequence[object]], *, left: int = 1) -> str:
    """Aligned columns under a header; the first `left` columns to the left, figures to the right.

    >>> print(table(["order", "mkn"], [[3, 1212.1], [4, 7]]))
    order     mkn
    3      1212.1
    4           7
    """
    cells = [list(header), *[[str(cell) for cell in row] for row in rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        "  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def change(new: float, old: float) -> str:
    """A relative change in per cent, lower being better for perplexities.

    >>> change(90.0, 100.0)
    '-10.0 %'
    """
    return f"{100 * (new - old) / old:+.1f} %"


LEGEND = """\
pattern: 1 keeps a word of the context, 0 skips it (_), 2 keeps its class ({word}); the last digit is the predicted word
count of: how often the word followed the context, continuation counts but for the longest pattern; D: its discount
backoff, weight: what is passed on to smaller patterns, and what arrives, so that weights add up to more than 1"""

_IN_CLASS = "in its class"


def explanation_table(explanation: Explanation, most: int | None = None) -> str:
    """The probability, where it comes from, and the patterns of the lattice, those that contribute most first."""
    header = ["pattern", "context", "count", "of", "D", "discounted", "backoff", "weight", _IN_CLASS, "contribution"]
    shown = explanation.by_contribution[:most]
    rows: list[list[object]] = [
        [
            one.source, one.context, f"{one.count:,}", f"{one.total:,}", "", f"{one.count / one.total:.6f}", "",
            f"{one.weight:.4f}", "", f"{one.contribution:.6f}",
        ]
        for one in explanation.of_text
    ]
    rows += [
        [
            p.pattern, p.context, f"{p.count:,}", f"{p.total:,}", f"{p.discount:.3f}", f"{p.discounted:.6f}",
            f"{p.backoff:.4f}", f"{p.share:.4f}", f"{p.given_class:.4f}" if p.classes else "", f"{p.contribution:.6f}",
        ]
        for p in shown
    ]  # fmt: skip
    blank = [""] * 6
    rest = sum(p.contribution for p in explanation.by_contribution[len(shown) :])
    if more := len(explanation.patterns) - len(shown):
        rows.append([f"{more} more", *blank, "", "", f"{rest:.6f}"])
    rows.append(["uniform", *blank, f"{explanation.uniform_share:.4f}", "", f"{explanation.uniform_contribution:.6f}"])
    rows.append(["sum", *blank, "", "", f"{explanation.probability:.6f}"])
    if not any(p.classes for p in explanation.patterns):
        header, rows = [c for c in header if c != _IN_CLASS], [[*row[:8], row[9]] for row in rows]
    head = [f"{explanation.title}: {explanation.summary}", *filter(None, [explanation.spelled])]
    return "\n".join([*head, "", table(header, rows, left=2)])
