"""Steps of Adam, taken by several threads with the result of one.

The halves of a batch are added up by themselves, each in the order of its positions, however many threads there are.
Threads wait for lines of the cache that others have written; so what one works out stays with it as far as it can.

One thread or two: each has a half. They hand each other sums, and take a share of the steps each.

More: positions are worked out side by side; when all threads have done that, slopes are added up by columns
(`kernels.gradient`). So each number is added up by one thread, and what was added up in a column takes its step at
once.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapgram.kernels.gate import BUCKETS, WORD_BUCKETS
from gapgram.kernels.gradient import MAX_DISCOUNTS, add_pattern, add_rows, slopes_of
from gapgram.kernels.jit import inlined, kernel, training_kernel
from gapgram.kernels.meeting import meet

_EXPONENTIAL = 10  # parameters whose steps take as long as that which follows from one


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
    # Parts of the arrays, whose numbers are counted from 0, and `np.divide`, which does not look whether it divides by
    # 0: so the compiler works on several parameters at once.
    values, start = fitted.flat[begin:end], adam.start[begin:end]
    means, squares = adam.means[begin:end], adam.squares[begin:end]
    one, other = first[begin:end], second[begin:end]
    for i in range(values.size):
        gradient = np.divide(one[i] + other[i], n) + adam.hold * (values[i] - start[i])
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
    first[begin:end] = 0.0
    second[begin:end] = 0.0


@kernel
def _fit_rows(f, batch, positions, fitted, adam, slopes, first_half, second_half, fast, slow):
    """Add up the slopes of the logits by the rows of column f, and take their steps; `batch` are its bounds."""
    (begin, half, end), n_patterns = batch, fitted.table.shape[1]
    add_rows(f, positions, begin, half, begin, slopes, first_half)
    add_rows(f, positions, half, end, begin, slopes, second_half)
    first, second, n = first_half.flat, second_half.flat, end - begin
    top, bottom = _rows_of(f, n_patterns, positions.features.shape[1] - n_patterns)
    _step_and_forget(top * n_patterns, bottom * n_patterns, fitted, adam, first, second, n, fast, slow)


@kernel
def _fit_pattern(p, batch, positions, fitted, adam, slopes, first_half, second_half, fast, slow):
    """Add up the slopes of the shifts and discounts of pattern p, and take their steps."""
    begin, half, end = batch
    add_pattern(p, positions, fitted, begin, half, begin, slopes, first_half)
    add_pattern(p, positions, fitted, half, end, begin, slopes, second_half)
    first, second, n = first_half.flat, second_half.flat, end - begin
    shift = fitted.table.size + p * BUCKETS
    _step_and_forget(shift, shift + BUCKETS, fitted, adam, first, second, n, fast, slow)
    odds = fitted.table.size + fitted.shift.size + 3 * p
    _step_and_forget(odds, odds + 3, fitted, adam, first, second, n, fast, slow)


@inlined
def _share_of_steps(me, threads, fitted):
    """The parameters that thread `me` of one or two takes steps for: from one up to another."""
    flat, table = fitted.flat.size, fitted.table.size
    middle = min(table, (table + _EXPONENTIAL * (flat - table)) // 2) if threads == 2 else flat
    return (0, middle) if me == 0 else (middle, flat)


@training_kernel
def fit_by_halves(
    me, threads, meeting, schedule, positions, fixed, fitted, adam, slopes, first_half, second_half
):
    """What thread `me` of one or two does for some batches: its half of each, and its share of the steps.

    first_half, second_half: of a batch, added up.
    """
    n_columns, n_patterns, bounds = positions.features.shape[1], fixed.down.size, schedule.bounds
    share = _share_of_steps(me, threads, fitted)
    for b in range(bounds.size - 1):
        begin, n, step = bounds[b], bounds[b + 1] - bounds[b], schedule.first_step + b
        for half in range(me, 2, threads):
            first, last = (begin, begin + n // 2) if half == 0 else (begin + n // 2, begin + n)
            sums = first_half if half == 0 else second_half
            for i in range(sums.flat.size):
                sums.flat[i] = 0.0
            slopes_of(positions, fixed, fitted, first, last, begin, slopes)
            for f in range(n_columns):
                add_rows(f, positions, first, last, begin, slopes, sums)
                if f < n_patterns:
                    add_pattern(f, positions, fitted, first, last, begin, slopes, sums)
        meet(meeting, threads)
        fast, slow = schedule.rates[b] / (1.0 - 0.9**step), 1.0 / (1.0 - 0.99**step)
        _take_steps(share[0], share[1], fitted, adam, first_half.flat, second_half.flat, n, fast, slow)
        meet(meeting, threads)


@training_kernel
def fit_by_columns(
    me, threads, meeting, schedule, positions, fixed, fitted, adam, slopes, first_half, second_half
):
    """What thread `me` of several does for some batches: its share of the positions of each, then of the columns.

    first_half, second_half: of a batch, added up; 0 at first.
    """
    n_columns, n_patterns, bounds = positions.features.shape[1], fixed.down.size, schedule.bounds
    n_shares = n_columns + n_patterns
    for b in range(bounds.size - 1):
        begin, end, step = bounds[b], bounds[b + 1], schedule.first_step + b
        n, batch = end - begin, (begin, begin + (end - begin) // 2, end)
        fast, slow = schedule.rates[b] / (1.0 - 0.9**step), 1.0 / (1.0 - 0.99**step)
        slopes_of(
            positions, fixed, fitted, begin + n * me // threads, begin + n * (me + 1) // threads, begin, slopes
        )
        meet(meeting, threads)
        # The columns, of which the last, those of words, have most rows; then what is a pattern's own. Who is dealt the
        # first of a turn is dealt the last of the next.
        for turn in range(-(-n_shares // threads)):
            share = turn * threads + (me if turn % 2 == 0 else threads - 1 - me)
            if share < n_columns:
                f = n_columns - 1 - share
                _fit_rows(f, batch, positions, fitted, adam, slopes, first_half, second_half, fast, slow)
            elif share < n_shares:
                p = share - n_columns
                _fit_pattern(p, batch, positions, fitted, adam, slopes, first_half, second_half, fast, slow)
        meet(meeting, threads)
