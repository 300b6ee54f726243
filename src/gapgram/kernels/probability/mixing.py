"""Probabilities of several models added up, each position for itself: the same bits however many there are."""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.compiled import kernel


@kernel
def mix(log10_probs, weights):
    """log10 of the weighted sum of the probabilities of [model, position]."""
    out = np.empty(log10_probs.shape[1])
    for t in range(out.size):
        total = 0.0
        for m in range(weights.size):
            total += weights[m] * 10.0 ** log10_probs[m, t]
        out[t] = math.log10(total)
    return out
