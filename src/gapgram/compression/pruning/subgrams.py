"""How the grams of one pattern belong to those of another, and how often grams occur in the text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from gapgram.arrays import Integers
from gapgram.compression.pruning.tables import Unpacked
from gapgram.kernels.pruning import tables as kernels
from gapgram.kernels.tables.arrays import COUNT_BITS, COUNT_MASK
from gapgram.pattern import Pattern


class Relations:
    """Numbers of grams within grams.

    A gram of a pattern holds one gram of every smaller pattern: the same words, fewer of them.
    """

    def __init__(self, tables: Mapping[Pattern, Unpacked]) -> None:
        self.tables = tables

    def subgrams(self, whole: Pattern, inner: Pattern, begin: int, end: int) -> Integers:
        """For some grams of `whole` the numbers of the grams of `inner`, which keeps fewer offsets; -1 for one gone."""
        table = self.tables[whole]
        if whole == inner:
            return np.arange(begin, end)
        if not inner.mask:
            return table.grams(begin, end) >> COUNT_BITS
        contexts, smaller = self.subgram_contexts(whole, inner, begin, end), self.tables[inner]
        numbers: Integers = kernels.find_grams(contexts, table.keys[begin:end], smaller.begins, smaller.keys)
        return numbers

    def subgram_contexts(self, whole: Pattern, inner: Pattern, begin: int, end: int) -> Integers:
        """For some grams of `whole` the numbers of their contexts under `inner`; -1 for one gone."""
        numbers, above = self.tables[whole].contexts[begin:end].astype(np.int64), whole.tail
        passed = whole.nearest
        while passed < inner.nearest:  # words that `inner` skips
            numbers = self.tables[above].contexts[numbers].astype(np.int64)
            passed += above.nearest
            above = above.tail
        first, last = (int(numbers[0]), int(numbers[-1]) + 1) if numbers.size else (0, 0)  # the order stays
        return self.subgrams(above, inner.tail, first, last)[numbers - first]

    def occurrences(self) -> dict[Pattern, Integers]:
        """How often each gram occurs in the text; after pruning, how often at least.

        A count is a number of different words to the left or fillings of gaps, and each of them is a longer
        or fuller gram: what that one occurs more than once is added.
        """
        out = {p: t.each_gram("occurrences", np.int64, partial(_counts, t)) for p, t in self.tables.items()}
        for classes in {pattern.classes for pattern in self.tables}:
            patterns = [p for p in self.tables if p.classes == classes]
            for reach in range(max(p.reach for p in patterns), -1, -1):
                chain = Pattern.contiguous(reach, classes)
                longer = Pattern.contiguous(reach + 1, classes)
                if longer in out:
                    self._add(longer, longer.without(longer.reach), out)
                for pattern in patterns:
                    if pattern.reach == reach and pattern != chain:
                        self._add(chain, pattern, out)
        return out

    def _add(self, whole: Pattern, inner: Pattern, occurrences: Mapping[Pattern, Integers]) -> None:
        """Add what the grams of `whole` occur more often than once to those of `inner` that they hold."""
        for begin, end in self.tables[whole].store.spans(len(self.tables[whole])):
            numbers = self.subgrams(whole, inner, begin, end)
            kernels.add_occurrences(numbers, occurrences[whole][begin:end], occurrences[inner])


def _counts(table: Unpacked, begin: int, end: int) -> Integers:
    return table.grams(begin, end) & COUNT_MASK
