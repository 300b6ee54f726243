"""Tables of bands as Parquet: written by the workers, taken by the driver one band after the other.

Workers write where Spark writes. The driver maps the files; where they are not on its own disk it copies them there
first, compressed as they are: they are smaller than the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from gapgram.counting.assemble import Piece
from gapgram.counting.spark.batches import batch_of, bytes_of
from gapgram.errors import EngineError
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern

Array = npt.NDArray[np.int64]

SHARDS = (
    "band int, pattern int, part int, windows bigint, grams binary, contexts binary, rows binary"
)
_TABLES = ("grams", "contexts", "rows")
_ROW = pa.schema(
    [
        ("band", pa.int32()),
        ("pattern", pa.int32()),
        ("part", pa.int32()),
        ("windows", pa.int64()),
        *((name, pa.binary()) for name in _TABLES),
    ]
)
PART_NUMBERS = 1 << 18  # numbers of each table that a row holds at most: 2 MiB
_GROUP_BYTES = 1 << 20  # of rows that lie together, compressed, about: what the driver reads at once


def shard_rows(band: int, pattern: Pattern, windows: int, piece: Piece) -> Iterator[pa.RecordBatch]:
    """A piece as rows of `SHARDS`, several where it is large."""
    tables = [getattr(piece, name).reshape(-1) for name in _TABLES]
    for part in range(max(-(-table.size // PART_NUMBERS) for table in tables)):
        numbers = slice(part * PART_NUMBERS, (part + 1) * PART_NUMBERS)
        blobs = [table[numbers].tobytes() for table in tables]
        yield batch_of(_ROW, [band], [pattern.mask], [part], [windows], *([blob] for blob in blobs))


def write_shards(tables: DataFrame, folder: str) -> None:
    """Run what `bands.count_bands` plans, and keep its rows."""
    # Rows are large, so that Parquet must not wait for a hundred before it looks at their size.
    checks = {f"parquet.{what}.size.row.check.min": "1" for what in ("block", "page")}
    writer = tables.write.options(compression="zstd", **checks)
    writer.option("parquet.block.size", str(_GROUP_BYTES)).parquet(folder)


class Shards:
    """The pieces of all bands of a text, for `counting.assemble`; closed when done with."""

    def __init__(self, spark: SparkSession, folder: str, copies: str | Path | None = None) -> None:
        """`copies`: where to put copies of files that are not on this machine; removed in the end."""
        self.folder = folder
        self._copies = TemporaryDirectory(prefix="gapgram-shards-", dir=copies)
        self._files = [_File.open(path) for path in _local_files(spark, folder, self._copies.name)]
        self._places: dict[int, list[_Place]] = {}
        for file in self._files:
            for place in file.places():
                self._places.setdefault(place.pattern, []).append(place)
        for places in self._places.values():
            places.sort(key=lambda place: (place.band, place.part))

    def close(self) -> None:
        """Close the files and remove copies."""
        for file in self._files:
            file.parquet.close()
        self._copies.cleanup()

    def check(self, lattice: Lattice, positions: tuple[int, ...]) -> None:
        """Refuse shards that lack a band or some windows of one."""
        for pattern in lattice.stored:
            places = self._places.get(pattern.mask, [])
            if tuple(place.windows for place in places if not place.part) != positions:
                raise EngineError(
                    f"{self.folder}: the counts of pattern {pattern} are not those of the whole text: either the folder "
                    "is not one that all machines share, or the text changed while it was read"
                )

    def of(self, pattern: Pattern) -> Iterator[Piece]:
        """The pieces of a pattern, band after band; may be asked for again and again."""
        places = self._places[pattern.mask]
        begin = 0
        while begin < len(places):
            end = begin + 1
            while end < len(places) and places[end].band == places[begin].band:
                end += 1
            yield _piece([place.read() for place in places[begin:end]])
            begin = end


@dataclass(frozen=True)
class _File:
    """A shard on this machine."""

    parquet: pq.ParquetFile

    @classmethod
    def open(cls, path: Path) -> _File:
        return cls(pq.ParquetFile(path, memory_map=True))

    def places(self) -> Iterator[_Place]:
        """Where each row lies."""
        for group in range(self.parquet.num_row_groups):
            facts = self.parquet.read_row_group(group, columns=["band", "pattern", "part", "windows"])
            columns = (facts[name].to_pylist() for name in ("band", "pattern", "part", "windows"))
            for row, (band, pattern, part, windows) in enumerate(zip(*columns, strict=True)):
                yield _Place(band, pattern, part, windows, self.parquet, group, row)


@dataclass(frozen=True)
class _Place:
    """A row of the shards: what it is and where it lies."""

    band: int
    pattern: int
    part: int
    windows: int
    parquet: pq.ParquetFile
    group: int
    row: int

    def read(self) -> list[Array]:
        """The numbers of its tables."""
        table = self.parquet.read_row_group(self.group, columns=list(_TABLES)).slice(self.row, 1)
        return [bytes_of(table[name].chunk(0))[0].view(np.int64) for name in _TABLES]


def _piece(parts: list[list[Array]]) -> Piece:
    grams, contexts, rows = (np.concatenate(tables) for tables in zip(*parts, strict=True))
    return Piece(grams, contexts, rows.reshape(-1, 4))


def _local_files(spark: SparkSession, folder: str, copies: str) -> list[Path]:
    """The files of a folder of Parquet, copied here where they are elsewhere."""
    hadoop = spark._jvm.org.apache.hadoop.fs
    path = hadoop.Path(folder)
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    found = [status.getPath() for status in system.listStatus(path)]
    parquet = [path for path in found if path.getName().endswith(".parquet")]
    if system.getScheme() == "file":
        return [Path(path.toUri().getPath()) for path in parquet]
    for path in parquet:
        system.copyToLocalFile(False, path, hadoop.Path(f"file:{copies}/{path.getName()}"), True)
    return [Path(copies, path.getName()) for path in parquet]
