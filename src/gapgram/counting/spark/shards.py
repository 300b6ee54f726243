"""The counts of jobs as files of a folder, written by the workers, and read again by those that lay tables out.

Where the folder is one of a file system that every machine has, workers write each job's file into it, aside and
renamed; so a job that Spark runs twice gives the same file, and what is there is not counted again by a run that goes
on. On all other file systems that Spark knows the bytes of the files go into Parquet, and Spark brings those that a
worker needs to it. A file has a checksum of its own; Spark says what each job has counted, and one row what text was
read: so nothing is lost, doubled or changed unseen.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql

from gapgram.counting.on_disk.piece_files import PieceFile
from gapgram.counting.plan import Job
from gapgram.counting.spark.batches import batch_of
from gapgram.counting.spark.plan import CountingPlan
from gapgram.errors import EngineError, UsageError

SHARDS = "job int, windows bigint, count bigint, chunk int, bytes binary"
_ROW = pa.schema(
    [("job", pa.int32()), ("windows", pa.int64()), ("count", pa.int64()), ("chunk", pa.int32()), ("bytes", pa.binary())]
)
_CHUNK_BYTES = 1 << 22  # of a file, in a row
_CODEC = pa.Codec("zstd", compression_level=1)
_PARQUET = "parquet"  # inside the folder, where workers cannot write files
_RUN, _ROWS = "run", "rows"  # files that say what the folder is of, and how many rows Parquet has once it is whole


def shard_row(job: int, windows: int, count: int, chunk: int = 0, data: bytes = b"") -> pa.RecordBatch:
    """What a job has counted; some bytes of its file, where it is not written by the worker."""
    return batch_of(_ROW, [job], [windows], [count], [chunk], [data])


@dataclass(frozen=True)
class Target:
    """Where workers write. path: the folder, where it is one that all machines have; run: what it says it is of."""

    path: str | None
    run: str

    def written(
        self, number: int, name: str, write: Callable[[BinaryIO], object], windows: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Write the file of a job, or give its bytes."""
        if self.path is not None:
            with self._aside(name) as out:
                write(out)
            yield shard_row(number, windows, 0)
            return
        with TemporaryFile() as file:
            write(file)
            size = file.tell()
            file.seek(0)
            for chunk in range(-(-size // _CHUNK_BYTES)):
                yield shard_row(number, windows, 0, chunk, file.read(_CHUNK_BYTES))

    @contextmanager
    def _aside(self, name: str) -> Iterator[BinaryIO]:
        """A file of the folder, written aside and renamed."""
        self._check()
        aside = Path(self.path or "", f"{name}.{uuid.uuid4().hex}")
        try:
            with aside.open("wb") as out:
                yield out
            os.replace(aside, Path(self.path or "", name))
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise EngineError(f"{self.path}: a worker cannot write there: {error.strerror or error}") from None

    def _check(self) -> None:
        try:
            same = Path(self.path or "", _RUN).read_text() == self.run
        except OSError:
            same = False
        if not same:
            raise EngineError(f"{self.path}: not the folder that the driver made: name one that all machines share")


def put_chunks(batches: Iterable[pa.RecordBatch], folder: Path, name: Callable[[int], str]) -> None:
    """Make files of the rows of jobs, which have these names."""
    for batch in batches:
        for row in batch.select(["job", "chunk", "bytes"]).to_pylist():
            path = folder / name(row["job"])
            with path.open("r+b" if path.exists() else "wb") as file:
                file.seek(row["chunk"] * _CHUNK_BYTES)
                file.write(row["bytes"])


def packed(data: Any) -> bytes:
    return bytes(_CODEC.compress(data, asbytes=True))


def unpacked(data: bytes, size: int) -> bytes:
    return bytes(_CODEC.decompress(data, size, asbytes=True)) if size else b""


class ShardFolder:
    """A folder of shards. run: what they are of; a folder of another run, or any without `resume`, is refused."""

    def __init__(self, spark: SparkSession, folder: str, run: str, *, resume: bool) -> None:
        self._spark, self.folder, self.run = spark, folder, run
        self.system, self._path = _hadoop(spark, folder)
        self.path = Path(self._path.toUri().getPath()) if self.system.getScheme() == "file" else None
        if not resume:
            check_new(spark, folder)
        elif self.system.exists(self._path) and self._read(_RUN) != run:
            raise UsageError(
                f"{folder}: counts of another run, text or version: name a new folder (--shards), or leave --resume out"
            )
        if not self.system.exists(self._path):
            self._write(_RUN, run)

    def _write(self, name: str, text: str) -> None:
        out = self.system.create(_hadoop(self._spark, f"{self.folder}/{name}")[1])
        out.write(bytearray(text.encode()))
        out.close()

    def _read(self, name: str) -> str:
        """A small file of the folder; nothing where there is none."""
        at = _hadoop(self._spark, f"{self.folder}/{name}")[1]
        if not self.system.exists(at):
            return ""
        stream = self.system.open(at)
        try:
            return bytes(stream.readAllBytes()).decode(errors="replace")
        finally:
            stream.close()

    @property
    def target(self) -> Target:
        """Where workers write."""
        return Target(str(self.path) if self.path is not None else None, self.run)

    def done(self, plan: CountingPlan) -> frozenset[int]:
        """The jobs of a plan that were counted before, and whose files are whole."""
        if self.path is None:
            return frozenset()
        for left in (*self.path.glob("pieces-*.*"), *self.path.glob("tables-*")):
            left.unlink()
        jobs = ((number, job) for number, job in enumerate(plan.jobs) if isinstance(job, Job))
        return frozenset(number for number, job in jobs if PieceFile.is_whole(self.path / job.name))

    def count(self, tables: DataFrame) -> pa.Table:
        """Run what `bands.count_bands` plans. Returns what each job says."""
        if self.path is not None:
            return tables.drop("bytes").toArrow()
        parquet, written = f"{self.folder}/{_PARQUET}", Observation()
        if not self._read(_ROWS):
            observed = tables.observe(written, sql.count(sql.lit(1)).alias("rows"))
            observed.write.mode("overwrite").options(compression="none").parquet(parquet)
            self._write(_ROWS, str(written.get["rows"]))
        said = self._spark.read.parquet(parquet).drop("bytes").toArrow()
        if str(len(said)) != self._read(_ROWS):
            raise EngineError(
                f"{parquet}: {self._read(_ROWS)} rows of counts were written and {len(said)} are there: a file is "
                "missing, or there twice; train again with a new folder"
            )
        return said

    def rows(self, jobs: Sequence[Sequence[int]]) -> DataFrame:
        """For each of some tasks, which each are a partition, the rows of the jobs that it needs, if not files."""
        if self.path is not None:
            return self._spark.range(0, len(jobs), 1, len(jobs))
        tasks = [(job, task) for task, own in enumerate(jobs) for job in own]
        known = self._spark.createDataFrame(tasks, "job int, task int")
        needed = self._spark.read.parquet(f"{self.folder}/{_PARQUET}").join(sql.broadcast(known), "job")
        return needed.repartitionById(len(jobs), sql.col("task"))

    def files(self, tables: DataFrame, copies: Path, name: Callable[[int], str]) -> Path:
        """Have workers write files beside the counts; the folder where these are, or copies of them."""
        if self.path is not None:
            tables.drop("bytes").toArrow()
            return self.path
        parquet = f"{self.folder}/{_PARQUET}-tables"
        tables.write.mode("overwrite").options(compression="none").parquet(parquet)
        system, at = _hadoop(self._spark, parquet)
        for source in (status.getPath() for status in system.listStatus(at)):
            if source.getName().endswith(".parquet"):
                copy = copies / source.getName()
                system.copyToLocalFile(False, source, _hadoop(self._spark, f"file:{copy}")[1], True)
                put_chunks(pq.ParquetFile(copy).iter_batches(batch_size=1), copies, name)
                copy.unlink()
        system.delete(at, True)
        return copies


def check_new(spark: SparkSession, folder: str) -> None:
    """Refuse a folder of shards that exists."""
    system, path = _hadoop(spark, folder)
    if system.exists(path):
        raise UsageError(f"{folder}: exists; name a new folder for the counts (--shards)")


def move_to(spark: SparkSession, path: Path, place: str) -> None:
    """Move a file of this machine to wherever Spark can write, where it has its name once it is whole."""
    system, target = _hadoop(spark, place)
    aside = _hadoop(spark, f"{place}.unfinished")[1]
    system.copyFromLocalFile(True, True, _hadoop(spark, f"file:{path}")[1], aside)
    system.delete(target, False)
    if not system.rename(aside, target):
        raise EngineError(f"{place}: cannot be written; the model is in {place}.unfinished")


def _hadoop(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Java's file system and path, which know all places that Spark knows."""
    at = spark._jvm.org.apache.hadoop.fs.Path(path)
    return at.getFileSystem(spark._jsc.hadoopConfiguration()), at
