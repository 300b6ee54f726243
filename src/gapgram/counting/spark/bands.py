"""Ids to windows, windows to bands, bands to the tables of all patterns: what runs on the workers.

`Windowing` cuts a stream of ids into windows and packs those of a band into blobs; Spark brings the blobs of a band
together; `Counting` counts them. Neither knows where the ids come from, so that any stream of ids made from a text,
such as the classes of its words, is counted in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from gapgram.corpus import TextRules, encode
from gapgram.counting.band import Band
from gapgram.counting.spark.batches import batch_of, blocks_of, runs, values_of
from gapgram.counting.spark.shards import SHARDS, shard_rows
from gapgram.kernels import packing, sorting
from gapgram.lattice import Lattice
from gapgram.vocabulary import Vocabulary

Ids = npt.NDArray[np.int32]
Array = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

CHUNK_POSITIONS = 1 << 21  # that a worker sorts at once
_WINDOWS = pa.schema([("band", pa.int32()), ("windows", pa.binary())])


@dataclass(frozen=True)
class Stream:
    """A text as ids: its words by a vocabulary, or, where `mapped` is given, what that array makes of each id."""

    vocabulary: Broadcast[tuple[Bytes, Array, Array]]
    rules: TextRules
    mapped: Broadcast[Ids] | None = None

    def ids(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Ids]:
        """Ids of whole sentences, a good many at a time."""
        vocabulary = Vocabulary(*self.vocabulary.value)
        parts, size = [], 0
        for part in encode(blocks_of(batches), vocabulary, self.rules):
            parts.append(part.ids if self.mapped is None else self.mapped.value[part.ids])
            size += part.ids.size
            if size >= CHUNK_POSITIONS:
                yield np.concatenate(parts)
                parts, size = [], 0
        if size:
            yield np.concatenate(parts)


@dataclass(frozen=True)
class Cuts:
    """Words that cut a vocabulary into bands, each with about as many positions of the text."""

    words: tuple[int, ...]
    positions: tuple[int, ...]

    @classmethod
    def of(cls, counts: Array, n_bands: int) -> Cuts:
        """Cut where the counts of ids say, into at most n bands."""
        ends = np.cumsum(counts)
        goals = ends[-1] * np.arange(1, n_bands) // n_bands
        words = np.unique([0, *(np.searchsorted(ends[:-1], goals) + 1), counts.size])
        starts = np.append(0, ends)[words]
        return cls(tuple(words.tolist()), tuple(np.diff(starts).tolist()))

    def __len__(self) -> int:
        return len(self.words) - 1


def count_bands(lines: DataFrame, stream: Stream, lattice: Lattice, cuts: Cuts) -> DataFrame:
    """The tables of all bands of a stream, as rows of `shards.SHARDS`."""
    windows = lines.mapInArrow(Windowing(stream, lattice.order, cuts), "band int, windows binary")
    by_band = windows.repartitionById(len(cuts), sql.col("band"))
    return by_band.mapInArrow(Counting(lattice, cuts), SHARDS)


@dataclass(frozen=True)
class Windowing:
    """Windows of a partition of the text, packed band by band."""

    stream: Stream
    order: int
    cuts: Cuts

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        words = np.array(self.cuts.words)
        for ids in self.stream.ids(batches):
            positions, starts = sorting.positions_by_word(ids, self.cuts.words[-1])
            ends = starts[words]
            for band in np.flatnonzero(np.diff(ends)).tolist():
                blob = self._packed(ids, positions, int(ends[band]), int(ends[band + 1]), self.cuts.words[band])
                yield batch_of(_WINDOWS, [band], [blob])

    def _packed(self, ids: Ids, positions: Ids, begin: int, end: int, first_word: int) -> bytes:
        out = np.empty((end - begin) * (self.order + 1) * packing.NUMBER_BYTES, np.uint8)
        used = packing.pack_windows(ids, positions, begin, end, first_word, self.order, out)
        return out[:used].tobytes()


@dataclass(frozen=True)
class Counting:
    """The tables of the bands of a partition, whose blobs come band after band."""

    lattice: Lattice
    cuts: Cuts

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for band, blobs in _by_band(batches):
            first, last = self.cuts.words[band : band + 2]
            windows = unpacked(blobs, first, last, self.lattice.order)
            blobs.clear()
            for pattern, piece in Band(windows, first, last, self.cuts.words[-1], self.lattice).each():
                yield from shard_rows(band, pattern, len(windows), piece)


def _by_band(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, list[Bytes]]]:
    band = -1
    blobs: list[Bytes] = []
    for batch in batches:
        for run in runs(batch, ["band"]):
            now = run["band"][0].as_py()
            if now != band and blobs:
                yield band, blobs
                blobs = []
            band = now
            blobs += values_of(run["windows"])
    if blobs:
        yield band, blobs


def unpacked(blobs: list[Bytes], first_word: int, last_word: int, order: int) -> Ids:
    """All windows of the blobs, sorted by word: [window, order + 1]."""
    counts = np.zeros(last_word - first_word, np.int64)
    for blob in blobs:
        packing.count_packed(blob, first_word, order, counts)
    windows = np.full((int(counts.sum()), order + 1), -1, np.int32)
    places = np.cumsum(counts) - counts
    for blob in blobs:
        packing.unpack_windows(blob, first_word, order, places, windows)
    return windows
