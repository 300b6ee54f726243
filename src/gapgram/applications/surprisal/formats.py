"""Rows as TSV, CSV and JSON lines, quoted so that every reader of tables takes them whole."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gapgram.errors import UsageError
from gapgram.system.atomic_file import written_aside

Row = Sequence[Any]
FORMATS = ("tsv", "csv", "jsonl")


class Writer:
    """Turns rows of named columns into lines of text."""

    def __init__(self, kind: str, columns: Sequence[str]) -> None:
        if kind not in FORMATS:
            raise UsageError(f"format {kind!r}: expected {', '.join(FORMATS)}")
        self._columns, self._kind = columns, kind

    def header(self) -> str:
        """What comes before the rows: the names of the columns, but of JSON lines, which have them in each."""
        return "" if self._kind == "jsonl" else self.rows([self._columns])

    def rows(self, rows: Sequence[Row]) -> str:
        """Some rows, a line each."""
        if self._kind == "jsonl":
            values = (dict(zip(self._columns, map(_plain, row), strict=True)) for row in rows)
            return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
        if self._kind == "csv":
            return _lines((map(_shown, row) for row in rows), ",")
        # White space becomes a blank: some readers know no tab or end of a line inside quotation marks.
        return _lines(((" ".join(_shown(cell).split()) for cell in row) for row in rows), "\t")


def _plain(cell: Any) -> Any:
    """A cell as JSON has it; what is not a number is null."""
    if isinstance(cell, float):
        return None if math.isnan(cell) else round(cell, 6)
    return cell


def _shown(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.6f}"
    return "" if cell is None else str(cell)


def _lines(rows: Iterable[Iterable[str]], separator: str) -> str:
    """Cells with separators between them; what a reader may take for more than text is between quotation marks."""
    odd = re.compile(rf"[{separator}\"'#\r\n]")  # R's read.table takes ' for a quotation mark and # for a comment
    quoted = (('"' + cell.replace('"', '""') + '"' if odd.search(cell) else cell for cell in row) for row in rows)
    return "".join(f"{separator.join(row)}\n" for row in quoted)


def about_path(table: str | Path) -> Path:
    """The file beside a table that says what its figures mean.

    >>> about_path("table.tsv").name
    'table.tsv.about.txt'
    """
    return Path(f"{table}.about.txt")


def write_about(table: str | Path, about: Mapping[str, str]) -> None:
    """Write what the figures of a table mean to the file beside it."""
    with written_aside(about_path(table)) as file:
        file.write("".join(f"{name}: {text}\n" for name, text in about.items()).encode("utf-8", "surrogatepass"))
