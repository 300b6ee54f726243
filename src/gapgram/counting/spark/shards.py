"""Tables of bands as Parquet: written by the workers, taken by the driver one band after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from gapgram.counting.assemble import Piece
from gapgram.counting.spark.batches import batch_of, bytes_of
from gapgram.errors import EngineError
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern

Array = npt.NDArray[np.int64]

SHARDS = (
    "band int, pattern int, part int, windows bigint, bytes bigint, grams binary, contexts binary, rows binary"
)
_TABLES = ("grams", "contexts", "rows")
_ROW = pa.schema(
    [
        ("band", pa.int32()),
        ("pattern", pa.int32()),
        ("part", pa.int32()),
        ("windows", pa.int64()),
        ("bytes", pa.int64()),
        *((name, pa.binary()) for name in _TABLES),
    ]
)
PART_NUMBERS = 1 << 18  # numbers of each table that a row holds at most: 2 MiB
FETCH_BYTES = 64 << 20  # that the driver takes at once, about


def shard_rows(band: int, pattern: Pattern, windows: int, piece: Piece) -> Iterator[pa.RecordBatch]:
    """A piece as rows of `SHARDS`, several where it is large."""
    tables = [getattr(piece, name).reshape(-1) for name in _TABLES]
    for part in range(max(-(-table.size // PART_NUMBERS) for table in tables)):
        numbers = slice(part * PART_NUMBERS, (part + 1) * PART_NUMBERS)
        blobs = [table[numbers].tobytes() for table in tables]
        facts = (band, pattern.mask, part, windows, sum(map(len, blobs)))
        yield batch_of(_ROW, *([value] for value in (*facts, *blobs)))


@dataclass(frozen=True)
class Shards:
    """The pieces of all bands of a text in a folder of Parquet, for `counting.assemble`."""

    spark: SparkSession
    folder: str

    @classmethod
    def write(cls, spark: SparkSession, tables: DataFrame, folder: str) -> Shards:
        """Count: run what `bands.count_bands` plans, and keep its rows."""
        # Rows are large, so that Parquet must not wait for a hundred before it looks at their size.
        checks = {f"parquet.{what}.size.row.check.min": "1" for what in ("block", "page")}
        tables.write.options(compression="zstd", **checks).parquet(folder)
        return cls(spark, folder)

    def check(self, lattice: Lattice, positions: tuple[int, ...]) -> None:
        """Refuse shards that lack a band or a part of one: the text must have changed between its readings."""
        index = self._index
        first = index.filter(pc.equal(index["part"], 0))
        for pattern in lattice.stored:
            found = first.filter(pc.equal(first["pattern"], pattern.mask))
            if tuple(found["windows"].to_pylist()) != positions:
                raise EngineError(
                    f"{self.folder}: the counts of pattern {pattern} are not those of the text, which must have "
                    "changed while it was read: leave it alone and start again"
                )

    def of(self, pattern: Pattern) -> Iterator[Piece]:
        """The pieces of a pattern, band after band; may be asked for again and again."""
        band, parts = -1, []
        for row in self._rows(pattern):
            if row["band"] != band and parts:
                yield _piece(parts)
                parts = []
            band = row["band"]
            parts.append(row)
        if parts:
            yield _piece(parts)

    @cached_property
    def _index(self) -> pa.Table:
        """Where each row lies, in order of pattern, band and part."""
        rows = self.spark.read.schema(SHARDS).parquet(self.folder)
        index = rows.select(
            "pattern", "band", "part", "windows", "bytes", sql.col("_metadata.file_path").alias("file")
        )
        return index.toArrow().sort_by([(name, "ascending") for name in ("pattern", "band", "part")])

    def _rows(self, pattern: Pattern) -> Iterator[dict[str, pa.Array]]:
        index = self._index.filter(pc.equal(self._index["pattern"], pattern.mask))
        fetch = np.cumsum(index["bytes"].to_numpy()) // FETCH_BYTES
        begins = np.flatnonzero(np.diff(fetch, prepend=-1))
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(fetch)], strict=True):
            yield from self._fetch(pattern, index.slice(begin, end - begin))

    def _fetch(self, pattern: Pattern, index: pa.Table) -> Iterator[dict[str, pa.Array]]:
        """The rows of a stretch of the index."""
        place = sql.struct("band", "part")
        ends = [sql.struct(*(sql.lit(index[name][at].as_py()) for name in ("band", "part"))) for at in (0, -1)]
        rows = self.spark.read.schema(SHARDS).parquet(*index["file"].unique().to_pylist())
        rows = rows.where((sql.col("pattern") == pattern.mask) & (place >= ends[0]) & (place <= ends[1]))
        table = rows.toArrow().sort_by([("band", "ascending"), ("part", "ascending")])
        for batch in table.to_batches():
            for i in range(batch.num_rows):
                yield {"band": batch["band"][i].as_py(), **{t: batch[t].slice(i, 1) for t in _TABLES}}


def _piece(parts: list[dict[str, pa.Array]]) -> Piece:
    grams, contexts, rows = (
        np.concatenate([bytes_of(part[name])[0].view(np.int64) for part in parts]) for name in _TABLES
    )
    return Piece(grams, contexts, rows.reshape(-1, 4))
