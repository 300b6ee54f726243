"""The gradient of -ln P over positions of a text, and steps of Adam, by several threads with the result of one.

What is fitted says `kernels.fitting`; equations (16) to (25) of docs/ideas/mathematics.md.

The halves of a batch are added up by themselves, each in the order of its positions, however many threads there are.
Threads wait for lines of the cache that others have written; so what one works out stays with it as far as it can.

One thread or two: each has a half, a copy of all parameters, and takes all steps: they hand each other sums, no more.

More: every position is worked out by itself, how -ln P changes with the logits, the odds of falling back and the
discounts of its patterns. When all threads have done that, these slopes are added up column by column of the features:
the rows of the gate table that a feature of one kind can be belong to it alone, and so does what is fitted for a
pattern. So each number is added up by one thread, and what was added up in a column takes its step at once. Where there
are more threads than there are columns for, a column is added up for some of the patterns at a time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapgram.kernels.fitting import COUNT, N1, N2, N3, TOTAL
from gapgram.kernels.gate import BUCKETS, WORD_BUCKETS
from gapgram.kernels.jit import apart, kernel, training_kernel
from gapgram.kernels.meeting import meet

_MANY_THREADS = 8  # more of them add up columns in two parts
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


class Schedule(NamedTuple):
    """Batches of positions, bounds[b] to bounds[b+1], the learning rate of each, and the number of the first step."""

    bounds: Any
    rates: Any
    first_step: Any


class Adam(NamedTuple):
    """What a step of Adam needs: where parameters started, how strongly they are held there, and running means."""

    start: Any
    hold: Any
    means: Any
    squares: Any


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
def _add_rows(f, patterns, positions, begin, end, first, slopes, sums):
    """Add up the slopes of the logits of some patterns by the rows of the gate table that are column f's."""
    features, n_patterns = positions.features, sums.table.shape[1]
    if patterns[1] - patterns[0] == n_patterns:
        for t in range(begin, end):
            if features[t, f] >= 0:
                row = sums.table[features[t, f]]
                by_logit = slopes.logits[t - first]
                for p in range(n_patterns):
                    row[p] += by_logit[p]
        return
    for t in range(begin, end):
        if features[t, f] >= 0:
            row = sums.table[features[t, f], patterns[0] : patterns[1]]
            by_logit = slopes.logits[t - first, patterns[0] : patterns[1]]
            for p in range(row.size):
                row[p] += by_logit[p]


@kernel
def _add_pattern(f, positions, fitted, begin, end, first, slopes, sums):
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
        _add_rows(f, (0, n_patterns), positions, 0, n, 0, slopes, sums)
        if f < n_patterns:
            _add_pattern(f, positions, fitted, 0, n, 0, slopes, sums)
    return loss


@training_kernel
def follow(fitted, begin, end):
    """What follows from parameters begin … end-1: equation (22) of docs/ideas/mathematics.md for the discounts."""
    first_shift, first_odds = fitted.table.size, fitted.table.size + fitted.shift.size
    width = fitted.lifted_by.shape[1]
    for i in range(max(begin, first_shift), min(end, first_odds)):
        k = i - first_shift
        fitted.lifted_by[k // width, k % width] = math.exp(fitted.flat[i])
    for i in range(max(begin, first_odds), end):
        k = i - first_odds
        fitted.discounts[k // 3, k % 3] = MAX_DISCOUNTS[k % 3] / (1.0 + math.exp(-fitted.flat[i]))


@kernel
def _rows_of(f, n_patterns, order):
    """The rows of the gate table that are column f's (`kernels.gate`)."""
    if f < n_patterns:
        return f * BUCKETS, f * BUCKETS + BUCKETS
    words = n_patterns * BUCKETS
    if f == n_patterns:
        return words, words + order
    first = words + order + (f - n_patterns - 1) * WORD_BUCKETS
    return first, first + WORD_BUCKETS


@kernel
def _take_steps(begin, end, fitted, adam, first, second, n, fast, slow):
    """One step of Adam (Kingma and Ba, 2015) for parameters begin … end-1, in place.

    The gradient is the mean over n positions, of whose sum the two halves are given, and a pull to the start: equation
    (21) of docs/ideas/mathematics.md. fast, slow: what makes up for the first steps, of the means and of the squares.
    """
    values, start, means, squares = fitted.flat, adam.start, adam.means, adam.squares
    # `np.divide` does not look whether it divides by 0, so that the compiler works on several parameters at once.
    for i in range(begin, end):
        gradient = np.divide(first[i] + second[i], n) + adam.hold * (values[i] - start[i])
        mean = 0.9 * means[i] + 0.1 * gradient
        square = 0.99 * squares[i] + 0.01 * (gradient * gradient)
        values[i] -= np.divide(fast * mean, np.sqrt(slow * square) + 1e-8)
        means[i] = mean
        squares[i] = square
    follow(fitted, begin, end)


@kernel
def _step_and_forget(begin, end, fitted, adam, first, second, n, fast, slow):
    """A step for some parameters; zeroes their sums."""
    _take_steps(begin, end, fitted, adam, first, second, n, fast, slow)
    for i in range(begin, end):
        first[i] = 0.0
        second[i] = 0.0


@kernel
def _step_of_column(f, patterns, fitted, adam, first, second, n, fast, slow, order):
    """A step for what column f was added up for: some patterns in its rows, and, with the first, its own numbers."""
    n_patterns = fitted.table.shape[1]
    begin, end = _rows_of(f, n_patterns, order)
    if patterns[1] - patterns[0] == n_patterns:
        _step_and_forget(begin * n_patterns, end * n_patterns, fitted, adam, first, second, n, fast, slow)
    else:
        for row in range(begin, end):
            base = row * n_patterns
            _step_and_forget(base + patterns[0], base + patterns[1], fitted, adam, first, second, n, fast, slow)
    if f < n_patterns and patterns[0] == 0:
        shift = fitted.table.size + f * BUCKETS
        _step_and_forget(shift, shift + BUCKETS, fitted, adam, first, second, n, fast, slow)
        odds = fitted.table.size + fitted.shift.size + 3 * f
        _step_and_forget(odds, odds + 3, fitted, adam, first, second, n, fast, slow)


@training_kernel
def fit_by_halves(
    me, threads, meeting, schedule, positions, fixed, own, own_adam, twin, twin_adam, slopes, first_half, second_half
):
    """What thread `me` of one or two does for some batches: its half of each, and all steps of its own copy.

    own, own_adam: what the first thread fits. twin, twin_adam: what the second does, with the same result.
    first_half, second_half: of a batch, added up.
    """
    fitted, adam = (own, own_adam) if me == 0 else (twin, twin_adam)
    n_columns, n_patterns, bounds = positions.features.shape[1], fixed.down.size, schedule.bounds
    for b in range(bounds.size - 1):
        begin, n, step = bounds[b], bounds[b + 1] - bounds[b], schedule.first_step + b
        for half in range(me, 2, threads):
            first, last = (begin, begin + n // 2) if half == 0 else (begin + n // 2, begin + n)
            sums = first_half if half == 0 else second_half
            for i in range(sums.flat.size):
                sums.flat[i] = 0.0
            slopes_of(positions, fixed, fitted, first, last, begin, slopes)
            for f in range(n_columns):
                _add_rows(f, (0, n_patterns), positions, first, last, begin, slopes, sums)
                if f < n_patterns:
                    _add_pattern(f, positions, fitted, first, last, begin, slopes, sums)
        meet(meeting, threads)
        fast, slow = schedule.rates[b] / (1.0 - 0.9**step), 1.0 / (1.0 - 0.99**step)
        _take_steps(0, fitted.flat.size, fitted, adam, first_half.flat, second_half.flat, n, fast, slow)
        meet(meeting, threads)


@training_kernel
def fit_by_columns(me, threads, meeting, schedule, positions, fixed, fitted, adam, slopes, first_half, second_half):
    """What thread `me` of several does for some batches: its share of the positions of each, then of the columns.

    first_half, second_half: of a batch, added up; 0 at first.
    """
    n_columns, n_patterns, bounds = positions.features.shape[1], fixed.down.size, schedule.bounds
    order, parts = n_columns - n_patterns, 1 if threads <= _MANY_THREADS else 2
    for b in range(bounds.size - 1):
        begin, n, step = bounds[b], bounds[b + 1] - bounds[b], schedule.first_step + b
        half, end = begin + n // 2, begin + n
        fast, slow = schedule.rates[b] / (1.0 - 0.9**step), 1.0 / (1.0 - 0.99**step)
        slopes_of(
            positions, fixed, fitted, begin + n * me // threads, begin + n * (me + 1) // threads, begin, slopes
        )
        meet(meeting, threads)
        for share in range(me, n_columns * parts, threads):
            f, part = share % n_columns, share // n_columns
            patterns = n_patterns * part // parts, n_patterns * (part + 1) // parts
            _add_rows(f, patterns, positions, begin, half, begin, slopes, first_half)
            _add_rows(f, patterns, positions, half, end, begin, slopes, second_half)
            if part == 0 and f < n_patterns:
                _add_pattern(f, positions, fitted, begin, half, begin, slopes, first_half)
                _add_pattern(f, positions, fitted, half, end, begin, slopes, second_half)
            _step_of_column(f, patterns, fitted, adam, first_half.flat, second_half.flat, n, fast, slow, order)
        meet(meeting, threads)
