"""Learned weights, with or without word classes: docs/ideas/mathematics.md, equations (15) to (20), (24) and (25).

All patterns are mixed; each falls back along its own chain. What was fitted is given, everything else is worked out.

    >>> from collections import defaultdict
    >>> from gapgram.lattice import Lattice
    >>> lattice = Lattice.full(2).with_classes("chain")
    >>> class_of = {"a": "L", "b": "L", "x": "R", "y": "R"}
    >>> counts = ReferenceCounts([["a", "x"], ["b", "x"], ["a", "y"]], lattice, [class_of])
    >>> nothing = dict.fromkeys(lattice.patterns, 0.0)
    >>> fitted = Fitted(
    ...     discounts=dict.fromkeys(lattice.patterns, (0.5, 1.0, 1.5)),
    ...     shifts=defaultdict(lambda: -0.7),
    ...     gate=defaultdict(lambda: nothing),
    ... )
    >>> model = LearnedModel(counts, fitted)
    >>> round(sum(model.probability(word, ["b"]) for word in counts.vocabulary), 12)
    1.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gapgram.pattern import Pattern
from reference.counts import ReferenceCounts
from reference.gate import (
    ContextKnown,
    Feature,
    Fitted,
    WordAt,
    WordsAvailable,
    context_bucket,
    word_bucket,
)
from reference.shifted import ShiftedModel

# The prior of a pattern whose context was seen: a logit, by what the pattern is and by how well it knows the context.
SEEN, EACH_WORD, REACH, NEXT_WORD, OF_CLASSES = 1.55, 2.1, -0.45, 1.6, -2.0
BY_G, BY_LOG = -1.65, 0.85
LEAST_KEPT = 0.02


class LearnedModel(ShiftedModel):
    """P(w) = Σ over S of weight_S(context) · P_S(w)."""

    def __init__(self, counts: ReferenceCounts, fitted: Fitted) -> None:
        super().__init__(counts)
        self.fitted = fitted
        self.discounts = dict(fitted.discounts)

    def probability(self, word: str, before: Sequence[str]) -> float:
        """P(word | the words before it, oldest first). Equation (16)."""
        before = list(before)[max(0, len(before) - self.lattice.order + 1) :]
        return self.average(None, self.patterns_for(before), word, before)

    def patterns_for(self, before: Sequence[str]) -> list[Pattern]:
        """The patterns that so many words allow."""
        return [pattern for pattern in self.lattice.patterns if pattern.reach <= len(before)]

    def below(self, pattern: Pattern, word: str, before: Sequence[str]) -> float:
        """What is below a pattern: its own chain, the farthest word first; below classes, the words."""
        if pattern == Pattern.of():
            return 1 / len(self.counts.vocabulary)
        return self.probability_under(self.lattice.below(pattern)[0], word, before)

    def weight(self, above: Pattern | None, pattern: Pattern, before: Sequence[str]) -> float:
        """The weight of a pattern in the mixture. Equation (17)."""
        gate = sum(self.fitted.gate[feature][pattern] for feature in self.features(before))
        return math.exp(self.log_prior(pattern, before) + gate)

    def log_prior(self, pattern: Pattern, before: Sequence[str]) -> float:
        """The logit that fitting starts from; 0 for a context never seen. Equation (18)."""
        if not self.counts.total(pattern, self.counts.context(pattern, before)):
            return 0.0
        g = self.backoff_before_pruning(pattern, before)
        what_it_is = SEEN + EACH_WORD * len(pattern) + REACH * pattern.reach + NEXT_WORD * (1 in pattern)
        return what_it_is + OF_CLASSES * bool(pattern.classes) + BY_G * g + BY_LOG * math.log(max(1 - g, LEAST_KEPT))

    def features(self, before: Sequence[str]) -> list[Feature]:
        """What the gate looks at."""
        known = [self.known(pattern, before) for pattern in self.patterns_for(before)]
        nearest = [WordAt(k, word_bucket(self.counts.ranks[before[-k]])) for k in range(1, len(before) + 1)]
        return [*known, WordsAvailable(len(before)), *nearest]

    def known(self, pattern: Pattern, before: Sequence[str]) -> ContextKnown:
        """How well the context of a pattern is known."""
        context = self.counts.context(pattern, before)
        types = self.counts.types_before_pruning(pattern, context)
        return ContextKnown(pattern, context_bucket(self.counts.total(pattern, context), types))

    def shift(self, pattern: Pattern, before: Sequence[str]) -> float:
        """What was fitted for contexts that are known as well."""
        return self.fitted.shifts[self.known(pattern, before)]
