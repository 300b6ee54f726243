"""Rows as TSV, CSV and JSON lines; what the figures mean stands before them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gapgram.errors import UsageError

Row = Sequence[Any]
FORMATS = ("tsv", "csv", "jsonl")


class Writer:
    """Turns rows of named columns into lines of text.

    about: what the figures mean, by name; left out where it is empty.
    """

    def __init__(self, kind: str, columns: Sequence[str], about: Mapping[str, str]) -> None:
        if kind not in FORMATS:
            raise UsageError(f"format {kind!r}: expected {', '.join(FORMATS)}")
        self._columns, self._about, self._kind = columns, about, kind
        lines: dict[str, Callable[[Sequence[Row]], str]] = {"tsv": _as_tsv, "csv": _as_csv, "jsonl": self._as_json}
        self._lines = lines[kind]

    def header(self) -> str:
        """What comes before the rows."""
        if self._kind == "jsonl":
            return json.dumps({"about": dict(self._about)}, ensure_ascii=False) + "\n" if self._about else ""
        about = "".join(f"# {name}: {text}\n" for name, text in self._about.items())
        return about + self._lines([self._columns])

    def rows(self, rows: Sequence[Row]) -> str:
        """Some rows, a line each."""
        return self._lines(rows)

    def _as_json(self, rows: Sequence[Row]) -> str:
        values = (dict(zip(self._columns, map(_plain, row), strict=True)) for row in rows)
        return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


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


def _as_tsv(rows: Sequence[Row]) -> str:
    """White space inside cells becomes a blank, so that no cell needs quotation marks."""
    return "".join("\t".join(" ".join(_shown(cell).split()) for cell in row) + "\n" for row in rows)


def _as_csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(_shown, row) for row in rows)
    return out.getvalue()
