"""P_S(w | context), literally: docs/ideas/mathematics.md, equations (8) to (12).

    >>> counts = ReferenceCounts([["a", "b"], ["a", "c"], ["b", "a"]], Lattice.full(3))
    >>> model = ReferenceModel(counts)
    >>> round(sum(model.probability(word, ["<s>", "a"]) for word in counts.vocabulary), 12)
    1.0
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from reference.counts import Context, ReferenceCounts


class ReferenceModel:
    """MKN on the chain, GLM with equal weights on the full lattice."""

    def __init__(self, counts: ReferenceCounts) -> None:
        self.counts = counts
        self.lattice: Lattice = counts.lattice
        self.discounts = {p: discounts(*counts.counts_of_counts(p)) for p in self.lattice.patterns}

    def probability(self, word: str, before: Sequence[str]) -> float:
        """P(word | the words before it, oldest first). Equation (11)."""
        before = list(before)[max(0, len(before) - self.lattice.order + 1) :]
        return self.average(None, self.lattice.starts(len(before)), word, before)

    def probability_under(self, pattern: Pattern, word: str, before: Sequence[str]) -> float:
        """P_S(word | context): the discounted count plus what the smaller patterns say. Equation (8)."""
        context = self.counts.context(pattern, before)
        total = self.counts.total(pattern, context)
        if not total:
            return self.below(pattern, word, before)
        count = self.counts.count(pattern, context, word)
        first = max(count - self.discount(pattern, count), 0) / total
        return first + self.taken(pattern, context) / total * self.below(pattern, word, before)

    def discount(self, pattern: Pattern, count: int) -> float:
        """What is taken from a count."""
        return 0.0 if count == 0 else self.discounts[pattern][min(count, 3) - 1]

    def taken(self, pattern: Pattern, context: Context) -> float:
        """The part of a context's total that falls back: what discounts take, and what was pruned. (9), (29)."""
        types = self.counts.types(pattern, context)
        discounted = sum(d * n for d, n in zip(self.discounts[pattern], types, strict=True))
        return discounted + self.counts.missing(pattern, context)

    def below(self, pattern: Pattern, word: str, before: Sequence[str]) -> float:
        """What the patterns below say; below the empty one, all words of the vocabulary are alike. Equation (10)."""
        if pattern == Pattern.of():
            return 1 / len(self.counts.vocabulary)
        return self.average(pattern, self.lattice.below(pattern), word, before)

    def average(
        self, above: Pattern | None, patterns: Sequence[Pattern], word: str, before: Sequence[str]
    ) -> float:
        """The mean of what patterns say, each by its weight."""
        weights = [self.weight(above, pattern, before) for pattern in patterns]
        values = [self.probability_under(pattern, word, before) for pattern in patterns]
        return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)

    def weight(self, above: Pattern | None, pattern: Pattern, before: Sequence[str]) -> float:
        """The weight of a pattern among those below `above`, or among those that a prediction starts from (None).

        Only the ratios matter. Equal weights: equation (12).
        """
        return 1.0


FALLBACK = (0.5, 1.0, 1.5)


def discounts(n1: int, n2: int, n3: int, n4: int) -> tuple[float, float, float]:
    """D1, D2, D3+ from counts of counts; the fallback where they are undefined or out of range.

    >>> [round(d, 4) for d in discounts(16662, 3272, 1395, 859)]
    [0.718, 1.0816, 1.2315]
    >>> discounts(3, 0, 0, 0)
    (0.5, 1.0, 1.5)
    >>> discounts(4, 1, 1, 0)
    (0.5, 1.0, 1.5)
    """
    if 0 in (n1, n2, n3):
        return FALLBACK
    y = Fraction(n1, n1 + 2 * n2)  # exactly, so that zero is zero
    d = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    return (float(d[0]), float(d[1]), float(d[2])) if all(0 < dk <= k for k, dk in enumerate(d, 1)) else FALLBACK
