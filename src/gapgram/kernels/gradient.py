"""The gradient of -ln P over positions of a text.

What is fitted says `kernels.fitting`; equations (16) to (25) of docs/ideas/mathematics.md. Every position is worked out
by itself, how -ln P changes with the logits, the odds of falling back and the discounts of its patterns. What is a
pattern's own is added up at once, over a *piece* of a few positions. The slopes of the logits, of which there are many
more, are kept, and added up later by columns of the features: the rows of the gate table that a feature of one kind can
be belong to its column alone. `kernels.descent` has the threads that do so.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapgram.kernels.fitting import COUNT, N1, N2, N3, TOTAL
from gapgram.kernels.gate import BUCKETS
from gapgram.kernels.jit import apart, inlined, kernel, training_kernel

MAX_DISCOUNTS = np.array([1.0, 2.0, 3.0])  # D1, D2, D3+ stay between 0 and these


class SamplePositions(NamedTuple):
    """SamplePositions that are fitted to: `kernels.fitting` says what each array holds."""

    statistics: Any
    features: Any
    given: Any
    log_prior: Any


class FixedNumbers(NamedTuple):
    """What is not fitted: the probability below all patterns, where each falls back, and its clustering."""

    uniform: Any
    down: Any
    clusterings: Any


class FittedNumbers(NamedTuple):
    """What is fitted, all of it in `flat`, and what follows from it: e to the power of the shifts, and discounts."""

    flat: Any
    table: Any
    shift: Any
    odds: Any
    lifted_by: Any
    discounts: Any


class Slopes(NamedTuple):
    """How -ln P of some positions changes.

    logits: float64 [position, pattern]. rows: int32 [column, position], the rows of the gate table that they are of.
    shift, discounts: float64 [piece, pattern, bucket] and [piece, pattern, 3], added up over each piece.
    """

    logits: Any
    rows: Any
    shift: Any
    discounts: Any


class Sums(NamedTuple):
    """Slopes added up: flat, as the parameters are, and views of that."""

    flat: Any
    table: Any
    shift: Any
    odds: Any


@kernel
def _weigh(features, log_prior, table, logit, weight):
    """Fill `weight` with the weights of the patterns in the mixture at one position; 0 where it has none.

    Equation (17) of docs/ideas/mathematics.md.
    """
    n_patterns = weight.size
    for p in range(n_patterns):
        logit[p] = log_prior[p]
    for f in range(features.size):
        if features[f] >= 0:
            row = table[features[f]]
            for p in range(n_patterns):
                logit[p] += row[p]
    largest = -np.inf
    for p in range(n_patterns):
        if features[p] >= 0:
            largest = max(largest, logit[p])
    total = 0.0
    for p in range(n_patterns):
        weight[p] = 0.0
        if features[p] >= 0:
            weight[p] = math.exp(logit[p] - largest)
            total += weight[p]
    for p in range(n_patterns):
        weight[p] /= total


@apart
def slopes_of(positions, fixed, fitted, begin, end, first, piece, slopes):
    """Sum of -ln P over the positions of a piece, begin … end-1; their slopes are written from place begin - first on.

    The first sum of equation (21) of docs/ideas/mathematics.md, P by (16), (17) and (24).
    """
    statistics, features, given = positions.statistics, positions.features, positions.given
    discounts, lifted_by, down, clusterings = fitted.discounts, fitted.lifted_by, fixed.down, fixed.clusterings
    by_shift, by_discount = slopes.shift[piece], slopes.discounts[piece]
    by_shift[:] = 0.0
    by_discount[:] = 0.0
    n_patterns = down.size
    logit = np.empty(n_patterns)
    weight = np.empty(n_patterns)
    kept = np.empty(n_patterns)
    g = np.empty(n_patterns)
    gamma = np.empty(n_patterns)
    value = np.empty(n_patterns)
    reached = np.empty(n_patterns)
    loss = 0.0
    for t in range(begin, end):
        _weigh(features[t], positions.log_prior[t], fitted.table, logit, weight)
        # The value of each pattern from that of the one it falls back on, and their mixture.
        probability = 0.0
        for p in range(n_patterns):
            if features[t, p] < 0:
                continue
            below = fixed.uniform if p == 0 else value[down[p]]
            total = statistics[t, p, TOTAL]
            kept[p] = 0.0
            g[p] = 1.0
            gamma[p] = 1.0
            if total > 0:
                taken = (
                    discounts[p, 0] * statistics[t, p, N1]
                    + discounts[p, 1] * statistics[t, p, N2]
                    + discounts[p, 2] * statistics[t, p, N3]
                )
                g[p] = taken / total
                count = statistics[t, p, COUNT]
                if count > 0:
                    kept[p] = (count - discounts[p, min(count, 3) - 1]) / (total - taken)
                    kept[p] *= given[t, clusterings[p]]
                lifted = g[p] * lifted_by[p, features[t, p] - p * BUCKETS]
                gamma[p] = lifted / (1.0 - g[p] + lifted)
            value[p] = (1.0 - gamma[p]) * kept[p] + gamma[p] * below
            probability += weight[p] * value[p]
        loss -= math.log(probability)
        # Backwards: by the logits, then from the last pattern to those that it falls back on.
        scale = -1.0 / probability
        at = t - first
        for f in range(features.shape[1]):
            slopes.rows[f, at] = features[t, f]
        for p in range(n_patterns):
            reached[p] = weight[p]
            slopes.logits[at, p] = scale * weight[p] * (value[p] - probability) if weight[p] > 0.0 else 0.0
        for p in range(n_patterns - 1, -1, -1):
            if features[t, p] < 0 or reached[p] == 0.0:
                continue
            below = fixed.uniform if p == 0 else value[down[p]]
            if p > 0:
                reached[down[p]] += reached[p] * gamma[p]
            total = statistics[t, p, TOTAL]
            if total <= 0:
                continue
            d_gamma = scale * reached[p] * (below - kept[p])
            d_kept = scale * reached[p] * (1.0 - gamma[p])
            by_shift[p, features[t, p] - p * BUCKETS] += d_gamma * gamma[p] * (1.0 - gamma[p])
            d_g = d_gamma * gamma[p] * (1.0 - gamma[p]) / (g[p] * (1.0 - g[p]))
            left = total * (1.0 - g[p])
            d_taken = d_g / total + d_kept * kept[p] / left
            for k in range(3):
                by_discount[p, k] += d_taken * statistics[t, p, N1 + k]
            count = statistics[t, p, COUNT]
            if count > 0:
                by_discount[p, min(count, 3) - 1] -= d_kept / left * given[t, clusterings[p]]
    return loss


@training_kernel
def report_on(positions, fixed, start, fitted, slopes):
    """(sums of -ln P before and after fitting, sums of the weights of each pattern over the positions that have it)."""
    features, n_patterns = positions.features, fixed.down.size
    logit = np.empty(n_patterns)
    weight = np.empty(n_patterns)
    sums = np.zeros(n_patterns)
    for t in range(features.shape[0]):
        _weigh(features[t], positions.log_prior[t], fitted.table, logit, weight)
        for p in range(n_patterns):
            sums[p] += weight[p]
    before = slopes_of(positions, fixed, start, 0, features.shape[0], 0, 0, slopes)
    after = slopes_of(positions, fixed, fitted, 0, features.shape[0], 0, 0, slopes)
    return before, after, sums


@kernel
def add_rows(f, begin, end, slopes, top, sums):
    """Add up the slopes of the logits at places begin … end-1 by the rows that are column f's; sums[0] is row `top`."""
    rows, logits = slopes.rows[f], slopes.logits
    for at in range(begin, end):
        if rows[at] >= 0:
            row = sums[rows[at] - top]
            by_logit = logits[at]
            for p in range(row.size):
                row[p] += by_logit[p]


@kernel
def add_pieces(p, begin, end, slopes, shift, discounts):
    """Add up, over pieces begin … end-1, the slopes of the shifts of pattern p and those of its discounts."""
    for piece in range(begin, end):
        for bucket in range(shift.size):
            shift[bucket] += slopes.shift[piece, p, bucket]
        for k in range(3):
            discounts[k] += slopes.discounts[piece, p, k]


@inlined
def by_odds(slope, discount, k):
    """How something changes with the log-odds that stand for a discount, D1, D2 or D3+, from how it does with that."""
    return slope * discount * (1.0 - discount / MAX_DISCOUNTS[k])


@kernel
def add_gradient(positions, fixed, fitted, slopes, sums):
    """Sum of -ln P over all positions, as one piece; adds its gradient to `sums`."""
    n = positions.statistics.shape[0]
    loss = slopes_of(positions, fixed, fitted, 0, n, 0, 0, slopes)
    for f in range(positions.features.shape[1]):
        add_rows(f, 0, n, slopes, 0, sums.table)
    for p in range(fixed.down.size):
        by_discount = np.zeros(3)
        add_pieces(p, 0, 1, slopes, sums.shift[p], by_discount)
        for k in range(3):
            sums.odds[p, k] += by_odds(by_discount[k], fitted.discounts[p, k], k)
    return loss
