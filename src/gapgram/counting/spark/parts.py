"""The tables of a model, laid out by the workers in parts, which the driver puts one after the other.

What bands have counted is cut into shares. A job says how many grams each share has of each pattern, and which distinct
rows; from these the driver knows where all lies, and tells it to a second job, which lays out the grams and contexts of
each share as the file of the model has them (`counts.streaming`). The driver copies them there.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash
from pyspark import Broadcast
from pyspark.sql import SparkSession

from gapgram.arrays import Ids, Integers
from gapgram.counting.band import Band, Cuts
from gapgram.counting.in_memory import BAND_POSITIONS
from gapgram.counting.on_disk.piece_files import PieceFile
from gapgram.counting.plan import CountedBands, Job, Split, cut_words, jobs_of
from gapgram.counting.spark.batches import batch_of
from gapgram.counting.spark.plan import CountingPlan
from gapgram.counting.spark.shards import Target, unpacked
from gapgram.counts.assemble import NO_CLASSES, NO_COUNTS, all_words, side_by_side
from gapgram.counts.counts import NONE_SEEN, Piece
from gapgram.counts.streaming import (
    Halves,
    InTurn,
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
_SAID = pa.schema([("share", pa.int32()), ("said", pa.binary())])
_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class Share:
    """Some bands that were counted, whose pieces are files of a folder."""

    folder: Path
    bands: tuple[Job | Split, ...]
    lattice: Lattice
    n_words: int
    cuts: Cuts

    def pieces(self) -> Pieces:
        """The pieces of the bands, once their files have been checked."""
        files = dict[str, PieceFile]()
        for job in (job for job in jobs_of(self.bands) if job.windows):
            path = self.folder / job.name
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
    folder: Path, said: pa.Table, plan: CountingPlan, lattice: Lattice, cuts: Cuts, line_sum: int
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


def _measured(share: Share) -> list[Measured]:
    """What is to be known of all patterns; in the place of rows of the empty one its grams."""
    pieces = share.pieces()
    words = np.concatenate([piece.grams for piece in pieces(Pattern(0))])
    others = (pattern for pattern in share.lattice.stored if pattern.mask)
    return [Measured(words.size, words, NONE_SEEN), *(measured(pieces(pattern)) for pattern in others)]


class _Part(NamedTuple):
    """Where a part of an array lies in the file of a share, and its checksum."""

    at: int
    n_bytes: int
    checksum: int


@dataclass(frozen=True)
class _Layout:
    """What a worker must know to lay out a share. root: the number of its first pattern; done: grams before its own."""

    target: Target
    name: str
    root: int
    done: Integers
    known: Broadcast[tuple[Integers, list[Integers]]]

    def write(self, share: Share) -> dict[tuple[str, int], _Part]:
        """Lay out a share: the parts of its arrays, by pattern; contexts side by side by the first of theirs."""
        pieces, (places, rows), stored, parts = share.pieces(), self.known.value, share.lattice.stored, {}
        with self.target.file(self.name) as file:

            def add(name: str, p: int, chunks: Iterable[npt.NDArray[Any]]) -> None:
                at, checksum = file.tell(), xxhash.xxh3_64()
                for chunk in chunks:
                    checksum.update(chunk.data)
                    file.write(chunk.data)
                parts[name, self.root + p] = _Part(at, file.tell() - at, checksum.intdigest())

            for heads in side_by_side(stored)[1:]:  # but for the context of the empty pattern
                for p in heads:
                    large: list[tuple[Integers, Integers]] = []
                    add("grams", p, self._grams(pieces(stored[p]), places[self.root + p], p, large))
                    add("large_at", p, (at for at, _ in large))
                    add("large_counts", p, (counts for _, counts in large))
                bands = zip(*(pieces(stored[p]) for p in heads), strict=True)
                own = [rows[self.root + p] for p in heads]
                add("contexts", heads[0], placed_contexts(bands, own, self.done[heads]))
        return parts

    def _grams(
        self, pieces: Iterator[StoredPiece], place: Integers, p: int, large: list[tuple[Integers, Integers]]
    ) -> Iterator[Halves]:
        for packed, at, counts in packed_grams(pieces, place, int(self.done[p])):
            large.append((at, counts))
            yield packed


class InParts(InTurn):
    """Lays out the tables where the counts are. streams: all bands of words and of classes, and who writes."""

    def __init__(
        self, patterns: tuple[Pattern, ...], spark: SparkSession, streams: Sequence[tuple[Share, Target]]
    ) -> None:
        super().__init__(patterns, lambda pattern: iter([self._empty[pattern]]))
        self._spark, n = spark, 2 * spark.sparkContext.defaultParallelism
        self._shares = [(k, own, target) for k, (share, target) in enumerate(streams) for own in share.cut(n)]
        self._roots = [p for p, pattern in enumerate(patterns) if not pattern.mask]

    def streams(
        self, class_of: Ids = NO_CLASSES, word_counts: Integers = NO_COUNTS, *, whole: bool = True
    ) -> Iterator[Stream]:
        """As `InTurn`; the parts go when they have been read."""
        try:
            yield from super().streams(class_of, word_counts, whole=whole)
        finally:
            for number, (_, share, _) in enumerate(self._shares):
                (share.folder / _name(number)).unlink(missing_ok=True)

    def _measured(self) -> list[Measured]:
        self._found = _on_workers(self._spark, [partial(_measured, share) for _, share, _ in self._shares])
        of_streams = [[own for own, share in zip(self._found, self._shares, strict=True) if share[0] == k]
                      for k in range(len(self._roots))]
        self._empty = {
            Pattern(0, k): all_words([own[0].rows for own in found]) for k, found in enumerate(of_streams)
        }
        return [
            measured(self._of(pattern)) if not pattern.mask
            else _together([own[p - self._roots[pattern.classes]] for own in of_streams[pattern.classes]])
            for p, pattern in enumerate(self.patterns)
        ]  # fmt: skip

    def _place(self, places: Integers, rows: list[Integers]) -> None:
        super()._place(places, rows)
        known = self._spark.sparkContext.broadcast((places, rows))
        layouts, done = list[_Layout](), dict[int, Integers]()
        for number, (k, _, target) in enumerate(self._shares):
            sizes = np.array([own.n_grams for own in self._found[number]])
            layouts.append(_Layout(target, _name(number), self._roots[k], done.get(k, 0 * sizes), known))
            done[k] = layouts[-1].done + sizes
        works = [partial(own.write, share) for own, (_, share, _) in zip(layouts, self._shares, strict=True)]
        self._parts: list[dict[tuple[str, int], _Part]] = _on_workers(self._spark, works)
        known.destroy()
        del self._found

    def _grams(self, p: int) -> Iterator[Halves]:
        return self._read("grams", p, np.uint32) if self.patterns[p].mask else super()._grams(p)

    def _n_large(self) -> int:
        own = sum(part.n_bytes for parts in self._parts for (name, _), part in parts.items() if name == "large_at")
        return super()._n_large() + own // 8

    def _large(self, name: str) -> Iterator[Integers]:
        of_empty = super()._large(name)
        for p, pattern in enumerate(self.patterns):
            yield from self._read(name, p, np.int64) if pattern.mask else [next(of_empty)]

    def _contexts(self, heads: list[int]) -> Iterator[Integers]:
        has_words = self.patterns[heads[0]].mask
        return self._read("contexts", heads[0], np.int64) if has_words else super()._contexts(heads)

    def _read(self, name: str, p: int, kind: type[Any]) -> Iterator[npt.NDArray[Any]]:
        """An array of a pattern, part by part."""
        for number, ((_, share, _), parts) in enumerate(zip(self._shares, self._parts, strict=True)):
            if (name, p) not in parts:
                continue
            (at, left, expected), checksum, path = parts[name, p], xxhash.xxh3_64(), share.folder / _name(number)
            with path.open("rb") as file:
                file.seek(at)
                while chunk := file.read(min(left, _CHUNK_BYTES)):
                    checksum.update(chunk)
                    left -= len(chunk)
                    yield np.frombuffer(chunk, kind)
            if left or checksum.intdigest() != expected:
                raise EngineError(f"{path}: damaged, go on with --resume")


def _name(number: int) -> str:
    return f"tables-{number}"


def _together(parts: Sequence[Measured]) -> Measured:
    rows = numbered(np.concatenate([part.rows for part in parts]))[0]
    return Measured(sum(part.n_grams for part in parts), rows, np.sum([part.seen for part in parts], axis=0))


def _on_workers(spark: SparkSession, works: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each of some works says, done by tasks of their own."""

    def do(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                yield batch_of(_SAID, [number], [pickle.dumps(works[number]())])

    said = spark.range(0, len(works), 1, len(works)).mapInArrow(do, "share int, said binary").toArrow()
    return [pickle.loads(own) for own in said.sort_by("share")["said"].to_pylist()]
