"""A table as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

Cell = str | int | float | None

_LATEX = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})


@dataclass(frozen=True)
class Column:
    """A heading and how the figures under it are written; text where there is no format."""

    title: str
    format: str = ""

    def text(self, cell: Cell) -> str:
        """A cell as people read it."""
        if cell is None:
            return "–"
        return f"{cell:{self.format}}".replace("%", " %") if self.format else str(cell)

    @property
    def is_text(self) -> bool:
        """Whether it stands to the left."""
        return not self.format


WORDS, COUNT, FIGURE = "", ",d", ",.1f"
SHARE, CHANGE = ".1%", "+.1%"


@dataclass(frozen=True)
class Table:
    """A table with a name for its files, a title and a sentence on how to read it."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def texts(self) -> list[list[str]]:
        """All cells as people read them."""
        return [[column.text(cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]

    def markdown(self) -> str:
        """A pipe table.

        >>> print(Table("t", "", [Column("n"), Column("ppl", FIGURE)], [["3", 1212.09]]).markdown())
        | n | ppl |
        |---|--:|
        | 3 | 1,212.1 |
        """
        marks = "|".join("---" if column.is_text else "--:" for column in self.columns)
        lines = [" | ".join(row) for row in [[c.title for c in self.columns], *self.texts()]]
        return "\n".join([f"| {lines[0]} |", f"|{marks}|", *(f"| {line} |" for line in lines[1:])])

    def csv(self) -> str:
        """Headings and plain figures; shares and changes as numbers, not in per cent."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([c.title for c in self.columns])
        writer.writerows([[_plain(cell) for cell in row] for row in self.rows])
        return out.getvalue()

    def latex(self) -> str:
        """A table environment for the package booktabs.

        >>> print(Table("t", "A_B", [Column("n"), Column("change", CHANGE)], [["3", -0.081]]).latex())
        \\begin{table}
        \\centering
        \\caption{A\\_B}
        \\label{tab:t}
        \\begin{tabular}{lr}
        \\toprule
        n & change \\\\
        \\midrule
        3 & $-$8.1~\\% \\\\
        \\bottomrule
        \\end{tabular}
        \\end{table}
        """
        alignment = "".join("l" if column.is_text else "r" for column in self.columns)
        lines = [[c.title for c in self.columns], *self.texts()]
        head, *body = [" & ".join(map(_latex, line)) + r" \\" for line in lines]
        return "\n".join([
            r"\begin{table}", r"\centering", rf"\caption{{{_latex(self.title)}}}", rf"\label{{tab:{self.name}}}",
            rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule",
            r"\end{tabular}", r"\end{table}",
        ])  # fmt: skip


def _plain(cell: Cell) -> Cell:
    if isinstance(cell, float):
        return float(f"{cell:.6g}")
    return "" if cell is None else cell


def _latex(text: str) -> str:
    escaped = text.translate(_LATEX).replace(" \\%", "~\\%").replace("–", "--")
    return f"$-${escaped[1:]}" if escaped.startswith("-") and escaped[1:2].isdigit() else escaped
