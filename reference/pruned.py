"""Pruned counts, literally: grams that went leave their counts to what is below. docs/ideas/mathematics.md, (29).

    >>> from gapgram.lattice import Lattice
    >>> from reference.model import ReferenceModel
    >>> counts = ReferenceCounts([["a", "b"], ["a", "c"], ["a", "b"]], Lattice.chain(2))
    >>> pruned = PrunedCounts(counts, lambda pattern, context, word: word != "c")
    >>> pruned.total(Pattern.of(1), ("a",)), pruned.missing(Pattern.of(1), ("a",))
    (3, 1)
    >>> model = ReferenceModel(pruned)
    >>> round(sum(model.probability(word, ["a"]) for word in counts.vocabulary), 12)
    1.0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from gapgram.pattern import Pattern
from reference.counts import START, Context, Gram, ReferenceCounts

Stays = Callable[[Pattern, Context, str], bool]


def frequencies(counts: ReferenceCounts) -> dict[Pattern, Counter[Gram]]:
    """How often each gram of each pattern occurs, whatever its count is."""
    return {
        pattern: Counter(counts.gram(pattern, p) for p in counts.predictions() if pattern.reach <= len(p.before))
        for pattern in counts.lattice.stored
    }


def seen_more_often(counts: ReferenceCounts, thresholds: Sequence[int]) -> Stays:
    """Pruning by count: grams of 1, 2, … words stay if they occur more often than this; the last is for all longer."""
    occurring = frequencies(counts)

    def stays(pattern: Pattern, context: Context, word: str) -> bool:
        return occurring[pattern][context, word] > thresholds[min(len(pattern), len(thresholds) - 1)]

    return stays


class PrunedCounts(ReferenceCounts):
    """Counts without the grams that do not stay; a gram stays also where it is the context of one that does."""

    def __init__(self, whole: ReferenceCounts, stays: Stays) -> None:
        super().__init__(whole.sentences, whole.lattice, whole.class_of)
        self.whole = whole
        needed: set[tuple[Pattern, Context]] = set()
        # A tail has a smaller mask, so that all that need a gram as a context have been decided before it is.
        for pattern in sorted(self.counts, key=lambda p: -p.mask):
            for context, word in list(self.counts[pattern]):
                if pattern.mask and not stays(pattern, context, word) and (pattern, (*context, word)) not in needed:
                    del self.counts[pattern][context, word], self.following[pattern][context][word]
                else:
                    needed.add((pattern.tail, context))

    def total(self, pattern: Pattern, context: Context) -> int:
        """What the context counted before pruning; 0 where the context itself went."""
        return self.whole.total(pattern, context) if self._is_there(pattern.tail, context) else 0

    def missing(self, pattern: Pattern, context: Context) -> int:
        """How much of the total belongs to grams that went."""
        return self.total(pattern, context) - super().total(pattern, context)

    def counts_of_counts(self, pattern: Pattern) -> tuple[int, int, int, int]:
        """Those of the whole: discounts stay what they were."""
        return self.whole.counts_of_counts(pattern)

    def _is_there(self, tail: Pattern, gram: Context) -> bool:
        return gram in ((), (START,)) or (gram[:-1], gram[-1]) in self.counts[tail]
