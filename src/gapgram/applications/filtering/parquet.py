"""Records that are rows of Parquet files, with pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gapgram.applications.filtering.choice import Columns
from gapgram.applications.filtering.outputs import Output
from gapgram.applications.filtering.pieces import RecordPiece, Records, Work
from gapgram.applications.filtering.summary import FilterTally
from gapgram.arguments import is_text
from gapgram.errors import TextError, TextFileError, TextNotFoundError, UsageError, to_install
from gapgram.system.atomic_file import check_writable, written_aside
from gapgram.text.files import LONGEST_LINE_BYTES

ROWS = 2048  # of a piece
_MAGIC = b"PAR1"


def is_parquet(path: str | Path) -> bool:
    """Whether a file begins as Parquet files do."""
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == _MAGIC
    except OSError:
        return False


def arrow() -> tuple[Any, Any]:
    """pyarrow and its module for Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError(f"Parquet files need pyarrow: {to_install('parquet')}") from None
    return pyarrow, pyarrow.parquet


class ParquetRows(Records):
    """The rows of a file, some thousand at a time; what is kept are tables."""

    def __init__(self, path: str | Path, work_field: str) -> None:
        self._pa, self._parquet = arrow()
        self.path, self.name = path, str(path)
        try:
            self._file = self._parquet.ParquetFile(path)
            schema = self._file.schema_arrow
        except FileNotFoundError:
            raise TextNotFoundError(f"{path}: no such file") from None
        except (self._pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: names of columns
            raise TextFileError(f"{path}: no whole Parquet file: {_said(error)}") from None
        if work_field not in schema.names:
            names = ", ".join(schema.names)
            raise TextError(f"{path}: the column {work_field!r} is missing; there are {names}"[:400])
        if (n := schema.names.count(work_field)) > 1:
            raise TextError(f"{path}: there are {n} columns {work_field!r}: rename or drop all but one")
        kind = schema.field(work_field).type
        if not (self._pa.types.is_string(kind) or self._pa.types.is_large_string(kind)):
            raise TextError(f"{path}: the column {work_field!r} holds {kind}, expected strings")

    def check_names(self, names: list[str]) -> None:
        """Refuse figures whose names are columns already."""
        for name in names:
            if name in self._file.schema_arrow.names:
                raise TextError(f"{self.name}: there is a column {name!r} already; name figures otherwise (--prefix)")

    def pieces(self, begin: Any, on_bytes: Callable[[int], None]) -> Iterator[RecordPiece]:
        """Batches of rows; the end is the number of rows before the next piece."""
        n, skipped = 0, int(begin or 0)
        batches = self._file.iter_batches(ROWS)
        while True:
            try:
                batch = next(batches, None)
            except (self._pa.ArrowException, OSError) as error:
                raise TextFileError(f"{self.name}: damaged after row {n:,}: {_said(error)}") from None
            if batch is None:
                return
            n += batch.num_rows
            on_bytes(batch.nbytes)
            if n > skipped:
                yield RecordPiece((batch, n - batch.num_rows), n, int(batch.nbytes))

    def read(self, piece: RecordPiece, work: Work, tally: FilterTally) -> Iterator[tuple[Any, str]]:
        """The numbers of rows in their batch."""
        batch, before = piece.records
        for i, value in enumerate(batch.column(work.field)):
            where = f"{self.name}: row {before + i + 1}"
            try:
                text = value.as_py()
            except UnicodeDecodeError:
                work.refuse(where, f"the column {work.field!r} holds bytes that are not UTF-8", tally)
                continue
            if text is None:
                work.refuse(where, f"the column {work.field!r} is null", tally)
            elif len(text) > LONGEST_LINE_BYTES:
                work.refuse(where, f"a record of more than {LONGEST_LINE_BYTES >> 20} MiB", tally)
            elif not is_text(text):
                work.refuse(where, f"the column {work.field!r} holds half of a surrogate pair, which is no text", tally)
            else:
                yield i, text

    def payloads(
        self, piece: RecordPiece, records: list[Any], texts: Sequence[str], figures: Columns, places: list[int],
        work: Work,
    ) -> list[Any]:  # fmt: skip
        """A table for each output."""
        table = self._pa.Table.from_batches([piece.records[0]]).take(records)
        if work.cuts_lines:
            at = table.schema.get_field_index(work.field)
            table = table.set_column(at, table.schema.field(at), self._pa.array(texts, table.schema.field(at).type))
        for name, values in zip(work.names if figures else (), figures, strict=True):
            table = table.append_column(name, self._pa.array(values, self._type_of(name, work)))
        return [table.filter([place == n for place in places]) for n in range(len(work.choice.names))]

    def _type_of(self, name: str, work: Work) -> Any:
        plain = name.removeprefix(work.prefix)
        return {"words": self._pa.int64(), "bucket": self._pa.string()}.get(plain, self._pa.float64())

    def schema(self, work: Work) -> Any:
        """The columns of what is kept."""
        schema = self._file.schema_arrow
        for name in work.names if work.figures else []:
            schema = schema.append(self._pa.field(name, self._type_of(name, work)))
        return schema


class ParquetParts(Output):
    """Tables written to parts in the work folder, which become one file in the end; `mark` is how many there are."""

    def __init__(self, folder: Path, name: str, target: Path, mark: int | None, schema: Any) -> None:
        _, self._parquet = arrow()
        check_writable(target)
        self._folder, self._name, self._target, self._schema = folder, name, target, schema
        self._parts, self._tables = mark or 0, list[Any]()

    def _part(self, number: int) -> Path:
        return self._folder / f"{self._name}.{number}.parquet"

    def append(self, payload: Any) -> None:
        if payload.num_rows:
            self._tables.append(payload)

    def mark(self) -> int:
        if self._tables:
            with self._parquet.ParquetWriter(self._part(self._parts), self._schema) as writer:
                for table in self._tables:
                    writer.write_table(table)
            self._parts, self._tables = self._parts + 1, []
        return self._parts

    def finish(self) -> None:
        self.mark()
        with written_aside(self._target) as file, self._parquet.ParquetWriter(file, self._schema) as writer:
            for number in range(self._parts):
                part = self._parquet.ParquetFile(self._part(number))
                for group in range(part.num_row_groups):
                    writer.write_table(part.read_row_group(group))

    def close(self) -> None:
        self._tables = []  # what was not yet written to a part is dropped


def _said(error: BaseException) -> str:
    return str(error).partition("\n")[0]
