"""Steps of Adam, taken by several threads with the result of one.

Each batch has two halves, and each half pieces of PIECE positions. Pieces are worked out side by side (`slopes_of` of
`kernels.fitting.slopes`). When all threads have done that, slopes are added up by rows of the gate table, and by
patterns: each number by one thread, first the halves by themselves, in the order of positions or of pieces; what was
added up takes its step at once. So nothing depends on how many threads there are.

Threads wait for lines of the cache that others have written. A column stays with one thread, which alone knows its
running means and sums; what goes from thread to thread are slopes of logits, sums over pieces, and parameters.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapgram.kernels.barrier import wait
from gapgram.kernels.compiled import host_callable, inlined, kernel
from gapgram.kernels.fitting.gradient import MAX_DISCOUNTS, add_pieces, add_rows, by_odds
from gapgram.kernels.fitting.slopes import room_of, slopes_of, sum_rows
from gapgram.kernels.probability.gate import BUCKETS, WORD_BUCKETS

PIECE = 64  # positions, at most


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


@host_callable
def pieces_of_half(n):
    """How many pieces each half of a batch of n positions has; the last ones may have less than PIECE, or none."""
    return -(-(n - n // 2) // PIECE)


@kernel
def _rows_of(f, n_patterns, order):
    """The rows of the gate table that are column f's (`kernels.probability.gate`)."""
    if f < n_patterns:
        return f * BUCKETS, f * BUCKETS + BUCKETS
    words = n_patterns * BUCKETS
    if f == n_patterns:
        return words, words + order
    first = words + order + (f - n_patterns - 1) * WORD_BUCKETS
    return first, first + WORD_BUCKETS


@inlined
def _take_steps(begin, end, fitted, adam, halves, n, fast, slow):
    """One step of Adam (Kingma and Ba, 2015) for parameters begin … end-1, in place; `halves` is 0 after it.

    The gradient is the mean over n positions, of whose sum the two halves are given, and a pull to the start: equation
    (21) of docs/ideas/mathematics.md. fast, slow: what makes up for the first steps, of the means and of the squares.
    """
    # Parts of the arrays, whose numbers are counted from 0, and `np.divide`, which does not look whether it divides by
    # 0: so the compiler works on several parameters at once.
    values, start = fitted.flat[begin:end], adam.start[begin:end]
    means, squares = adam.means[begin:end], adam.squares[begin:end]
    one, other = halves[0], halves[1]
    for i in range(values.size):
        gradient = np.divide(one[i] + other[i], n) + adam.hold * (values[i] - start[i])
        mean = 0.9 * means[i] + 0.1 * gradient
        square = 0.99 * squares[i] + 0.01 * (gradient * gradient)
        values[i] -= np.divide(fast * mean, np.sqrt(slow * square) + 1e-8)
        means[i] = mean
        squares[i] = square
        one[i] = 0.0
        other[i] = 0.0
    follow(fitted, begin, end)


@kernel
def _fit_rows(f, n, fitted, adam, slopes, order, sums, fast, slow):
    """Add up the slopes of the logits of a batch of n positions by the rows of column f, and take their steps.

    sums: [half, parameter], 0 before and after.
    """
    n_patterns = fitted.table.shape[1]
    top, bottom = _rows_of(f, n_patterns, order)
    add_rows(f, 0, n // 2, slopes, top, sums[0])
    add_rows(f, n // 2, n, slopes, top, sums[1])
    _take_steps(top * n_patterns, bottom * n_patterns, fitted, adam, sums, n, fast, slow)


@kernel
def _fit_pattern(p, n_pieces, n, fitted, adam, slopes, sums, fast, slow):
    """Add up the slopes of the shifts and discounts of pattern p over n_pieces of each half, and take their steps."""
    by_discount = np.zeros((2, 3))
    for half in range(2):
        begin = half * n_pieces
        add_pieces(p, begin, begin + n_pieces, slopes, sums[half, :BUCKETS], by_discount[half])
        for k in range(3):
            by_discount[half, k] = by_odds(by_discount[half, k], fitted.discounts[p, k], k)
    first_shift = fitted.table.size + p * BUCKETS
    _take_steps(first_shift, first_shift + BUCKETS, fitted, adam, sums, n, fast, slow)
    first_odds = fitted.table.size + fitted.shift.size + 3 * p
    _take_steps(first_odds, first_odds + 3, fitted, adam, by_discount, n, fast, slow)


@inlined
def _bounds_of(piece, n_pieces, n):
    """Which positions of a batch of n are in a piece; there may be none."""
    half = n // 2
    begin, end = (0, half) if piece < n_pieces else (half, n)
    first = begin + piece % n_pieces * PIECE
    return first, max(first, min(first + PIECE, end))


@inlined
def _corrections(schedule, b):
    """By what the means of batch b are multiplied for its step, and their squares: they began at 0."""
    step = schedule.first_step + b
    return schedule.rates[b] / (1.0 - 0.9**step), 1.0 / (1.0 - 0.99**step)


@kernel
def fit_batches(me, threads, barrier, schedule, positions, fixed, fitted, adam, slopes):
    """What thread `me` does for some batches: its share of the pieces of each, then of the columns and patterns."""
    features, n_patterns, bounds = positions.features, fixed.down.size, schedule.bounds
    n_columns = features.shape[1]
    n_shares, order = n_columns + n_patterns, n_columns - n_patterns
    sums = np.zeros((2, max(BUCKETS, WORD_BUCKETS) * n_patterns))
    room = room_of(me, slopes, n_patterns)
    for b in range(bounds.size - 1):
        begin, n = bounds[b], bounds[b + 1] - bounds[b]
        n_pieces = pieces_of_half(n)
        # Pieces that follow each other, as many for each thread.
        for piece in range(2 * n_pieces * me // threads, 2 * n_pieces * (me + 1) // threads):
            first, last = _bounds_of(piece, n_pieces, n)
            first, last = begin + first, begin + last
            sum_rows(features, fitted.table, first, last, begin, slopes)
            slopes_of(positions, fixed, fitted, first, last, begin, piece, slopes, room)
        wait(barrier, threads)
        fast, slow = _corrections(schedule, b)
        # The columns, of which the last, those of words, have most rows; then what is a pattern's own. Who is dealt the
        # first of a turn is dealt the last of the next.
        for turn in range(-(-n_shares // threads)):
            share = turn * threads + (me if turn % 2 == 0 else threads - 1 - me)
            if share < n_columns:
                _fit_rows(n_columns - 1 - share, n, fitted, adam, slopes, order, sums, fast, slow)
            elif share < n_shares:
                _fit_pattern(share - n_columns, n_pieces, n, fitted, adam, slopes, sums, fast, slow)
        wait(barrier, threads)
