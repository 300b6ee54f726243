"""One word after a few others, as decoders ask for it: nothing is prepared for more than that."""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.jit import kernel
from gapgram.kernels.lookup import chain_values, chance_of, locate_few, only_chains


@kernel
def score_last(ids, order, uniform, model):
    """log10 of the probability of the last of some words; the number `score_positions` has for it."""
    n_patterns = model.discounts.shape[0]
    entries = np.full((n_patterns, ids.size), -1, np.int64)
    counts = np.zeros((n_patterns, ids.size), np.int64)
    rows = np.zeros((n_patterns, ids.size), np.int64)
    locate_few(ids, order, entries, counts, rows, model.tables)
    last, chains = ids.size - 1, only_chains(model.edge_base)
    values = np.empty((n_patterns, 1))
    if chains:
        chain_values(ids, last, 1, last, counts, rows, uniform, model, values)
    return math.log10(
        chance_of(
            ids, last, 0, last, min(last, order - 1), counts, rows, uniform, model, chains, values,
            np.empty(n_patterns), np.empty(n_patterns),
        )
    )  # fmt: skip
