"""A text on a cluster to counts."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession

from gapgram.corpus import Reader, TextRules
from gapgram.counting.local import BAND_POSITIONS, check_length
from gapgram.counting.spark import sample
from gapgram.counting.spark.bands import Stream, count_bands
from gapgram.counting.spark.plan import MOST_WINDOWS, Plan
from gapgram.counting.spark.refusal import first_refused
from gapgram.counting.spark.shards import Shards, check_new, write_shards
from gapgram.counting.spark.text import Learned, RefusedError, checked_paths, learn, read_lines
from gapgram.counts import TextInfo
from gapgram.lattice import Lattice
from gapgram.vocabulary import Vocabulary


@dataclass(frozen=True)
class CountedText:
    """The counts of a text as shards, with what a model needs to know of the text itself."""

    vocabulary: Vocabulary
    text: TextInfo
    pieces: Shards
    lines: DataFrame
    stream: Stream

    def sample(self, *, seed: int, limit: int) -> npt.NDArray[np.int32]:
        """Sentences for `weights.left_out`, which gives the same sample of them as of the whole text."""
        positions = self.text.words + 2 * self.text.sentences
        return sample.sample(self.lines, self.stream, positions=positions, seed=seed, limit=limit)


@contextlib.contextmanager
def count_text(
    spark: SparkSession,
    texts: Iterable[object],
    lattice: Lattice,
    *,
    shards: str,
    copies: str | Path | None = None,
    rules: TextRules,
    min_count: int = 1,
    vocab_limit: int | None = None,
    bands: int | None = None,
    most: int = MOST_WINDOWS,
    learned: Callable[[int], None] = lambda positions: None,
) -> Iterator[CountedText]:
    """Count all patterns of a lattice in text that Spark reads, into a new folder of shards.

    copies: a folder of this machine for copies of shards that are written elsewhere; removed in the end.
    bands: how many parts are counted apart; by default one for a million words, and one for each core at least.
    most: how often a word may occur before it is counted in several parts of its own.
    learned: told how many positions the text has, once that is known; may refuse it.
    """
    Reader(min_count=min_count, vocab_limit=vocab_limit)  # refuses what makes no sense
    paths = checked_paths(texts)
    check_new(spark, shards)
    lines = read_lines(spark, paths)
    try:
        found = learn(lines, rules=rules, min_count=min_count, vocab_limit=vocab_limit)
    except RefusedError:
        raise first_refused(spark, paths, rules) from None
    check_length(found.longest, lattice.order)
    learned(int(found.counts.sum()))
    words = found.vocabulary
    broadcast = spark.sparkContext.broadcast((words.pool, words.offsets, words.slots))
    try:
        stream = Stream(broadcast, rules)
        plan = Plan.of(found.counts, lattice, bands or _bands(found, spark), most)
        with _counted(spark, lines, stream, lattice, plan, shards, copies) as pieces:
            yield CountedText(words, found.info, pieces, lines, stream)
    finally:
        broadcast.destroy()


@contextlib.contextmanager
def _counted(
    spark: SparkSession,
    lines: DataFrame,
    stream: Stream,
    lattice: Lattice,
    plan: Plan,
    folder: str,
    copies: str | Path | None,
) -> Iterator[Shards]:
    """The pieces of one stream of ids: that of the words of a text, or any that is made from it."""
    write_shards(count_bands(lines, stream, lattice, plan), folder)
    with contextlib.closing(Shards(spark, folder, plan, lattice, copies)) as pieces:
        pieces.check()
        yield pieces


def _bands(learned: Learned, spark: SparkSession) -> int:
    cores: int = spark.sparkContext.defaultParallelism
    return max(cores, math.ceil(int(learned.counts.sum()) / BAND_POSITIONS))
