"""The weights of contexts of other counts than those that weights were made for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.weights.by_counts import known_contexts, mixture_logits
from gapgram.estimation.weights.fallback_graph import Weights


def with_rows_of(counts: Counts, discounts: Discounts, weights: Weights) -> Weights:
    """The same weights for the contexts of pruned counts; what is missing of a context changes it little."""
    if weights.name == "learned":
        rows = np.exp(mixture_logits(counts, discounts.usual))
    elif weights.name == "counts":
        rows = known_contexts(counts, discounts)
    else:
        rows = np.ones(len(counts.tables.rows))
    return replace(weights, row_weights=rows)
