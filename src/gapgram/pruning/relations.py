"""How the grams of one pattern belong to those of another, and how often grams occur in the text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from gapgram.kernels import pruning as kernels
from gapgram.pattern import Pattern
from gapgram.pruning.tables import Integers, Unpacked

Numbers = npt.NDArray[np.int64]


class Relations:
    """Numbers of grams within grams.

    A gram of a pattern holds one gram of every smaller pattern: the same words, fewer of them.
    """

    def __init__(self, tables: Mapping[Pattern, Unpacked]) -> None:
        self.tables = tables

    def parts(self, whole: Pattern, part: Pattern) -> Numbers:
        """For each gram of `whole` the number of the gram of `part`, which keeps fewer offsets; -1 if it is gone."""
        table = self.tables[whole]
        if whole == part:
            return np.arange(len(table))
        if not part.mask:
            return table.words.astype(np.int64)
        contexts = self.part_contexts(whole, part)
        found: Numbers = kernels.find_grams(contexts, table.keys, self.tables[part].begins, self.tables[part].keys)
        return found

    def part_contexts(self, whole: Pattern, part: Pattern) -> Numbers:
        """For each gram of `whole` the number of its context under `part`; -1 if it is gone."""
        numbers, above = self.tables[whole].contexts.astype(np.int64), whole.tail
        passed = whole.nearest
        while passed < part.nearest:  # words that `part` skips
            numbers = self.tables[above].contexts[numbers].astype(np.int64)
            passed += above.nearest
            above = above.tail
        return self.parts(above, part.tail)[numbers]

    def occurrences(self) -> dict[Pattern, Integers]:
        """How often each gram occurs in the text; after pruning, how often at least.

        A count is a number of different words to the left or fillings of gaps, and each of them is a longer
        or fuller gram: what that one occurs more than once is added.
        """
        out = {pattern: table.place.keep(table.counts.copy()) for pattern, table in self.tables.items()}
        for classes in {pattern.classes for pattern in self.tables}:
            patterns = [p for p in self.tables if p.classes == classes]
            for reach in range(max(p.reach for p in patterns), -1, -1):
                chain = Pattern.contiguous(reach, classes)
                longer = Pattern.contiguous(reach + 1, classes)
                if longer in out:
                    kernels.add_occurrences(self._suffixes(longer), out[longer], out[chain])
                for pattern in patterns:
                    if pattern.reach == reach and pattern != chain:
                        kernels.add_occurrences(self.parts(chain, pattern), out[chain], out[pattern])
                        self.tables[pattern].place.give_back()
        return out

    def _suffixes(self, pattern: Pattern) -> Numbers:
        return self.parts(pattern, pattern.without(pattern.reach))
