"""P_S(w | context), literally (DESIGN, section 3).

    >>> counts = ReferenceCounts([["a", "b"], ["a", "c"], ["b", "a"]], Lattice.full(3))
    >>> model = ReferenceModel(counts)
    >>> round(sum(model.probability(word, ["<s>", "a"]) for word in counts.vocabulary), 12)
    1.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.reference.counts import ReferenceCounts, keep
from gapgram.reference.discounts import discounts

# The weight of the smaller pattern below a pattern, for the words before the prediction; only the ratios
# between the patterns below the same pattern matter.
EdgeWeight = Callable[[Pattern, Pattern, Sequence[str]], float]


class ReferenceModel:
    """MKN on the chain, GLM on the full lattice; equal weights unless others are given."""

    def __init__(
        self,
        counts: ReferenceCounts,
        edge_weight: EdgeWeight = lambda pattern, below, before: 1.0,
        mixture: Callable[[Pattern, Sequence[str]], float] | None = None,
    ) -> None:
        self.counts = counts
        self.lattice: Lattice = counts.lattice
        self.edge_weight = edge_weight
        self.mixture = mixture
        self.discounts = {p: discounts(*counts.counts_of_counts(p)) for p in self.lattice.patterns}

    def probability(self, word: str, before: Sequence[str]) -> float:
        """P(word | the words before it, oldest first)."""
        before = list(before)[max(0, len(before) - self.lattice.order + 1) :]
        if self.mixture is None:
            return self._average(list(self.lattice.starts(len(before))), word, before, lambda p: 1.0)
        weight = self.mixture
        known = [p for p in self.lattice.patterns if p.reach <= len(before)]
        return self._average(known, word, before, lambda p: weight(p, before))

    def probability_under(self, pattern: Pattern, word: str, before: Sequence[str]) -> float:
        """P_S(word | context): the discounted count plus what the smaller patterns say."""
        context = keep(pattern, before)
        total = self.counts.total(pattern, context)
        if not total:
            return self._below(pattern, word, before)
        count = self.counts.counts[pattern].get((context, word), 0)
        first = max(count - self.discount(pattern, count), 0) / total
        return first + self.backoff(pattern, before) * self._below(pattern, word, before)

    def backoff(self, pattern: Pattern, before: Sequence[str]) -> float:
        """g_S(context): the probability that discounting has freed; 1 for a context never seen."""
        context = keep(pattern, before)
        total = self.counts.total(pattern, context)
        if not total:
            return 1.0
        types = self.counts.types(pattern, context)
        return sum(d * n for d, n in zip(self.discounts[pattern], types, strict=True)) / total

    def discount(self, pattern: Pattern, count: int) -> float:
        return 0.0 if count == 0 else self.discounts[pattern][min(count, 3) - 1]

    def _below(self, pattern: Pattern, word: str, before: Sequence[str]) -> float:
        if not pattern.mask:
            return 1 / len(self.counts.vocabulary)
        below = list(self.lattice.below(pattern))
        return self._average(below, word, before, lambda q: self.edge_weight(pattern, q, before))

    def _average(
        self, patterns: list[Pattern], word: str, before: Sequence[str], weight: Callable[[Pattern], float]
    ) -> float:
        weights = [weight(p) for p in patterns]
        terms = (w * self.probability_under(p, word, before) for w, p in zip(weights, patterns, strict=True))
        return sum(terms) / sum(weights)
