"""A pruned model, literally: grams that went leave their counts to what is below.

    >>> counts = ReferenceCounts([["a", "b"], ["a", "c"], ["a", "b"]], Lattice.chain(2))
    >>> pruned = PrunedCounts(counts, lambda pattern, context, word: word != "c")
    >>> pruned.total(Pattern.of(1), ("a",)), pruned.missing(Pattern.of(1), ("a",))
    (3, 1)
    >>> model = PrunedModel(pruned, ReferenceModel(counts).discounts)
    >>> round(sum(model.probability(word, ["a"]) for word in counts.vocabulary), 12)
    1.0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.reference.counts import Context, ReferenceCounts, keep, occurrences
from gapgram.reference.model import ReferenceModel

Stays = Callable[[Pattern, Context, str], bool]


def frequencies(sentences: Iterable[Sequence[str]], lattice: Lattice) -> dict[Pattern, Counter[tuple[Context, str]]]:
    """How often each gram of each pattern occurs, whatever its count is."""
    text = list(sentences)
    return {p: Counter(gram for gram, _ in occurrences(text, p)) for p in lattice.patterns}


class PrunedCounts(ReferenceCounts):
    """Counts without the grams that do not stay; a gram stays also where it is the context of one that does."""

    def __init__(self, whole: ReferenceCounts, stays: Stays) -> None:
        self.__dict__.update(whole.__dict__)
        self.whole = whole
        self.following = {pattern: {} for pattern in whole.following}
        # A tail has a smaller mask, so that all that need a gram as a context have been decided before it is.
        needed: set[tuple[Pattern, Context]] = set()
        for pattern in sorted(whole.following, key=lambda p: -p.mask):
            for context, words in whole.following[pattern].items():
                for word, count in words.items():
                    if not pattern.mask or stays(pattern, context, word) or (pattern, (*context, word)) in needed:
                        self.following[pattern].setdefault(context, {})[word] = count
                        needed.add((pattern.tail, context))
        self.counts = {
            pattern: {(context, word): n for context, words in table.items() for word, n in words.items()}
            for pattern, table in self.following.items()
        }

    def total(self, pattern: Pattern, context: Context) -> int:
        """What the context counted before pruning; 0 where the context itself went."""
        if pattern.mask and not self._is_there(pattern.tail, context):
            return 0
        return self.whole.total(pattern, context)

    def missing(self, pattern: Pattern, context: Context) -> int:
        """How much of the total belongs to grams that went."""
        return self.total(pattern, context) - sum(self.following[pattern].get(context, {}).values())

    def _is_there(self, tail: Pattern, gram: Context) -> bool:
        return gram == ("<s>",) or (gram[:-1], gram[-1]) in self.counts[tail]


class PrunedModel(ReferenceModel):
    """A model of pruned counts with the discounts of the whole."""

    def __init__(self, counts: PrunedCounts, discounts: dict[Pattern, tuple[float, float, float]]) -> None:
        super().__init__(counts)
        self.pruned, self.discounts = counts, discounts

    def backoff(self, pattern: Pattern, before: Sequence[str]) -> float:
        """g_S(context): what discounting has freed and what is missing; 1 for a context never seen."""
        context = keep(pattern, before)
        total = self.counts.total(pattern, context)
        if not total:
            return 1.0
        return super().backoff(pattern, before) + self.pruned.missing(pattern, context) / total
