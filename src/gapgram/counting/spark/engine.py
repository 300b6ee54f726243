"""A text on a cluster, and its counts."""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.counting.band import NO_CUTS, Cuts
from gapgram.counting.in_memory import BAND_POSITIONS
from gapgram.counting.spark import sample
from gapgram.counting.spark.bands import IdStream, count_bands
from gapgram.counting.spark.batches import signed
from gapgram.counting.spark.parts import InParts, Share, bands_of
from gapgram.counting.spark.plan import MAX_WINDOWS, is_cut, plan_of
from gapgram.counting.spark.refusal import first_refused
from gapgram.counting.spark.shards import ShardFolder, check_new, move_to
from gapgram.counting.spark.text import Learned, RefusedError, checked_paths, learn, read_lines
from gapgram.counts.streaming import InTurn
from gapgram.lattice import Lattice
from gapgram.signature import __version__
from gapgram.text.corpus import TextRules

PLANNED_POSITIONS = 1 << 23  # of the sample by which words that are too frequent are cut
MANY_BANDS = 20_000  # more than these are made larger, until they are as large as may be


class TextOnSpark:
    """A text that Spark has read, as a `TextSource`; what it has counted is there until `resources` are closed."""

    def __init__(
        self, lines: DataFrame, learned: Learned, stream: IdStream, counting: Counting, resources: contextlib.ExitStack
    ) -> None:
        self.facts, self.positions = learned.facts, learned.facts.positions
        self.longest_sentence = learned.longest_sentence
        self.vocabulary, self.word_counts = learned.vocabulary, learned.word_counts
        self.word_sample, self._line_sum = learned.word_sample, signed(learned.line_sum)
        self._lines, self._stream, self._counting, self._resources = lines, stream, counting, resources

    def sample(self, *, seed: int, limit: int) -> Ids:
        """As `TextSource`."""
        positions, line_sum = self.facts.positions, self._line_sum
        return sample.sample(
            self._lines, self._stream, positions=positions, seed=seed, limit=limit, line_sum=line_sum
        )

    def tables(self, lattice: Lattice, classes: Sequence[Classes], cuts: Cuts = NO_CUTS) -> InTurn:
        """As `TextSource`; the counts of each clustering's classes are in a folder beside that of the words."""
        streams = [self._counted(self._stream, lattice.of_words, self.word_counts, "", cuts)]
        for number, (own, patterns) in enumerate(zip(classes, lattice.of_classes, strict=True), 1):
            streams.append(self._counted_classes(own, patterns, f"-classes{number}" if number > 1 else "-classes"))
        copies = self._resources.enter_context(TemporaryDirectory(prefix="gapgram-shards-", dir=self._counting.copies))
        return InParts(lattice.stored, self._counting.spark, streams, Path(copies))

    def _counted_classes(self, classes: Classes, lattice: Lattice, suffix: str) -> tuple[Share, ShardFolder]:
        of_word = self._counting.spark.sparkContext.broadcast(classes.of_word)
        self._resources.callback(of_word.destroy)
        class_counts = np.bincount(classes.of_word, self.word_counts, len(classes)).astype(np.int64)
        return self._counted(replace(self._stream, mapped=of_word), lattice, class_counts, suffix)

    def move_to(self, path: Path, place: str) -> None:
        """Move a model to wherever Spark can write."""
        move_to(self._counting.spark, path, place)

    def bands(self, lattice: Lattice, cuts: Cuts = NO_CUTS) -> Share:
        """All bands of a lattice without classes, counted."""
        return self._counted(self._stream, lattice, self.word_counts, "", cuts)[0]

    def _counted(
        self, stream: IdStream, lattice: Lattice, id_counts: Integers, suffix: str, cuts: Cuts = NO_CUTS
    ) -> tuple[Share, ShardFolder]:
        counting, some = self._counting, None
        if is_cut(id_counts, counting.max_windows):
            some = sample.some(self._lines, stream, -(-self.positions // PLANNED_POSITIONS))
        plan = plan_of(id_counts, lattice, counting.bands, counting.max_windows, some)
        facts = (__version__, self._line_sum, str(lattice), sorted((str(p), n) for p, n in cuts.items()), repr(plan))
        run = hashlib.sha256(repr(facts).encode()).hexdigest()
        folder = ShardFolder(counting.spark, counting.folder + suffix, run, resume=counting.resume)
        plan = replace(plan, done=folder.done(plan))
        tables = count_bands(self._lines, stream, lattice, plan, folder.target, cuts)
        at = str(folder.path or folder.folder)
        return bands_of(at, folder.count(tables), plan, lattice, cuts, self._line_sum), folder


@dataclass(frozen=True)
class Counting:
    """Where and how streams of ids are counted; see `open_text`."""

    spark: SparkSession
    folder: str
    copies: str | Path | None
    bands: int
    max_windows: int
    resume: bool


@contextlib.contextmanager
def open_text(
    spark: SparkSession,
    texts: Iterable[object],
    rules: TextRules,
    *,
    shards: str,
    copies: str | Path | None = None,
    bands: int | None = None,
    max_windows: int = MAX_WINDOWS,
    resume: bool = False,
) -> Iterator[TextOnSpark]:
    """A text that Spark reads, its vocabulary learned.

    shards: the new folder for what is counted. copies: a folder of this machine for copies of shards that are written
        elsewhere; removed in the end.
    bands: how many are counted apart; by default one for a million words, or more of a very large text, and one for
        each core at least.
    max_windows: how often a word may occur before it is counted in several parts of its own.
    resume: go on with the folder of an interrupted run, if it is there.
    """
    paths = checked_paths(texts)
    if not resume:
        check_new(spark, shards)
    lines = read_lines(spark, paths)
    try:
        learned = learn(lines, rules)
    except RefusedError:
        raise first_refused(spark, paths, rules) from None
    if bands is None:
        positions = learned.facts.positions
        each = min(max(BAND_POSITIONS, positions // MANY_BANDS), max_windows)
        bands = max(spark.sparkContext.defaultParallelism, math.ceil(positions / each))
    with contextlib.ExitStack() as resources:
        words = learned.vocabulary
        broadcast = spark.sparkContext.broadcast((words.pool, words.offsets, words.slots))
        resources.callback(broadcast.destroy)
        counting = Counting(spark, shards, copies, bands, max_windows, resume)
        yield TextOnSpark(lines, learned, IdStream(broadcast, rules), counting, resources)
