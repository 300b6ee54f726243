"""The patterns of a model chosen for its text: those that pay on positions that are left out of the counts.

`estimation.weights.pattern_choice` chooses. Here the patterns that it asks for are counted, in a sample of the text if
that is large, always the same one, so that the choice depends neither on memory nor on the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gapgram.arrays import Ids, Integers
from gapgram.counting.in_memory import TextInMemory, counts_in_memory
from gapgram.counting.text_source import TextSource
from gapgram.errors import UsageError
from gapgram.estimation.weights.pattern_choice import PatternChoice
from gapgram.estimation.weights.pattern_gain import Evidence, numbered
from gapgram.estimation.weights.sample import held_out, left_out
from gapgram.lattice import MAX_PATTERNS, Lattice
from gapgram.pattern import Pattern
from gapgram.system.memory import MemoryLimit
from gapgram.system.progress import progress_bar
from gapgram.system.work_folder import WorkFolder
from gapgram.text.corpus import Corpus
from gapgram.training.choose_classes import ChosenClasses

USUAL_BUDGET = 24
MAX_COUNTED_POSITIONS = 1 << 20  # of a larger text a sample is counted
MAX_JUDGED_POSITIONS = 1 << 17  # half of them to fit gates
MOST_AT_ONCE = 8  # patterns that are counted together
_BYTES_PER_GRAM = 28  # about, while it is counted and in tables
_STAGE = "lattice"


def parse_budget(text: object, order: int) -> int | None:
    """How many patterns `auto` or `auto:N` asks for at most; None for any other lattice."""
    found = re.fullmatch(r"auto(?::(.*))?", text.strip().lower()) if isinstance(text, str) else None
    if found is None:
        return None
    budget = found[1]
    if budget is None:
        return max(USUAL_BUDGET, 2 * order)
    if not re.fullmatch(r"[0-9]+", budget) or not order <= int(budget) <= MAX_PATTERNS:
        raise UsageError(
            f"lattice {text!r}: expected auto:N for N patterns at most, from {order}, those without gaps that order "
            f"{order} always has, to {MAX_PATTERNS:,}; or auto alone"
        )
    return int(budget)


def placeholder(order: int, budget: int) -> Lattice:
    """A lattice of as many stored patterns as may be chosen, for what must be known before: memory and disk."""
    stored = set(Lattice.chain(order).stored)
    for mask in range((1 << (order - 1)) - 2, 0, -1):
        more = stored.union(Lattice(order, [Pattern(mask)]).stored)
        if len(more) > budget:
            break
        stored = more
    return Lattice(order, stored)


@dataclass(frozen=True)
class TextToChooseOn:
    """A text, or a sample of a large one, in which patterns are counted, and positions that they are judged on.

    clusterings: to choose from. unseen: held-out text, if weights are fitted on any. memory: that may be taken.
    """

    text: TextSource
    clusterings: ChosenClasses
    order: int
    seed: int
    unseen: Ids | None
    memory: MemoryLimit | None
    threads: int

    def with_clusterings(self, numbers: Sequence[int]) -> ChosenClasses:
        """The clusterings with these numbers, from 1."""
        if not numbers:
            return ChosenClasses()
        return replace(self.clusterings, classes=tuple(self.clusterings.classes[number - 1] for number in numbers))

    @cached_property
    def _counted(self) -> TextInMemory:
        text = self.text
        ids = text.sample(seed=self.seed, limit=MAX_COUNTED_POSITIONS)
        word_counts: Integers = np.bincount(ids, minlength=text.word_counts.size)
        corpus = Corpus(ids, text.vocabulary, word_counts, text.facts, text.longest_sentence, 0)
        return TextInMemory(corpus, threads=self.threads)

    def evidence(self, patterns: Iterable[Pattern], known: Evidence | None = None) -> Evidence:
        """What there is to be known of some patterns, added to what is known."""
        rest = sorted(patterns, key=lambda p: p.sort_key)
        while rest:
            some, rest = rest[: self._at_once], rest[self._at_once :]
            lattice, numbers = numbered(self.order, some)
            classes = self.with_clusterings(numbers).classes
            counts = counts_in_memory(self._counted, lattice, classes, threads=self.threads)
            if self.unseen is not None:
                sample = held_out(counts, self.unseen, limit=MAX_JUDGED_POSITIONS, threads=self.threads)
            else:
                apart = self.clusterings.held_apart  # those that classes were found without
                sample = left_out(
                    counts, self._counted.ids if apart is None else apart, seed=self.seed, limit=MAX_JUDGED_POSITIONS,
                    threads=self.threads, held_apart=apart is not None, word_counts=self._counted.word_counts,
                )  # fmt: skip
            if known is None:
                known = Evidence.of(counts, sample, numbers)
            else:
                known.add(counts, sample, numbers)
        assert known is not None
        return known

    @cached_property
    def _at_once(self) -> int:
        """How many patterns are counted at a time, beside those that are always counted."""
        pattern_bytes = _BYTES_PER_GRAM * min(self.text.positions, MAX_COUNTED_POSITIONS)
        if self.memory is None:
            return MOST_AT_ONCE
        self.memory.check(pattern_bytes * (2 * self.order + 1), "choosing patterns", "name the patterns (--lattice)")
        return min(MOST_AT_ONCE, max(1, self.memory.left() // pattern_bytes - 2 * self.order))


def choose_lattice(
    text: TextToChooseOn, budget: int, *, folder: WorkFolder | None = None, progress: bool = False
) -> tuple[Lattice, ChosenClasses]:
    """The lattice that pays, with at most so many stored patterns, and the clusterings that it uses.

    folder: where the choice is kept for a run that goes on, and taken from.
    """
    kept = folder.done(_STAGE) if folder is not None else None
    if kept is not None:
        return Lattice.from_text(kept[0], text.order), text.with_clusterings(kept[1])
    n_clusterings = len(text.clusterings.classes)
    choice = PatternChoice(text.evidence, text.order, n_clusterings, budget, threads=text.threads)
    with progress_bar("choosing patterns", total=budget, unit="pattern", progress=progress) as advance:
        advance(choice.tables())
        while choice.tables() < budget:
            before = choice.tables()
            if not choice.grow():
                break
            advance(choice.tables() - before)
    lattice, numbers = choice.lattice
    if folder is not None:
        folder.note(_STAGE, [str(lattice), list(numbers)])
    return lattice, text.with_clusterings(numbers)
