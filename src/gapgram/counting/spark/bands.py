"""Ids to windows, windows to bands, bands to the tables of all patterns: what runs on the workers.

`Windowing` cuts a stream of ids into windows and packs those of a job (`plan`) into blobs; Spark brings the blobs of a
job together; `BandCounting` counts them. Neither knows where the ids come from, so that any stream of ids made from a
text, such as the classes of its words, is counted in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from gapgram.arrays import Bytes, Ids, Integers
from gapgram.counting.band import Band, Cuts
from gapgram.counting.on_disk.piece_files import PieceFile
from gapgram.counting.plan import MIX
from gapgram.counting.spark.batches import LineSum, batch_of, blocks_of, runs, signed, values_of
from gapgram.counting.spark.plan import CountingPlan, Cut, SharedGram, ranks_of
from gapgram.counting.spark.shards import SHARDS, Target, packed, shard_row
from gapgram.errors import EngineError
from gapgram.kernels.counting import sorting, window_codec
from gapgram.lattice import Lattice
from gapgram.text.corpus import TextRules, encode
from gapgram.text.vocabulary import Vocabulary

PLACES = 1 << 31  # of windows laid one after the other that can be numbered
CHUNK_POSITIONS = 1 << 21  # that a worker sorts at once
_WINDOWS = pa.schema([("job", pa.int32()), ("windows", pa.binary())])
_NO_WINDOWS = np.empty((0, 0), np.int32)


@dataclass(frozen=True)
class IdStream:
    """A text as ids: its words by a vocabulary, or, where `mapped` is given, what that array makes of each id."""

    vocabulary: Broadcast[tuple[Bytes, Integers, Integers]]
    rules: TextRules
    mapped: Broadcast[Ids] | None = None

    def ids(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Ids]:
        """Ids of whole sentences, a good many at a time."""
        vocabulary = Vocabulary(*self.vocabulary.value)
        held, size = [], 0
        for encoded in encode(blocks_of(batches), vocabulary, self.rules):
            held.append(encoded.ids if self.mapped is None else self.mapped.value[encoded.ids])
            size += encoded.ids.size
            if size >= CHUNK_POSITIONS:
                yield np.concatenate(held)
                held, size = [], 0
        if size:
            yield np.concatenate(held)


def count_bands(
    lines: DataFrame, stream: IdStream, lattice: Lattice, plan: CountingPlan, target: Target, cuts: Cuts
) -> DataFrame:
    """Count all jobs of a plan for a stream; rows of `shards.SHARDS` say what each has counted."""
    windows = lines.mapInArrow(Windowing(stream, lattice.order, plan), "job int, windows binary")
    by_job = windows.repartitionById(len(plan.jobs) + 1, sql.col("job"))  # one more: what the text was
    return by_job.mapInArrow(BandCounting(lattice, plan, target, cuts), SHARDS)


Blobs = Iterator[tuple[int, bytes]]


@dataclass(frozen=True)
class Windowing:
    """Windows of a partition of the text, packed job by job."""

    stream: IdStream
    order: int
    plan: CountingPlan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        firsts = self.plan.firsts
        cuts = np.array([*firsts, self.plan.n_words])
        lines = LineSum()
        for ids in self.stream.ids(lines.over(batches)):
            positions, starts = sorting.positions_by_word(ids, self.plan.n_words)
            ends = starts[cuts]
            for band in np.flatnonzero(np.diff(ends)).tolist():
                own = positions[ends[band] : ends[band + 1]]
                node = self.plan.bands[band]
                windows = sorting.windows_at(ids, own, self.order) if isinstance(node, Cut) else _NO_WINDOWS
                for job, blob in self._blobs(node, firsts[band], ids, own, windows):
                    yield batch_of(_WINDOWS, [job], [blob])
        yield batch_of(_WINDOWS, [len(self.plan.jobs)], [lines.total.to_bytes(8, "little")])

    def _blobs(self, node: int | Cut, first: int, ids: Ids, positions: Ids, windows: Ids) -> Blobs:
        """Jobs, and what each gets of the windows at these positions; `windows` are they, where they are looked at."""
        if isinstance(node, int):
            if node not in self.plan.done:
                yield node, _packed(ids, positions, first, self.order)
            return
        for number, gram in zip(node.gram, node.grams, strict=True):
            yield number, _shared(gram, windows)
        for step, ranks in node.ranks.items():
            kept = np.flatnonzero(windows[:, 1 + step] >= 0)
            parts = np.searchsorted(ranks, _ranks(self.plan.n_words)[windows[kept, 1 + step]], side="right") - 1
            order, starts = sorting.positions_by_word(parts.astype(np.int32), ranks.size)
            for part in np.flatnonzero(np.diff(starts)).tolist():
                own, below = kept[order[starts[part] : starts[part + 1]]], node.parts[step][part]
                rest = windows[own] if isinstance(below, Cut) else _NO_WINDOWS
                yield from self._blobs(below, first, ids, positions[own], rest)


def _packed(ids: Ids, positions: Ids, first_word: int, order: int) -> bytes:
    out = np.empty(positions.size * (order + 1) * window_codec.NUMBER_BYTES, np.uint8)
    used = window_codec.pack_windows(ids, positions, 0, positions.size, first_word, order, out)
    return out[:used].tobytes()


def _shared(gram: SharedGram, windows: Ids) -> bytes:
    """How many windows there are, and the different words in the columns of a gram that they share."""
    words = windows[:, list(gram.columns)]
    if gram.shares > 1:
        words = words[((words.astype(np.int64) @ MIX[: len(gram.columns)]) >> 20) % gram.shares == gram.share]
    different = np.unique(words, axis=0) if gram.columns else words[:0]
    return len(windows).to_bytes(8, "little") + different.tobytes()


_ranks = lru_cache(maxsize=1)(ranks_of)


@dataclass(frozen=True)
class BandCounting:
    """Counts the jobs of a partition, whose blobs come job after job."""

    lattice: Lattice
    plan: CountingPlan
    target: Target
    cuts: Cuts

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        order = self.lattice.order
        for number, blobs in _by_job(batches):
            if number == len(self.plan.jobs):
                totals = (int.from_bytes(blob.tobytes(), "little") for blob in blobs)
                yield shard_row(number, signed(sum(totals) % (1 << 64)), 0)
                continue
            job = self.plan.jobs[number]
            if isinstance(job, SharedGram):
                yield shard_row(number, *_counted(job, blobs))
                continue
            windows = unpacked(blobs, job.first, job.last, order)
            blobs.clear()
            n_windows = len(windows)
            pieces = Band(windows, job.first, job.last, self.plan.n_words, self.lattice, self.cuts).each(job.steps)
            del windows
            write = partial(PieceFile.write, pieces=pieces, pack=packed)
            yield from self.target.written(number, job.name, write, n_windows)


def _counted(gram: SharedGram, blobs: list[Bytes]) -> tuple[int, int]:
    """How many windows share a gram, and its count, or the share of it."""
    n_windows = sum(int.from_bytes(blob[:8].tobytes(), "little") for blob in blobs)
    if not gram.columns:
        return n_windows, n_windows if gram.is_counted else 0
    words = np.concatenate([blob[8:].view(np.int32).reshape(-1, len(gram.columns)) for blob in blobs])
    return n_windows, len(np.unique(words, axis=0))


def _by_job(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, list[Bytes]]]:
    job = -1
    blobs: list[Bytes] = []
    for batch in batches:
        for run in runs(batch, ["job"]):
            now = run["job"][0].as_py()
            if now != job and blobs:
                yield job, blobs
                blobs = []
            job = now
            blobs += values_of(run["windows"])
    if blobs:
        yield job, blobs


def unpacked(blobs: list[Bytes], first_word: int, last_word: int, order: int, *, max_ids: int = PLACES) -> Ids:
    """All windows of the blobs, sorted by word: [window, order + 1], fewer numbers than `most_places`."""
    counts = np.zeros(last_word - first_word, np.int64)
    for blob in blobs:
        window_codec.count_packed(blob, first_word, order, counts)
    n = int(counts.sum())
    if n * (order + 1) >= max_ids:
        raise EngineError(
            f"{n:,} windows of order {order} have to be counted at once, at most {(max_ids - 1) // (order + 1):,} "
            "can be: lower the order, or leave very frequent words out of the text"
        )
    windows = np.full((n, order + 1), -1, np.int32)
    begins = np.cumsum(counts) - counts
    for blob in blobs:
        window_codec.unpack_windows(blob, first_word, order, begins, windows)
    return windows
