"""Results as notebooks show them: small tables of HTML that need nothing from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_CELL = "padding:2px 8px;text-align:{side};overflow-wrap:anywhere"
_CAPTION = "caption-side:top;text-align:left"


def html_facts(title: str, facts: Mapping[str, object]) -> str:
    """A title, and names beside values.

    >>> html_facts("Model", {"order": 5}).count("<tr>")
    1
    """
    rows = "".join(
        f'<tr><th style="{_CELL.format(side="left")}">{escape(name)}</th>'
        f'<td style="{_CELL.format(side="left")}">{escape(str(value))}</td></tr>'
        for name, value in facts.items()
    )
    return f'<table style="max-width:52em"><caption style="{_CAPTION}">{escape(title)}</caption>{rows}</table>'


def html_table(
    header: Sequence[str], rows: Sequence[Sequence[object]], shades: Sequence[float] | None = None, title: str = ""
) -> str:
    """Rows under a header, each the darker the larger its part, from 0 to 1.

    >>> html_table(["word", "count"], [["a", 3]], [0.5]).count("rgba(74,144,217,0.400)")
    1
    """
    head = "".join(f'<th style="{_CELL.format(side="right")}">{escape(name)}</th>' for name in header)
    body = "".join(
        f'<tr style="background:rgba(74,144,217,{0.8 * shade:.3f})">'
        + "".join(f'<td style="{_CELL.format(side="right")}">{escape(str(cell))}</td>' for cell in row)
        + "</tr>"
        for row, shade in zip(rows, shades or [0.0] * len(rows), strict=True)
    )
    told = f'<caption style="{_CAPTION}">{escape(title)}</caption>' if title else ""
    return f"<table>{told}<tr>{head}</tr>{body}</table>"
