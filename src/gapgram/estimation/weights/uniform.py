"""Equal weights."""

from __future__ import annotations

import numpy as np

from gapgram.counts.counts import Counts
from gapgram.estimation.weights.fallback_graph import NO_GATE, NO_LIFT, Weights, recursive


def uniform(counts: Counts) -> Weights:
    """1/|S| for each pattern below S. On a chain there is one, and the model is modified Kneser-Ney."""
    return Weights("uniform", recursive(counts.lattice), np.ones(len(counts.tables.rows)), NO_GATE, NO_LIFT, {})
