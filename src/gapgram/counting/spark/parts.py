"""The tables of a model, laid out by the workers in parts, which the driver puts one after the other.

What bands have counted is cut into shares. A job says how many grams each share has of each pattern, and which distinct
rows; from these the driver knows where all lies, and tells it to a second job, which lays out the grams and contexts of
each share as the file of the model has them (`counts.streaming`). The driver copies them there.
"""

from __future__ import annotations

import json
import pickle
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash
from pyspark import Broadcast, TaskContext
from pyspark.sql import DataFrame, SparkSession

from gapgram.arrays import Ids, Integers
from gapgram.counting.band import Band, Cuts
from gapgram.counting.in_memory import BAND_POSITIONS
from gapgram.counting.on_disk.piece_files import PieceFile
from gapgram.counting.plan import CountedBands, Job, Split, cut_words, jobs_of
from gapgram.counting.spark.plan import CountingPlan, job_name, job_number
from gapgram.counting.spark.shards import SHARDS, ShardFolder, Target, put_chunks, shard_row, unpacked
from gapgram.counts.assemble import NO_CLASSES, NO_COUNTS, all_words, side_by_side
from gapgram.counts.counts import NONE_SEEN, Piece
from gapgram.counts.streaming import (
    Halves,
    InTurn,
    Large,
    Measured,
    Pieces,
    StoredPiece,
    measured,
    packed_grams,
    placed_contexts,
)
from gapgram.errors import EngineError
from gapgram.kernels.counting.distinct_rows import numbered
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.system.array_file import Stream

SHARE_POSITIONS = 32 * BAND_POSITIONS  # of the text, at most, that a worker lays out at once
_CHUNK_BYTES = 1 << 22
_END = "<QQ"  # of a file of parts: the length of its index, and the checksum of that


@dataclass(frozen=True)
class Share:
    """Some bands that were counted, whose pieces are files of a folder."""

    folder: str
    bands: tuple[Job | Split, ...]
    lattice: Lattice
    n_words: int
    cuts: Cuts

    def pieces(self) -> Pieces:
        """The pieces of the bands, once their files have been checked."""
        files = dict[str, PieceFile]()
        for job in (job for job in jobs_of(self.bands) if job.windows):
            path = Path(self.folder, job.name)
            if not path.exists():
                raise EngineError(
                    f"{path}: counted and not there: it was removed, or the folder is not one that all machines share"
                )
            if not PieceFile.is_whole(path):
                raise EngineError(f"{path}: damaged counts, train again with a new folder")
            files[job.name] = PieceFile(path, unpacked)

        def piece(job: Job, pattern: Pattern) -> StoredPiece:
            return files[job.name].piece(pattern) if job.windows else self._without_windows(job)[pattern]

        return CountedBands(self.bands, piece, self.cuts).of

    def _without_windows(self, job: Job) -> dict[Pattern, Piece]:
        """The pieces of words that never occur, such as <unk>, of which no worker knows."""
        windows = np.empty((0, self.lattice.order + 1), np.int32)
        return Band(windows, job.first, job.last, self.n_words, self.lattice, {}).pieces()

    def cut(self, n: int) -> list[Share]:
        """About n shares, no larger than may be."""
        windows = np.array([(band.job if isinstance(band, Split) else band).windows for band in self.bands])
        cuts = cut_words(windows, max(1, min(SHARE_POSITIONS, -(-int(windows.sum()) // n))))
        return [replace(self, bands=self.bands[first:last]) for first, last in pairwise(cuts)]


def bands_of(
    folder: str, said: pa.Table, plan: CountingPlan, lattice: Lattice, cuts: Cuts, line_sum: int
) -> Share:
    """All bands of a plan, by what their jobs have said; refuses what is not of the text that was read first."""
    jobs, windows, counts = (said[name].to_numpy() for name in ("job", "windows", "count"))
    if windows[jobs == len(plan.jobs)].tolist() != [line_sum]:
        raise EngineError(f"{folder}: the text changed while it was read: leave it alone and start again")
    counted = dict(zip(jobs.tolist(), windows.tolist(), strict=True))
    counted |= {number: plan.jobs[number].windows for number in plan.done}  # type: ignore[union-attr]
    for number, job in enumerate(plan.jobs):
        if isinstance(job, Job) and job.windows not in (-1, counted.get(number, 0)):
            raise EngineError(f"{folder}: the counts of {job.name} are not those of the whole text")
    bands = plan.resolved(counted, dict(zip(jobs.tolist(), counts.tolist(), strict=True)))
    return Share(folder, tuple(bands), lattice, plan.n_words, cuts)


def _measure(number: int, share: Share) -> Iterator[pa.RecordBatch]:
    """Say, pickled, what is to be known of all patterns of a share; of the empty one its grams for rows."""
    pieces = share.pieces()
    words = np.concatenate([piece.grams for piece in pieces(Pattern(0))])
    others = (pattern for pattern in share.lattice.stored if pattern.mask)
    found = [Measured(words.size, words, NONE_SEEN), *(measured(pieces(pattern)) for pattern in others)]
    yield shard_row(number, 0, 0, 0, zlib.compress(pickle.dumps(found), 1))


@dataclass(frozen=True)
class _LayingOut:
    """Writes the parts of all arrays of a share into a file. root: the number of its first pattern among all.

    done: for each share how many grams of each pattern come before its own.
    """

    target: Target
    root: int
    done: Sequence[Integers]
    known: Broadcast[tuple[Integers, list[Integers]]]

    def __call__(self, number: int, share: Share) -> Iterator[pa.RecordBatch]:
        yield from self.target.written(number, _name(self.root, number), partial(self._write, share, self.done[number]))

    def _write(self, share: Share, done: Integers, file: BinaryIO) -> None:
        """Parts by pattern, those of contexts side by side by the first; then where they lie, and its checksum."""
        pieces, (places, rows), stored, parts = share.pieces(), self.known.value, share.lattice.stored, {}

        def add(name: str, p: int, chunks: Iterable[npt.NDArray[Any]]) -> None:
            at, checksum = file.tell(), xxhash.xxh3_64()
            for chunk in chunks:
                checksum.update(chunk.data)
                file.write(chunk.data)
            parts[f"{name} {self.root + p}"] = at, file.tell() - at, checksum.intdigest()

        for heads in side_by_side(stored)[1:]:  # but for the context of the empty pattern
            for p in heads:
                large: Large = []
                add("grams", p, packed_grams(pieces(stored[p]), places[self.root + p], large, int(done[p])))
                add("large_at", p, (at for at, _ in large))
                add("large_counts", p, (counts for _, counts in large))
            bands = zip(*(pieces(stored[p]) for p in heads), strict=True)
            own = [rows[self.root + p] for p in heads]
            add("contexts", heads[0], placed_contexts(bands, own, done[heads]))
        index = json.dumps(parts).encode()
        file.write(index + struct.pack(_END, len(index), xxhash.xxh3_64_intdigest(index)))


@dataclass(frozen=True)
class _Task:
    """Does some work on the share that has the number of the task, whose files come as rows unless they are there."""

    shares: Sequence[Share]
    work: Callable[[int, Share], Iterator[pa.RecordBatch]]
    are_there: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = TaskContext.get().partitionId()
        share = self.shares[number]
        with TemporaryDirectory() as folder:
            if self.are_there:
                list(batches)
            else:
                put_chunks(batches, Path(folder), job_name)
                share = replace(share, folder=folder)
            yield from self.work(number, share)


class _PartFile:
    """A file of parts, once a worker has written it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            file.seek(-struct.calcsize(_END), 2)
            length, checksum = struct.unpack(_END, file.read())
            file.seek(-struct.calcsize(_END) - length, 2)
            index = file.read(length)
        if xxhash.xxh3_64_intdigest(index) != checksum:
            raise self._damaged
        self.parts: dict[str, tuple[int, int, int]] = json.loads(index)

    @property
    def _damaged(self) -> EngineError:
        return EngineError(f"{self._path}: damaged, go on with --resume")

    def read(self, part: str, kind: type[Any]) -> Iterator[npt.NDArray[Any]]:
        """A part, some of it at a time."""
        (at, left, expected), checksum = self.parts[part], xxhash.xxh3_64()
        with self._path.open("rb") as file:
            file.seek(at)
            while chunk := file.read(min(left, _CHUNK_BYTES)):
                checksum.update(chunk)
                left -= len(chunk)
                yield np.frombuffer(chunk, kind)
        if left or checksum.intdigest() != expected:
            raise self._damaged


class InParts(InTurn):
    """Lays out the tables where the counts are. streams: of words and of classes, all bands and their folder.

    copies: a folder of this machine, for parts that workers write elsewhere.
    """

    def __init__(
        self,
        patterns: tuple[Pattern, ...],
        spark: SparkSession,
        streams: Sequence[tuple[Share, ShardFolder]],
        copies: Path,
    ) -> None:
        super().__init__(patterns, lambda pattern: iter([self._empty[pattern]]))
        self._spark, self._copies, self._files = spark, copies, list[Path]()
        n = 2 * spark.sparkContext.defaultParallelism
        self._streams = [(share.cut(n), folder) for share, folder in streams]
        self._roots = [p for p, pattern in enumerate(patterns) if not pattern.mask]

    def streams(
        self, class_of: Ids = NO_CLASSES, word_counts: Integers = NO_COUNTS, *, whole: bool = True
    ) -> Iterator[Stream]:
        """As `InTurn`; the parts go when they have been read."""
        try:
            yield from super().streams(class_of, word_counts, whole=whole)
        finally:
            for file in self._files:
                file.unlink(missing_ok=True)

    def _measured(self) -> list[Measured]:
        said = [_done(folder, shares, _measure).toArrow().sort_by("job") for shares, folder in self._streams]
        self._found = [[pickle.loads(zlib.decompress(own)) for own in table["bytes"].to_pylist()] for table in said]
        self._empty = {Pattern(0, k): all_words([own[0].rows for own in found]) for k, found in enumerate(self._found)}
        of_others = {
            Pattern(pattern.mask, k): _together(several)
            for k, (found, (shares, _)) in enumerate(zip(self._found, self._streams, strict=True))
            for pattern, several in zip(shares[0].lattice.stored, zip(*found, strict=True), strict=True)
            if pattern.mask
        }
        return [of_others[p] if p.mask else measured(self._of(p)) for p in self.patterns]

    def _place(self, places: Integers, rows: list[Integers]) -> None:
        super()._place(places, rows)
        known = self._spark.sparkContext.broadcast((places, rows))
        for root, found, (shares, folder) in zip(self._roots, self._found, self._streams, strict=True):
            sizes = np.array([[own.n_grams for own in several] for several in found])
            work = _LayingOut(folder.target, root, list(np.cumsum(sizes, axis=0) - sizes), known)
            at = folder.files(_done(folder, shares, work), self._copies, partial(_name, root))
            self._files += [at / _name(root, number) for number in range(len(shares))]
        known.destroy()
        self._parts = list(map(_PartFile, self._files))
        del self._found

    def _grams(self, p: int) -> Iterator[Halves]:
        return self._read(f"grams {p}", np.uint32) if self.patterns[p].mask else super()._grams(p)

    def _n_large(self) -> int:
        sizes = (part[1] for file in self._parts for name, part in file.parts.items() if name.startswith("large_at"))
        return super()._n_large() + sum(sizes) // 8

    def _large(self, name: str) -> Iterator[Integers]:
        of_empty = super()._large(name)
        for p, pattern in enumerate(self.patterns):
            yield from self._read(f"{name} {p}", np.int64) if pattern.mask else [next(of_empty)]

    def _contexts(self, heads: list[int]) -> Iterator[Integers]:
        has_words = self.patterns[heads[0]].mask
        return self._read(f"contexts {heads[0]}", np.int64) if has_words else super()._contexts(heads)

    def _read(self, part: str, kind: type[Any]) -> Iterator[npt.NDArray[Any]]:
        for file in self._parts:
            if part in file.parts:
                yield from file.read(part, kind)


def _name(root: int, number: int) -> str:
    return f"tables-{root}-{number}"


def _done(
    folder: ShardFolder, shares: Sequence[Share], work: Callable[[int, Share], Iterator[pa.RecordBatch]]
) -> DataFrame:
    """What some work says of each of some shares, done by tasks of their own."""
    needed = [[job_number(job.name) for job in jobs_of(share.bands) if job.windows] for share in shares]
    return folder.rows(needed).mapInArrow(_Task(shares, work, folder.path is not None), SHARDS)


def _together(parts: Sequence[Measured]) -> Measured:
    rows = numbered(np.concatenate([part.rows for part in parts]))[0]
    return Measured(sum(part.n_grams for part in parts), rows, np.sum([part.seen for part in parts], axis=0))
