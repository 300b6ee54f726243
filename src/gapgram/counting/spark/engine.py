"""A text on a cluster to counts."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.counting.in_memory import BAND_POSITIONS, check_length
from gapgram.counting.spark import sample
from gapgram.counting.spark.bands import Stream, count_bands
from gapgram.counting.spark.plan import MOST_WINDOWS, Plan
from gapgram.counting.spark.refusal import first_refused
from gapgram.counting.spark.shards import Shards, check_new, write_shards
from gapgram.counting.spark.text import Learned, RefusedError, checked_paths, learn, read_lines
from gapgram.counts.counts import TextInfo
from gapgram.lattice import Lattice
from gapgram.text.corpus import Reader, TextRules
from gapgram.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class CountedText:
    """The counts of a text as shards, with what a model needs to know of the text itself."""

    vocabulary: Vocabulary
    word_counts: Integers
    text: TextInfo
    pieces: Shards
    lines: DataFrame
    stream: Stream
    count: _Count

    @property
    def positions(self) -> int:
        """How many ids the text has."""
        return self.text.words + 2 * self.text.sentences

    def sample(self, *, seed: int, limit: int) -> Ids:
        """Sentences for `weights.left_out`, which gives the same sample of them as of the whole text."""
        return sample.sample(self.lines, self.stream, positions=self.positions, seed=seed, limit=limit)

    @contextlib.contextmanager
    def counted_classes(self, classes: Classes, lattice: Lattice) -> Iterator[Shards]:
        """The pieces of the classes of all words, as if classes were words, in shards beside those of the words."""
        mapped = self.count.spark.sparkContext.broadcast(classes.of_word)
        met = np.bincount(classes.of_word, self.word_counts, len(classes)).astype(np.int64)
        try:
            with self.count.pieces(self.lines, replace(self.stream, mapped=mapped), lattice, met, "-classes") as found:
                yield found
        finally:
            mapped.destroy()


@dataclass(frozen=True)
class _Count:
    """Where and how streams of ids are counted."""

    spark: SparkSession
    shards: str
    copies: str | Path | None
    bands: int
    most: int

    @contextlib.contextmanager
    def pieces(
        self, lines: DataFrame, stream: Stream, lattice: Lattice, met: Integers, suffix: str = ""
    ) -> Iterator[Shards]:
        """The pieces of one stream of ids, each met so often: that of the words of a text, or one made from it."""
        folder = self.shards + suffix
        check_new(self.spark, folder)
        plan = Plan.of(met, lattice, self.bands, self.most)
        write_shards(count_bands(lines, stream, lattice, plan), folder)
        with contextlib.closing(Shards(self.spark, folder, plan, lattice, self.copies)) as pieces:
            pieces.check()
            yield pieces


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
) -> Iterator[CountedText]:
    """Count all patterns of a lattice in text that Spark reads, into a new folder of shards.

    copies: a folder of this machine for copies of shards that are written elsewhere; removed in the end.
    bands: how many parts are counted apart; by default one for a million words, and one for each core at least.
    most: how often a word may occur before it is counted in several parts of its own.
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
    words = found.vocabulary
    broadcast = spark.sparkContext.broadcast((words.pool, words.offsets, words.slots))
    try:
        stream, count = Stream(broadcast, rules), _Count(spark, shards, copies, bands or _bands(found, spark), most)
        with count.pieces(lines, stream, lattice, found.counts) as pieces:
            yield CountedText(words, found.counts, found.info, pieces, lines, stream, count)
    finally:
        broadcast.destroy()


def _bands(learned: Learned, spark: SparkSession) -> int:
    cores: int = spark.sparkContext.defaultParallelism
    return max(cores, math.ceil(int(learned.counts.sum()) / BAND_POSITIONS))
