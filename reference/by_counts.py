"""Weights by counts: docs/ideas/mathematics.md, equations (13) and (14).

    >>> from gapgram.lattice import Lattice
    >>> from reference.counts import ReferenceCounts
    >>> counts = ReferenceCounts([["a", "b"], ["a", "c"], ["b", "a"]], Lattice.full(3))
    >>> model = CountsModel(counts)
    >>> round(sum(model.probability(word, ["<s>", "a"]) for word in counts.vocabulary), 12)
    1.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gapgram.pattern import Pattern
from reference.shifted import ShiftedModel

KNOWN = 3.4  # how much a context that never falls back is preferred to one that always does
ODDS = 0.6  # of falling back, relative to the usual


class CountsModel(ShiftedModel):
    """Down the lattice; far words go first, and contexts that know what follows them are preferred."""

    def weight(self, above: Pattern | None, pattern: Pattern, before: Sequence[str]) -> float:
        """j² exp(3.4 (1 - g)), j being the farthest offset that is dropped."""
        known = math.exp(KNOWN * (1 - self.backoff_before_pruning(pattern, before)))
        if above is None:
            return known
        dropped = max(offset for offset in above.offsets if offset not in pattern)
        return dropped**2 * known

    def shift(self, pattern: Pattern, before: Sequence[str]) -> float:
        """The same for all patterns but the empty one."""
        return math.log(ODDS) if len(pattern) else 0.0
