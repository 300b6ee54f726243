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


def explanation_table(explanation: Explanation) -> str:
    """The probability, where it comes from, and the patterns of the lattice, those that contribute most first."""
    header = ["pattern", "context", "total", "count", "discounted", "g", "share", "in its class", "contribution"]
    rows: list[list[object]] = [
        [
            p.pattern, p.context, f"{p.total:,}", f"{p.count:,}", f"{p.discounted:.6f}", f"{p.backoff:.4f}",
            f"{p.share:.4f}", f"{p.given_class:.4f}" if p.classes else "", f"{p.contribution:.6f}",
        ]
        for p in explanation.by_contribution
    ]  # fmt: skip
    uniform_share = f"{explanation.uniform_share:.4f}"
    rows.append(["even", "", "", "", "", "", uniform_share, "", f"{explanation.uniform_contribution:.6f}"])
    rows.append(["sum", "", "", "", "", "", "", "", f"{explanation.probability:.6f}"])
    if not any(p.classes for p in explanation.patterns):
        header, rows = [c for c in header if c != "in its class"], [[*row[:7], row[8]] for row in rows]
    head = [f"{explanation.title}: {explanation.summary}", *filter(None, [explanation.spelled])]
    return "\n".join([*head, "", table(header, rows, left=2)])
