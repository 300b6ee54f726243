"""Tables of jobs as Parquet: written by the workers, taken by the driver one band after the other.

Workers write where Spark writes. The driver maps the files; where they are not on its own disk it copies them there
first, compressed as they are: they are smaller than the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from gapgram.arrays import Integers
from gapgram.counting.band import Band
from gapgram.counting.plan import merged
from gapgram.counting.spark.batches import batch_of, bytes_of
from gapgram.counting.spark.plan import CountingPlan, SparkJob
from gapgram.counts.counts import Piece
from gapgram.counts.streaming import StoredPiece
from gapgram.errors import EngineError, UsageError
from gapgram.kernels.tables.arrays import STATISTICS
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern

SHARDS = (
    "job int, pattern int, chunk int, windows bigint, n_grams bigint, grams binary, contexts binary, rows binary"
)
_TABLES = ("grams", "contexts", "rows")
_ROW = pa.schema(
    [
        ("job", pa.int32()),
        ("pattern", pa.int32()),
        ("chunk", pa.int32()),
        ("windows", pa.int64()),
        ("n_grams", pa.int64()),
        *((name, pa.binary()) for name in _TABLES),
    ]
)
CHUNK_NUMBERS = 1 << 18  # numbers of each table that a row holds at most: 2 MiB


def shard_rows(job: int, pattern: Pattern, windows: int, piece: Piece) -> Iterator[pa.RecordBatch]:
    """A piece as rows of `SHARDS`, several where it is large."""
    tables = [getattr(piece, name).reshape(-1) for name in _TABLES]
    for chunk in range(max(-(-table.size // CHUNK_NUMBERS) for table in tables)):
        numbers = slice(chunk * CHUNK_NUMBERS, (chunk + 1) * CHUNK_NUMBERS)
        blobs = [table[numbers].tobytes() for table in tables]
        yield batch_of(_ROW, [job], [pattern.mask], [chunk], [windows], [piece.grams.size], *([blob] for blob in blobs))


def check_new(spark: SparkSession, folder: str) -> None:
    """Refuse a folder of shards that exists."""
    system, path = _hadoop(spark, folder)
    if system.exists(path):
        raise UsageError(f"{folder}: exists; name a new folder for the counts (--shards)")


def write_shards(tables: DataFrame, folder: str) -> None:
    """Run what `bands.count_bands` plans, and keep its rows, each a row group of its own: they are large."""
    options = {"parquet.block.row.count.limit": "1", "parquet.enable.dictionary": "false", "compression": "zstd"}
    tables.write.options(**options).parquet(folder)


class Shards:
    """The pieces of all jobs of a plan, for `counts.streaming`; closed when done with."""

    def __init__(
        self, spark: SparkSession, folder: str, plan: CountingPlan, lattice: Lattice, copies: str | Path | None = None
    ) -> None:
        """`copies`: where to put copies of files that are not on this machine; removed in the end."""
        self.folder, self.plan, self.lattice = folder, plan, lattice
        self._copies = TemporaryDirectory(prefix="gapgram-shards-", dir=copies)
        self._files = [pq.ParquetFile(path, memory_map=True) for path in _local_files(spark, folder, self._copies.name)]
        self._rows: dict[tuple[int, int], list[_ShardRow]] = {}
        for file in self._files:
            for row in _rows_of(file):
                self._rows.setdefault((row.pattern, row.job), []).append(row)
        for rows in self._rows.values():
            rows.sort(key=lambda row: row.chunk)

    def close(self) -> None:
        """Close the files and remove copies."""
        for file in self._files:
            file.close()
        self._copies.cleanup()

    def check(self) -> None:
        """Refuse shards that lack a job, or some windows of one."""
        for number, job in enumerate(self.plan.jobs):
            if not job.windows:
                continue
            for pattern in self.lattice.stored if not job.second else (Pattern(0),):
                rows = self._rows.get((pattern.mask, number))
                if not rows or rows[0].windows != job.windows:
                    raise EngineError(
                        f"{self.folder}: the counts of pattern {pattern} are not those of the whole text: either the "
                        "folder is not one that all machines share, or the text changed while it was read"
                    )

    def of(self, pattern: Pattern) -> Iterator[StoredPiece]:
        """The pieces of a pattern, band after band; may be asked for again and again."""
        for first, jobs in self.plan.bands():
            if self.plan.jobs[jobs[0]].windows == 0:
                yield self._without_windows(self.plan.jobs[jobs[0]], pattern)
                continue
            rows = [self._rows[pattern.mask, job] for job in jobs if (pattern.mask, job) in self._rows]
            pieces = map(ShardedPiece, rows)
            if first in self.plan.frequent and len(pattern) == 1:
                yield merged(list(pieces))
            else:
                yield from pieces


    def _without_windows(self, job: SparkJob, pattern: Pattern) -> Piece:
        """The piece of words that never occur, such as <unk>, of which no worker knows."""
        windows = np.empty((0, self.lattice.order + 1), np.int32)
        return Band(windows, job.first, job.last, self.plan.n_words, self.lattice).pieces()[pattern]


class ShardedPiece:
    """A `Piece` that reads its arrays when they are asked for."""

    def __init__(self, shard_rows: list[_ShardRow]) -> None:
        self._rows = shard_rows

    @property
    def n_grams(self) -> int:
        return self._rows[0].n_grams

    @cached_property
    def grams(self) -> Integers:
        return self._read("grams")

    @cached_property
    def contexts(self) -> Integers:
        return self._read("contexts")

    @cached_property
    def rows(self) -> Integers:
        return self._read("rows").reshape(-1, STATISTICS)

    def _read(self, table: str) -> Integers:
        return np.concatenate([row.read(table) for row in self._rows])


class _ShardRow(NamedTuple):
    """A row of the shards: what it is and where it lies."""

    job: int
    pattern: int
    chunk: int
    windows: int
    n_grams: int
    file: pq.ParquetFile
    group: int

    def read(self, table: str) -> Integers:
        """The numbers of one of its tables."""
        column = self.file.read_row_group(self.group, columns=[table])[table]
        return bytes_of(column.chunk(0))[0].view(np.int64)


def _rows_of(file: pq.ParquetFile) -> Iterator[_ShardRow]:
    names = _ShardRow._fields[:5]
    for group in range(file.num_row_groups):
        facts = file.read_row_group(group, columns=list(names))
        job, pattern, chunk, windows, n_grams = (facts[name][0].as_py() for name in names)
        yield _ShardRow(job, pattern, chunk, windows, n_grams, file, group)


def _local_files(spark: SparkSession, folder: str, copies: str) -> list[Path]:
    """The files of a folder of Parquet, copied here where they are elsewhere."""
    system, path = _hadoop(spark, folder)
    paths = [status.getPath() for status in system.listStatus(path)]
    parquet = [path for path in paths if path.getName().endswith(".parquet")]
    if system.getScheme() == "file":
        return [Path(path.toUri().getPath()) for path in parquet]
    for path in parquet:
        _, copy = _hadoop(spark, f"file:{copies}/{path.getName()}")
        system.copyToLocalFile(False, path, copy, True)
    return [Path(copies, path.getName()) for path in parquet]


def _hadoop(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Java's file system and path, which know all places that Spark knows."""
    at = spark._jvm.org.apache.hadoop.fs.Path(path)
    return at.getFileSystem(spark._jsc.hadoopConfiguration()), at
