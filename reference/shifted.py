"""Odds of falling back that are not quite the usual ones: docs/ideas/mathematics.md, equations (14), (15) and (24)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gapgram.pattern import Pattern
from reference.counts import ReferenceCounts
from reference.model import ReferenceModel


class ShiftedModel(ReferenceModel):
    """A model that falls back with odds e^c times as large as the usual; c depends on the context alone."""

    def __init__(self, counts: ReferenceCounts) -> None:
        super().__init__(counts)
        self.usual_discounts = self.discounts  # those from counts of counts, also where others are fitted

    def shift(self, pattern: Pattern, before: Sequence[str]) -> float:
        """c, what is added to the log-odds of falling back."""
        raise NotImplementedError

    def probability_under(self, pattern: Pattern, word: str, before: Sequence[str]) -> float:
        """P_S(word | context); equation (8) where c is 0. A pattern of classes predicts the word by its class."""
        context = self.counts.context(pattern, before)
        total = self.counts.total(pattern, context)
        if not total:
            return self.below(pattern, word, before)
        count = self.counts.count(pattern, context, word)
        kept = max(count - self.discount(pattern, count), 0)
        if pattern.classes:
            kept *= self.counts.given_class(pattern.classes, word)
        taken = self.taken(pattern, context)
        falls = math.exp(self.shift(pattern, before)) * taken
        return (kept + falls * self.below(pattern, word, before)) / (total - taken + falls)

    def backoff_before_pruning(self, pattern: Pattern, before: Sequence[str]) -> float:
        """g of equation (9) as it was, about, before any gram was pruned; 1 for a context never seen."""
        context = self.counts.context(pattern, before)
        total = self.counts.total(pattern, context)
        if not total:
            return 1.0
        types = self.counts.types_before_pruning(pattern, context)
        return sum(d * n for d, n in zip(self.usual_discounts[pattern], types, strict=True)) / total
