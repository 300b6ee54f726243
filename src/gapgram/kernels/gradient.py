"""The gradient of -ln P over positions of a text.

What is fitted says `kernels.fitting`; equations (16) to (25) of docs/ideas/mathematics.md. Every position is worked out
by itself, how -ln P changes with the logits, the odds of falling back and the discounts of its patterns. These slopes
are then added up column by column of the features: the rows of the gate table that a feature of one kind can be belong
to it alone, and so does what is fitted for a pattern. `kernels.descent` has the threads that do so.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapgram.kernels.fitting import COUNT, N1, N2, N3, TOTAL
from gapgram.kernels.gate import BUCKETS
from gapgram.kernels.jit import apart, kernel, training_kernel

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
    """How -ln P of single positions changes: logits [position, pattern]; with shifts, with what discounts take, and
    with the discount of the gram itself, [pattern, position] each."""

    logits: Any
    by_shift: Any
    by_taken: Any
    by_own: Any


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
def slopes_of(positions, fixed, fitted, begin, end, first, slopes):
    """Sum of -ln P over positions begin … end-1; their slopes are written from place begin - first on.

    The first sum of equation (21) of docs/ideas/mathematics.md, P by (16), (17) and (24).
    """
    statistics, features, given = positions.statistics, positions.features, positions.given
    discounts, lifted_by, down, clusterings = fitted.discounts, fitted.lifted_by, fixed.down, fixed.clusterings
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
        for p in range(n_patterns):
            reached[p] = weight[p]
            slopes.logits[at, p] = scale * weight[p] * (value[p] - probability) if weight[p] > 0.0 else 0.0
        for p in range(n_patterns - 1, -1, -1):
            slopes.by_shift[p, at] = 0.0
            slopes.by_taken[p, at] = 0.0
            slopes.by_own[p, at] = 0.0
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
            slopes.by_shift[p, at] = d_gamma * gamma[p] * (1.0 - gamma[p])
            d_g = d_gamma * gamma[p] * (1.0 - gamma[p]) / (g[p] * (1.0 - g[p]))
            left = total * (1.0 - g[p])
            slopes.by_taken[p, at] = d_g / total + d_kept * kept[p] / left
            if statistics[t, p, COUNT] > 0:
                slopes.by_own[p, at] = d_kept / left * given[t, clusterings[p]]
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
    before = slopes_of(positions, fixed, start, 0, features.shape[0], 0, slopes)
    after = slopes_of(positions, fixed, fitted, 0, features.shape[0], 0, slopes)
    return before, after, sums


@kernel
def add_rows(f, positions, begin, end, first, slopes, sums):
    """Add up the slopes of the logits by the rows of the gate table that are column f's."""
    features = positions.features
    for t in range(begin, end):
        if features[t, f] >= 0:
            row = sums.table[features[t, f]]
            by_logit = slopes.logits[t - first]
            for p in range(row.size):
                row[p] += by_logit[p]


@kernel
def add_pattern(f, positions, fitted, begin, end, first, slopes, sums):
    """Add up the slopes of the shifts and discounts of pattern f."""
    statistics, features = positions.statistics, positions.features
    by_discount = np.zeros(3)
    for t in range(begin, end):
        if features[t, f] < 0:
            continue
        at = t - first
        sums.shift[f, features[t, f] - f * BUCKETS] += slopes.by_shift[f, at]
        by_taken = slopes.by_taken[f, at]
        for k in range(3):
            by_discount[k] += by_taken * statistics[t, f, N1 + k]
        count = statistics[t, f, COUNT]
        if count > 0:
            by_discount[min(count, 3) - 1] -= slopes.by_own[f, at]
    for k in range(3):
        discount = fitted.discounts[f, k]
        sums.odds[f, k] += by_discount[k] * discount * (1.0 - discount / MAX_DISCOUNTS[k])


@kernel
def add_gradient(positions, fixed, fitted, slopes, sums):
    """Sum of -ln P over all positions; adds its gradient to `sums`."""
    n = positions.statistics.shape[0]
    loss = slopes_of(positions, fixed, fitted, 0, n, 0, slopes)
    n_patterns = fixed.down.size
    for f in range(positions.features.shape[1]):
        add_rows(f, positions, 0, n, 0, slopes, sums)
        if f < n_patterns:
            add_pattern(f, positions, fitted, 0, n, 0, slopes, sums)
    return loss
