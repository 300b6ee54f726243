"""The gradient of -ln P over positions of a text: the slopes of its positions, added up.

What is fitted says `kernels.fitting.sample`; equations (16) to (25) of docs/ideas/mathematics.md. The slopes come from
`kernels.fitting.slopes`. Those of the logits are added up by columns of the features: the rows of the gate table that a
feature of one kind can be belong to its column alone. `kernels.fitting.descent` has the threads that do so.
"""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.compiled import inlined, kernel, noinline
from gapgram.kernels.fitting.slopes import SIDE_BY_SIDE, mix, room_of, slopes_of, sum_rows, weights_of
from gapgram.kernels.probability.gate import add_to_row

MAX_DISCOUNTS = np.array([1.0, 2.0, 3.0])  # D1, D2, D3+ stay between 0 and these


@kernel
def report_on(positions, fixed, fitted, slopes, sums):
    """Sum of -ln P; adds up the weights of each pattern over the positions that have it."""
    n, n_patterns, loss = positions.features.shape[0], fixed.down.size, 0.0
    room = room_of(0, slopes, n_patterns)
    sum_rows(positions.features, fitted.table, 0, n, 0, slopes)
    for begin in range(0, n, SIDE_BY_SIDE):
        end = min(begin + SIDE_BY_SIDE, n)
        weights_of(positions, fitted, slopes.sums, begin, end, 0, room)
        mix(fixed, fitted, room)
        for i in range(end - begin):
            loss -= math.log(room.probability[i])
            for p in range(n_patterns):
                sums[p] += room.weight[p * SIDE_BY_SIDE + i]
    return loss


@noinline
def add_rows(f, begin, end, slopes, top, sums):
    """Add up the slopes of the logits at places begin … end-1 by the rows that are column f's; those of row `top` are
    the first of the sums."""
    rows, logits, n_patterns = slopes.rows[f], slopes.logits.reshape(-1), slopes.logits.shape[1]
    for at in range(begin, end):
        if rows[at] >= 0:
            add_to_row(sums, (rows[at] - top) * n_patterns, logits, at * n_patterns, n_patterns)


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
    """Sum of -ln P over all positions, as one piece; adds its gradient to `sums`, which has the shape of `fitted`."""
    n = positions.statistics.shape[0]
    sum_rows(positions.features, fitted.table, 0, n, 0, slopes)
    slopes_of(positions, fixed, fitted, 0, n, 0, 0, slopes, room_of(0, slopes, fixed.down.size))
    loss = 0.0
    for t in range(n):
        loss -= math.log(slopes.probabilities[t])
    for f in range(positions.features.shape[1]):
        add_rows(f, 0, n, slopes, 0, sums.table.reshape(-1))
    for p in range(fixed.down.size):
        by_discount = np.zeros(3)
        add_pieces(p, 0, 1, slopes, sums.shift[p], by_discount)
        for k in range(3):
            sums.odds[p, k] += by_odds(by_discount[k], fitted.discounts[p, k], k)
    return loss
