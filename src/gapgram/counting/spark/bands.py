"""Ids to windows, windows to bands, bands to the tables of all patterns: what runs on the workers.

`Windowing` cuts a stream of ids into windows and packs those of a job (`plan`) into blobs; Spark brings the blobs of a
job together; `BandCounting` counts them. Neither knows where the ids come from, so that any stream of ids made from a
text, such as the classes of its words, is counted in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from gapgram.arrays import Bytes, Ids, Integers, Mask
from gapgram.counting.band import Band
from gapgram.counting.spark.batches import LineSum, batch_of, blocks_of, runs, signed, values_of
from gapgram.counting.spark.plan import LEFT, CountingPlan
from gapgram.counting.spark.shards import SHARDS, shard_rows, text_row
from gapgram.counts.counts import Piece
from gapgram.errors import EngineError
from gapgram.kernels.counting import sorting, window_codec
from gapgram.kernels.tables.arrays import COUNT_BITS, STATISTICS
from gapgram.kernels.tables.keys import words_by_key
from gapgram.kernels.text.special_words import END_ID, START_ID
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.text.corpus import TextRules, encode
from gapgram.text.vocabulary import Vocabulary

PLACES = 1 << 31  # of windows laid one after the other that can be numbered
CHUNK_POSITIONS = 1 << 21  # that a worker sorts at once
_WINDOWS = pa.schema([("job", pa.int32()), ("windows", pa.binary())])


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


def count_bands(lines: DataFrame, stream: IdStream, lattice: Lattice, plan: CountingPlan) -> DataFrame:
    """The tables of all jobs of a plan for a stream, as rows of `shards.SHARDS`."""
    windows = lines.mapInArrow(Windowing(stream, lattice.order, plan), "job int, windows binary")
    by_job = windows.repartitionById(len(plan.jobs) + 1, sql.col("job"))  # one more: what the text was
    return by_job.mapInArrow(BandCounting(lattice, plan), SHARDS)


@dataclass(frozen=True)
class Windowing:
    """Windows of a partition of the text, packed job by job."""

    stream: IdStream
    order: int
    plan: CountingPlan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bands = list(self.plan.bands())
        cuts = np.array([first for first, _ in bands] + [self.plan.n_words])
        words = {first: _FrequentWord(first, self.plan, self.order) for first in self.plan.frequent}
        lines = LineSum()
        for ids in self.stream.ids(lines.over(batches)):
            positions, starts = sorting.positions_by_word(ids, self.plan.n_words)
            ends = starts[cuts]
            for band in np.flatnonzero(np.diff(ends)).tolist():
                first, jobs = bands[band]
                own = positions[ends[band] : ends[band + 1]]
                if first in words:
                    blobs = words[first].blobs(ids, own)
                else:
                    blobs = iter([(jobs[0], _packed(ids, own, first, self.order))])
                for job, blob in blobs:
                    yield batch_of(_WINDOWS, [job], [blob])
        yield batch_of(_WINDOWS, [len(self.plan.jobs)], [lines.total.to_bytes(8, "little")])


def _packed(ids: Ids, positions: Ids, first_word: int, order: int) -> bytes:
    out = np.empty(positions.size * (order + 1) * window_codec.NUMBER_BYTES, np.uint8)
    used = window_codec.pack_windows(ids, positions, 0, positions.size, first_word, order, out)
    return out[:used].tobytes()


class _FrequentWord:
    """Sends the windows of a word that is cut, once for each family of patterns."""

    def __init__(self, word: int, plan: CountingPlan, order: int) -> None:
        self.word, self.order, self.cut = word, order, plan.frequent[word]
        self.rank = _ranks(plan.n_words)
        self.seen = np.zeros(plan.n_words, np.bool_)

    def blobs(self, ids: Ids, positions: Ids) -> Iterator[tuple[int, bytes]]:
        """Jobs, and what each gets of the windows at these positions."""
        windows: Ids = sorting.windows_at(ids, positions, self.order)
        for second, job in self.cut.families.items():
            if second == LEFT:
                left = np.unique(windows[:, 0])
                yield job, np.array([len(windows), *left[left >= 0]], np.int64).tobytes()
                continue
            kept = windows[:, 1 + second] >= 0
            if second == 1 and self.order > 2:
                kept &= self._first_of_ends(windows)
            ranks = self.rank[windows[kept, 1 + second]]
            numbers = np.searchsorted(self.cut.ranks, ranks, side="right") - 1
            order, starts = sorting.positions_by_word(numbers.astype(np.int32), self.cut.ranks.size)
            own = positions[kept][order]
            for number in np.flatnonzero(np.diff(starts)).tolist():
                some = own[starts[number] : starts[number + 1]]
                yield job + number, _packed(ids, some, self.word, self.order)


    def _first_of_ends(self, windows: Ids) -> Mask:
        """Which windows to keep: of those that end right after the word only the first of each word before it.

        Such windows have one gram, whose count is the number of different words to its left, and they are many: a full
        stop is mostly the last word.
        """
        ending = np.flatnonzero((windows[:, 2] == END_ID) & (windows[:, 0] >= 0))
        left, first = np.unique(windows[ending, 0], return_index=True)
        keep = np.ones(len(windows), np.bool_)
        keep[ending] = False
        keep[ending[first[~self.seen[left]]]] = True
        self.seen[left] = True
        return keep


@lru_cache(maxsize=1)
def _ranks(n_words: int) -> Ids:
    """The place of each word in the order of keys."""
    ranks = np.empty(n_words, np.int32)
    ranks[words_by_key(n_words)] = np.arange(n_words, dtype=np.int32)
    return ranks


@dataclass(frozen=True)
class BandCounting:
    """The tables of the jobs of a partition, whose blobs come job after job."""

    lattice: Lattice
    plan: CountingPlan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        order = self.lattice.order
        for number, blobs in _by_job(batches):
            if number == len(self.plan.jobs):
                totals = (int.from_bytes(blob.tobytes(), "little") for blob in blobs)
                yield text_row(number, signed(sum(totals) % (1 << 64)))
                continue
            job = self.plan.jobs[number]
            if job.second == LEFT:
                n_windows, piece = _counted_left(job.first, blobs, order)
                yield from shard_rows(number, Pattern(0), n_windows, piece)
                continue
            windows = unpacked(blobs, job.first, job.last, order)
            blobs.clear()
            band = Band(windows, job.first, job.last, self.plan.n_words, self.lattice)
            for pattern, piece in band.each((job.second,) if job.second else ()):
                yield from shard_rows(number, pattern, len(windows), piece)


def _counted_left(word: int, blobs: list[Bytes], order: int) -> tuple[int, Piece]:
    """How many windows a frequent word has, and its gram of the empty pattern."""
    numbers = [blob.view(np.int64) for blob in blobs]
    n_windows = int(sum(n[0] for n in numbers))
    left = np.unique(np.concatenate([n[1:] for n in numbers])).size
    count = 0 if word == START_ID else (left if order > 1 else n_windows)
    gram = np.array([word << COUNT_BITS | count], np.int64)
    return n_windows, Piece(gram, np.empty(0, np.int64), np.zeros((1, STATISTICS), np.int64))


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
