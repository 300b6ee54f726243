"""The sentences that weights are learned from: those with the smallest hashes, chosen where the text is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from gapgram.arrays import Ids
from gapgram.counting.spark.bands import IdStream
from gapgram.counting.spark.batches import LineSum, batch_of, bytes_of, signed
from gapgram.errors import EngineError
from gapgram.kernels.fitting import sample as fitting
from gapgram.text.corpus import sentence_begins

_SENTENCES = pa.schema([("hash", pa.int64()), ("positions", pa.int64()), ("ids", pa.binary()), ("lines", pa.int64())])
_IDS = pa.schema([("ids", pa.binary())])
_FIRST = -(1 << 63)  # in the place of a hash: before all sentences come the sums over the lines
_MARGIN = 1.2  # more than is needed is asked for, so that once is enough nearly always


def sample(
    lines: DataFrame, stream: IdStream, *, positions: int, seed: int, limit: int, line_sum: int
) -> Ids:
    """Ids of the sentences with the smallest hashes, until there are `limit` positions of the text's.

    Equal hashes are equal sentences, so that it does not matter which of them are taken.
    line_sum: that of the text when it was read first.
    """
    share = _MARGIN * limit / positions
    while True:
        below = min(int(share * (1 << 64)), (1 << 64) - 1)
        choosing = _Choosing(stream, below, seed, limit)
        chosen = lines.mapInArrow(choosing, "hash bigint, positions bigint, ids binary, lines bigint")
        before = sql.sum("positions").over(Window.orderBy("hash").rowsBetween(Window.unboundedPreceding, -1))
        taken = chosen.withColumn("before", sql.coalesce(before, sql.lit(0))).where(sql.col("before") < limit)
        sentences = taken.orderBy("hash").select("ids", "lines").toArrow()
        if signed(sum(sentences["lines"].to_pylist()) % (1 << 64)) != line_sum:
            raise EngineError("the text changed while it was read: leave it alone and start again")
        chunks = [bytes_of(chunk)[0].view(np.int32) for chunk in sentences["ids"].chunks]
        ids = np.concatenate([np.empty(0, np.int32), *chunks])
        if ids.size >= limit or share >= 1:
            return ids
        share *= 4


def some(lines: DataFrame, stream: IdStream, one_of: int) -> Ids:
    """Ids of the lines whose hashes are a multiple of a number: a share of the text that does not depend on its order.

    Their order may, so that nothing must that is made of them.
    """
    chosen = lines.where(sql.pmod("hash", sql.lit(one_of)) == 0).mapInArrow(_Encoding(stream), "ids binary").toArrow()
    chunks = [bytes_of(chunk)[0].view(np.int32) for chunk in chosen["ids"].chunks]
    return np.concatenate([np.empty(0, np.int32), *chunks])


@dataclass(frozen=True)
class _Encoding:
    """The ids of a partition."""

    stream: IdStream

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for ids in self.stream.ids(batches):
            yield batch_of(_IDS, [ids.tobytes()])


@dataclass(frozen=True)
class _Choosing:
    """The sentences of a partition whose hashes are small, no more of them than can be needed."""

    stream: IdStream
    below: int
    seed: int
    limit: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kept, lines = np.empty(0, np.int32), LineSum()
        for ids in self.stream.ids(lines.over(batches)):
            kept = self._smallest(np.concatenate([kept, ids]))
        yield batch_of(_SENTENCES, [_FIRST], [0], [b""], [signed(lines.total)])
        begins = sentence_begins(kept)
        hashes = fitting.sentence_hashes(kept, begins, self.seed)
        # The order of unsigned numbers as one of signed ones.
        ordered = (hashes ^ np.uint64(1 << 63)).view(np.int64)
        for begin in range(0, ordered.size, 1 << 12):
            chunk = slice(begin, begin + (1 << 12))
            ends = begins[chunk.start : chunk.stop + 1]
            texts = [kept[a:b].tobytes() for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
            yield batch_of(_SENTENCES, ordered[chunk], np.diff(ends), texts, np.zeros(len(texts), np.int64))

    def _smallest(self, ids: Ids) -> Ids:
        begins = sentence_begins(ids)
        hashes = fitting.sentence_hashes(ids, begins, self.seed)
        order = np.argsort(hashes, kind="stable")
        order = order[hashes[order] <= np.uint64(self.below)]
        ends = np.cumsum(np.diff(begins)[order])
        order = order[: int(np.searchsorted(ends, self.limit)) + 1]
        return np.concatenate([np.empty(0, np.int32), *(ids[begins[s] : begins[s + 1]] for s in order.tolist())])
