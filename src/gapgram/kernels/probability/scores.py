"""Probabilities to scores: log10, finite whatever the tables say that they come from, and the sum of each sequence.

Large tables are not looked at when a file is opened and can hold anything; numbers that cannot be right end here.
"""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.compiled import kernel

LEAST = 2.2250738585072014e-308  # the smallest number that has all its digits, in the place of zero and below
_LEAST_LOG10 = math.log10(LEAST)


@kernel
def possible(probability):
    """The probability, or the nearest to it from 0 to 1; 0 for what is no number."""
    if probability > 1.0:
        return 1.0
    return probability if probability >= 0.0 else 0.0  # of NaN neither is true


@kernel
def log10_of(probability):
    """log10 of a probability; finite, whatever it is."""
    if probability > 1.0:
        return 0.0
    return math.log10(probability) if probability >= LEAST else _LEAST_LOG10


@kernel
def finite_log10(value):
    """A score as the figures of a file give it, above 0 too where its backoffs do; finite."""
    if value > -_LEAST_LOG10:
        return -_LEAST_LOG10
    return value if value >= _LEAST_LOG10 else _LEAST_LOG10


@kernel
def make_possible(probabilities):
    """Replace those of an array that are none."""
    for i in range(probabilities.size):
        probabilities[i] = possible(probabilities[i])


@kernel
def sum_sequences(values, begins):
    """The sum of the values of each sequence, first to last."""
    sums = np.zeros(begins.size - 1)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            sums[s] += values[t]
    return sums


@kernel
def mix(log10_probs, weights):
    """log10 of the weighted sum of the probabilities of [model, position]; each position for itself."""
    out = np.empty(log10_probs.shape[1])
    for t in range(out.size):
        total = 0.0
        for m in range(weights.size):
            total += weights[m] * 10.0 ** log10_probs[m, t]
        out[t] = math.log10(total)
    return out
