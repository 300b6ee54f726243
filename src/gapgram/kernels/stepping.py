"""One word after a few others, as decoders ask for it: nothing is prepared for more than that."""

from __future__ import annotations

import math

from gapgram.kernels.jit import kernel
from gapgram.kernels.lookup import locate_one, probability


@kernel
def score_last(ids, order, uniform, model):
    """log10 of the probability of the last of some words; the number `score_positions` has for it."""
    _, counts, rows, shares, rest = locate_one(ids, order, model)
    return math.log10(probability(counts, rows, ids.size - 1, model, shares, rest * uniform))
