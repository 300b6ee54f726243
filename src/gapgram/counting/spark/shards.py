"""Tables of jobs as Parquet: written by the workers, taken by the driver one band after the other.

Workers write where Spark writes. The driver maps the files; where they are not on its own disk it copies them there
first, compressed as they are: they are smaller than the model. Each row has checksums of what it is and of its tables;
Spark says how many rows were written, and one row what text was read: so nothing is lost, doubled or changed unseen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql

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
    "job int, pattern int, chunk int, windows bigint, n_grams bigint, checksums binary, "
    "grams binary, contexts binary, rows binary"
)
_TABLES = ("grams", "contexts", "rows")
_SUM_BYTES = 8  # of each of the checksums: of the facts of a row, then of each of its tables
OF_THE_TEXT = -1  # in the place of a pattern: the row whose `windows` is the sum over all lines
_ROW = pa.schema(
    [
        ("job", pa.int32()),
        ("pattern", pa.int32()),
        ("chunk", pa.int32()),
        ("windows", pa.int64()),
        ("n_grams", pa.int64()),
        ("checksums", pa.binary()),
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
        yield _row((job, pattern.mask, chunk, windows, piece.grams.size), blobs)


def text_row(job: int, line_sum: int) -> pa.RecordBatch:
    """The row that says which text was counted."""
    return _row((job, OF_THE_TEXT, 0, line_sum, 0), [b""] * len(_TABLES))


def _row(facts: tuple[int, ...], blobs: list[bytes]) -> pa.RecordBatch:
    own = _checksum(facts)
    sums = own + b"".join(xxhash.xxh3_64_digest(blob, _seed(own)) for blob in blobs)
    return batch_of(_ROW, *([fact] for fact in facts), [sums], *([blob] for blob in blobs))


def _checksum(facts: tuple[int, ...]) -> bytes:
    return bytes(xxhash.xxh3_64_digest(np.array(facts, np.int64).tobytes()))


def _seed(checksum: bytes) -> int:
    """So that tables belong to one row alone."""
    return int.from_bytes(checksum, "little")


def check_new(spark: SparkSession, folder: str) -> None:
    """Refuse a folder of shards that exists."""
    system, path = _hadoop(spark, folder)
    if system.exists(path):
        raise UsageError(f"{folder}: exists; name a new folder for the counts (--shards)")


def write_shards(tables: DataFrame, folder: str) -> int:
    """Run what `bands.count_bands` plans, and keep its rows, each a row group of its own: they are large.

    Returns how many rows were written.
    """
    options = {"parquet.block.row.count.limit": "1", "parquet.enable.dictionary": "false", "compression": "zstd"}
    written = Observation()
    tables.observe(written, sql.count(sql.lit(1)).alias("rows")).write.options(**options).parquet(folder)
    return int(written.get["rows"])


class Shards:
    """The pieces of all jobs of a plan, for `counts.streaming`; closed when done with."""

    def __init__(
        self, spark: SparkSession, folder: str, plan: CountingPlan, lattice: Lattice, copies: str | Path | None = None
    ) -> None:
        """`copies`: where to put copies of files that are not on this machine; removed in the end."""
        self.folder, self.plan, self.lattice = folder, plan, lattice
        self._copies = TemporaryDirectory(prefix="gapgram-shards-", dir=copies)
        self._rows: dict[tuple[int, int], list[_ShardRow]] = {}
        self._files: list[_ShardFile] = []
        try:
            self._open(_local_files(spark, folder, self._copies.name))
        except BaseException:
            self.close()
            raise

    def _open(self, paths: list[Path]) -> None:
        """Read what rows the files have; one that is there twice is refused."""
        for path in sorted(paths):
            self._files.append(_ShardFile(path))
        for row in (row for file in self._files for row in file.rows()):
            others = self._rows.setdefault((row.pattern, row.job), [])
            twin = next((other for other in others if other.chunk == row.chunk), None)
            if twin is not None:
                raise EngineError(f"{row.file.path}: what it holds is in {twin.file.path}, too: remove one of the two")
            others.append(row)
        for rows in self._rows.values():
            rows.sort(key=lambda row: row.chunk)

    def close(self) -> None:
        """Close the files and remove copies."""
        for file in self._files:
            file.close()
        self._copies.cleanup()

    def check(self, n_rows: int, line_sum: int) -> None:
        """Refuse shards that are not all that were written, or not of the text that was read first."""
        found = sum(map(len, self._rows.values()))
        if found != n_rows:
            raise EngineError(
                f"{self.folder}: {n_rows:,} rows of counts were written and {found:,} are there: a file is missing, or "
                "the folder is not one that all machines share"
            )
        (text,) = self._rows.get((OF_THE_TEXT, len(self.plan.jobs)), [None])
        if text is None or text.windows != line_sum:
            raise EngineError(f"{self.folder}: the text changed while it was read: leave it alone and start again")
        for number, job in enumerate(self.plan.jobs):
            if not job.windows:
                continue
            for pattern in self.lattice.stored if not job.second else (Pattern(0),):
                rows = self._rows.get((pattern.mask, number))
                if not rows or rows[0].windows != job.windows:
                    raise EngineError(f"{self.folder}: the counts of pattern {pattern} are not those of the whole text")

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


class _ShardFile:
    """A file of shards; what is wrong with it is an error that names it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._named():
            self._file = pq.ParquetFile(path, memory_map=True)

    def close(self) -> None:
        self._file.close()

    def rows(self) -> Iterator[_ShardRow]:
        """What each row is."""
        for group in range(self._file.num_row_groups):
            with self._named():
                facts = self._file.read_row_group(group, columns=[*_ShardRow._fields[:6]])
                job, pattern, chunk, windows, n_grams = (int(facts[name][0].as_py()) for name in _ShardRow._fields[:5])
                sums = bytes(facts["checksums"][0].as_py())
                if _checksum((job, pattern, chunk, windows, n_grams)) != sums[:_SUM_BYTES]:
                    raise ValueError("a row does not match its checksum")
            yield _ShardRow(job, pattern, chunk, windows, n_grams, sums, self, group)

    def read(self, group: int, table: str, checksum: bytes, seed: int) -> Integers:
        """The numbers of a table of a row."""
        with self._named():
            column = self._file.read_row_group(group, columns=[table])[table]
            data = bytes_of(column.chunk(0))[0]
            if xxhash.xxh3_64_digest(data.data, seed) != checksum:
                raise ValueError(f"a table of {table} does not match its checksum")
            return data.view(np.int64)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, MemoryError, ValueError, TypeError, KeyError, IndexError) as error:
            said = str(error).strip().partition("\n")[0][:200]
            raise EngineError(f"{self.path}: damaged counts, train again with a new folder: {said}") from None


class _ShardRow(NamedTuple):
    """A row of the shards: what it is and where it lies."""

    job: int
    pattern: int
    chunk: int
    windows: int
    n_grams: int
    checksums: bytes
    file: _ShardFile
    group: int

    def read(self, table: str) -> Integers:
        """The numbers of one of its tables."""
        at = (1 + _TABLES.index(table)) * _SUM_BYTES
        return self.file.read(
            self.group, table, self.checksums[at : at + _SUM_BYTES], _seed(self.checksums[:_SUM_BYTES])
        )


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
