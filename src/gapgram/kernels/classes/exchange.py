"""Word classes by exchange: each word moves to the class that makes its neighbours most likely.

A *side* is where a neighbour stands: side 0 the next word, side 1 the one before; sides 2 and 3, where they are used,
the word after next and the one before the last. Sides come in pairs, s and s ^ 1, that look at the same pairs of words
from both ends. What is known of a side:

    starts[s, w] to starts[s, w+1]      in `others` and `times`: the neighbours of word w and how often they are
    itself[s, w]                        how often w is its own neighbour; such pairs are not among the others
    cell of s, g and c                  pairs of a word of class c whose neighbour is of class g: for s, g and c the
                                        same as for s ^ 1, c and g
    sums[s, c]                          pairs of a word of class c, whatever its neighbour

The objective: with f_p(x) = ln Gamma(x + p) - ln Gamma(p), the sum over all cells of even sides of f_a(cell) minus the
sum over all sides and classes of f_ka(sum). With x ln x in place of f it would be the log likelihood of class bigrams,
but for what no exchange changes; large numbers make little difference. `a`, the prior, is what a cell is believed to
hold before any pair was seen: a class must be worth its k unknown cells, and two words that share one rare neighbour
are no reason to make one. `priors` holds a and k a, `tables` f of both for small numbers, and ln(x + a). These are
equations (26) and (27) of docs/ideas/mathematics.md.

Cells are kept as rows, once for each side, a block of classes after the other:

    rows[r, i]      pairs of a word of class b << bits | i whose neighbour on side s is of class g; r is b, s and g: see
                    `row_of`
    gain[r, i]      f(x + 1) - f(x) = ln(x + a) of the cell x, so that a neighbour met once costs one addition

Which class a word would like best is judged by all threads, block by block (`kernels.classes.judging`); then all words
of a batch move at once (`kernels.classes.moving`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import inlined, kernel

TABLE = 1 << 17  # numbers, at most, whose f is looked up
CELL, SUM, LOG = 0, 1, 2  # rows of the tables


class Pairs(NamedTuple):
    """The neighbours of every word on every side, as the module's head has them: int64, the others int32."""

    starts: np.ndarray
    others: np.ndarray
    times: np.ndarray
    itself: np.ndarray


class ClassCounts(NamedTuple):
    """What is known of the classes so far, as the module's head has it: int32, float32, int32, float64, float64."""

    rows: np.ndarray
    gain: np.ndarray
    sums: np.ndarray
    tables: np.ndarray
    priors: np.ndarray
    bits: int


@kernel
def f_tables(priors, size):
    """f of whole numbers below `size` for the prior of a cell and of a sum, ln Gamma of the prior last; ln(x + a) of
    cells."""
    out = np.zeros((3, size + 1))
    for p in range(2):
        least = math.lgamma(priors[p])
        for x in range(size):
            out[p, x] = math.lgamma(x + priors[p]) - least
        out[p, size] = least
    for x in range(size):
        out[LOG, x] = math.log(x + priors[CELL])
    return out


@inlined
def f_of(x, p, tables, priors):
    """f of a number, for the prior of a cell or of a sum."""
    size = tables.shape[1] - 1
    if x < size:
        return tables[p, x]
    return math.lgamma(x + priors[p]) - tables[p, size]


@inlined
def row_of(block, side, g, sums):
    """The row of a block's classes beside class g."""
    return (block * sums.shape[0] + side) * sums.shape[1] + g


@inlined
def cell_of(side, g, c, classes):
    """Pairs of a word of class c whose neighbour on a side is of class g."""
    return classes.rows[row_of(c >> classes.bits, side, g, classes.sums), c & ((1 << classes.bits) - 1)]


@inlined
def add_to_cell(row, i, n, classes):
    """Add n pairs to a cell. It may fall below 0 while others are still to be added."""
    x = classes.rows[row, i] + n
    classes.rows[row, i] = x
    x = max(x, 0)
    is_known = x < classes.tables.shape[1] - 1
    classes.gain[row, i] = np.float32(classes.tables[LOG, x] if is_known else math.log(x + classes.priors[CELL]))


@kernel
def fill_cells(class_of, starts, others, times, itself, cells):
    """Count the cells of an even side, [g, c], all 0 before."""
    for w in range(class_of.size):
        c = class_of[w]
        cells[c, c] += itself[w]
        for i in range(starts[w], starts[w + 1]):
            cells[class_of[others[i]], c] += times[i]


@kernel
def fill_rows(side, cells, classes):
    """Copy the cells of an even side to its rows, and to those of the odd side beside it, all 0 before."""
    bits, mask = classes.bits, (1 << classes.bits) - 1
    for g in range(cells.shape[0]):
        for c in range(cells.shape[1]):
            n = cells[g, c]
            add_to_cell(row_of(c >> bits, side, g, classes.sums), c & mask, n, classes)
            add_to_cell(row_of(g >> bits, side + 1, c, classes.sums), g & mask, n, classes)


@kernel
def objective(classes):
    """What exchanges increase: equation (26) of docs/ideas/mathematics.md."""
    sums, tables, priors = classes.sums, classes.tables, classes.priors
    total = 0.0
    for s in range(sums.shape[0]):
        for c in range(sums.shape[1]):
            for g in range(sums.shape[1] if s % 2 == 0 else 0):
                total += f_of(cell_of(s, g, c, classes), CELL, tables, priors)
            total -= f_of(sums[s, c], SUM, tables, priors)
    return total


@inlined
def gather(w, side, class_of, starts, others, times, met, found):
    """Count the neighbours of a word by class into `met`, which is 0 but for the classes returned in `found`."""
    n = 0
    for i in range(starts[side, w], starts[side, w + 1]):
        g = class_of[others[i]]
        if met[g] == 0:
            found[n] = g
            n += 1
        met[g] += times[i]
    return n
