"""Counts to the numbers a model is queried with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.counts import Counts
from gapgram.discounts import Discounts
from gapgram.kernels.lookup import BACKOFF, GATE, PULL, TOTAL
from gapgram.weights import Weights

Floats = npt.NDArray[np.float64]


def row_values(counts: Counts, discounts: Discounts, weights: Weights) -> Floats:
    """[row, 4]: total, g, gate and pull of a context with the statistics of the row."""
    values = np.empty((len(counts.tables.rows), 4))
    values[:, TOTAL] = np.maximum(counts.tables.rows[:, 0], 1)
    values[:, BACKOFF] = backoffs(counts, discounts)
    values[:, GATE] = weights.gates
    values[:, PULL] = weights.pulls
    return values


def backoffs(counts: Counts, discounts: Discounts) -> Floats:
    """g of each row: (D1 N1 + D2 N2 + D3+ N3+) / total; 1 for the context never seen."""
    tables = counts.tables
    g = np.ones(len(tables.rows))
    for p, (first, last) in enumerate(zip(tables.row_base, tables.row_base[1:], strict=False)):
        rows = tables.rows[first:last]
        seen = rows[:, 0] > 0
        g[first:last][seen] = (rows[seen, 1:] @ discounts.values[p]) / rows[seen, 0]
    return g


def pattern_arrays(counts: Counts) -> dict[str, npt.NDArray[Any]]:
    """For each stored pattern: the number of its tail, its nearest and its farthest offset."""
    number = {pattern: i for i, pattern in enumerate(counts.patterns)}
    return {
        "tails": np.array([number[p.tail] for p in counts.patterns], np.int64),
        "nearest": np.array([p.nearest for p in counts.patterns], np.int64),
        "reaches": np.array([p.reach for p in counts.patterns], np.int64),
    }


def discount_table(discounts: Discounts) -> Floats:
    """[pattern, 4]: what is taken from a count of 0, 1, 2, 3 or more."""
    return np.hstack([np.zeros((len(discounts.values), 1)), discounts.values])
