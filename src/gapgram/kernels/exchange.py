"""Word classes by exchange: each word moves to the class that makes its neighbours most likely.

A *side* is where a neighbour stands: side 0 the next word, side 1 the one before; sides 2 and 3, where they are used,
the word after next and the one before the last. Sides come in pairs, s and s ^ 1, that look at the same pairs of words
from both ends. What is known of a side:

    starts[s, w] to starts[s, w+1]      in `others` and `times`: the neighbours of word w and how often they are
    itself[s, w]                        how often w is its own neighbour; such pairs are not among the others
    cells[s // 2, g, c]                 for an even side, pairs of a word of class c whose neighbour is of class g; for
                                        the odd side beside it, of a word of class g whose neighbour is of class c
    sums[s, c]                          pairs of a word of class c, whatever its neighbour

The objective: with f_p(x) = ln Gamma(x + p) - ln Gamma(p), the sum over all cells of f_a(cell) minus the sum over all
sides and classes of f_ka(sum). With x ln x in place of f it would be the log likelihood of class bigrams, but for what
no exchange changes; large numbers make little difference. `a`, the prior, is what a cell is believed to hold before any
pair was seen: a class must be worth its k unknown cells, and two words that share one rare neighbour are no reason to
make one. `priors` holds a and k a, `tables` f of both for small numbers, and ln(x + a). These are equations (26) and
(27) of docs/ideas/mathematics.md.

Which class a word would like best is judged by all threads (`kernels.judging`), then one thread moves the words of a
batch. They judge by copies of the cells, a block of classes after the other:

    cells[r, i]     pairs of a word of class b << bits | i whose neighbour on side s is of class g; r is b, s and g: see
                    `row_of`
    gain[r, i]      f(x + 1) - f(x) = ln(x + a) of the cell x, so that a neighbour met once costs one addition

Who moves words changes these, too; or, if there are other threads to do that, only notes which cells `changed`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.jit import inlined, kernel, training_kernel
from gapgram.kernels.prefetch import prefetch, prefetch_to_write

TABLE = 1 << 17  # numbers, at most, whose f is looked up
CLASS_BITS = 20  # of a class in the place of a cell
EVERYTHING = -1  # in the place of the number of changes: more than could be noted
AHEAD = 4  # words whose neighbours are asked for before they are read
LEAST = 1e-6  # that a move must bring
CELL, SUM, LOG = 0, 1, 2  # rows of the tables


class Pairs(NamedTuple):
    """The neighbours of every word on every side, as the module's head has them: int64, the others int32."""

    starts: np.ndarray
    others: np.ndarray
    times: np.ndarray
    itself: np.ndarray


class ClassCounts(NamedTuple):
    """What is known of the classes so far, as the module's head has it: int32, int32, float64, float64.

    f_of_sums: float64, f of the sums
    changed, n_changed: int64, cells that changed, as d << 40 | g << 20 | c, and how many; no room if they are not noted
    """

    cells: np.ndarray
    sums: np.ndarray
    tables: np.ndarray
    priors: np.ndarray
    f_of_sums: np.ndarray
    changed: np.ndarray
    n_changed: np.ndarray


class Blocks(NamedTuple):
    """Copies of the cells, and what one pair more is worth, as the module's head has them: int32, float32."""

    cells: np.ndarray
    gain: np.ndarray
    bits: int


@training_kernel
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
def _f(x, p, tables, priors):
    size = tables.shape[1] - 1
    if x < size:
        return tables[p, x]
    return math.lgamma(x + priors[p]) - tables[p, size]


@training_kernel
def fill_cells(class_of, starts, others, times, itself, cells, sums):
    """Count the cells of an even side, and the sums of it and of the odd side beside it, all 0 before."""
    for w in range(class_of.size):
        c = class_of[w]
        cells[c, c] += itself[w]
        for i in range(starts[w], starts[w + 1]):
            cells[class_of[others[i]], c] += times[i]
    for g in range(cells.shape[0]):
        for c in range(cells.shape[1]):
            sums[0, c] += cells[g, c]
            sums[1, g] += cells[g, c]


@kernel
def objective(cells, sums, tables, priors):
    """What exchanges increase: equation (26) of docs/ideas/mathematics.md."""
    total = 0.0
    for d in range(cells.shape[0]):
        for g in range(cells.shape[1]):
            for c in range(cells.shape[2]):
                total += _f(cells[d, g, c], CELL, tables, priors)
        for c in range(cells.shape[2]):
            total -= _f(sums[2 * d, c], SUM, tables, priors) + _f(sums[2 * d + 1, c], SUM, tables, priors)
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


@training_kernel
def fill_sums(classes):
    """What follows from the sums."""
    for s in range(classes.sums.shape[0]):
        for c in range(classes.sums.shape[1]):
            classes.f_of_sums[s, c] = _f(classes.sums[s, c], SUM, classes.tables, classes.priors)


@inlined
def row_of(block, side, g, sums):
    """The row of a block's classes beside class g."""
    return (block * sums.shape[0] + side) * sums.shape[1] + g


@inlined
def copy_cell(d, g, c, classes, blocks):
    """Copy a cell to where it lies for an even side, and for the odd side beside it."""
    bits, mask = blocks.bits, (1 << blocks.bits) - 1
    even, odd = row_of(c >> bits, 2 * d, g, classes.sums), row_of(g >> bits, 2 * d + 1, c, classes.sums)
    x = classes.cells[d, g, c]
    gain = np.float32(classes.tables[LOG, x] if x < classes.tables.shape[1] - 1 else math.log(x + classes.priors[CELL]))
    blocks.cells[even, c & mask] = x
    blocks.gain[even, c & mask] = gain
    blocks.cells[odd, g & mask] = x
    blocks.gain[odd, g & mask] = gain


@kernel
def copy_changes(me, threads, classes, blocks):
    """Copy the share of thread `me` of the cells that changed; where one did more than once, all copy the same."""
    cells, n_changed = classes.cells, classes.n_changed[0]
    k, mask = cells.shape[1], (np.int64(1) << CLASS_BITS) - 1
    if n_changed == EVERYTHING:
        for d in range(cells.shape[0]):
            for g in range(k * me // threads, k * (me + 1) // threads):
                for c in range(k):
                    copy_cell(d, g, c, classes, blocks)
        return
    for i in range(n_changed * me // threads, n_changed * (me + 1) // threads):
        place = classes.changed[i]
        copy_cell(place >> 2 * CLASS_BITS, place >> CLASS_BITS & mask, place & mask, classes, blocks)


@inlined
def _change(d, g, c, n, classes, blocks):
    """Add n pairs to a cell, and copy it or note it; returns by how much f rises."""
    cells, tables, priors = classes.cells, classes.tables, classes.priors
    old = cells[d, g, c]
    new = old + n
    cells[d, g, c] = new
    noted = classes.n_changed[0]
    if classes.changed.size == 0:
        copy_cell(d, g, c, classes, blocks)
    elif 0 <= noted < classes.changed.size:
        classes.changed[noted] = (np.int64(d) << CLASS_BITS | np.int64(g)) << CLASS_BITS | np.int64(c)
        classes.n_changed[0] = noted + 1
    else:
        classes.n_changed[0] = EVERYTHING
    return _f(new, CELL, tables, priors) - _f(old, CELL, tables, priors)


@kernel
def move(w, to, sign, itself, neighbours, counts, n_found, classes, blocks):
    """Put a word into a class (sign 1) or take it out (-1); returns by how much the objective rises.

    neighbours[s, :n_found[s]] and counts[s] are its neighbours by class.
    """
    sums, tables, priors = classes.sums, classes.tables, classes.priors
    rise = 0.0
    for s in range(sums.shape[0]):
        total = itself[s, w]
        for i in range(n_found[s]):
            n = sign * counts[s, i]
            if s % 2 == 0:
                rise += _change(s // 2, neighbours[s, i], to, n, classes, blocks)
            else:
                rise += _change(s // 2, to, neighbours[s, i], n, classes, blocks)
            total += counts[s, i]
        if s % 2 == 0 and itself[s, w] > 0:
            rise += _change(s // 2, to, to, sign * itself[s, w], classes, blocks)
        sums[s, to] += sign * total
        f = _f(sums[s, to], SUM, tables, priors)
        rise -= f - classes.f_of_sums[s, to]
        classes.f_of_sums[s, to] = f
    return rise


@inlined
def _ask_for_cells(to, neighbours, n_found, cells):
    """Ask for the cells that change where a word goes to a class, or leaves it."""
    k = cells.shape[1]
    flat = cells.reshape(-1)
    for s in range(n_found.size):
        base = s // 2 * k * k
        for i in range(n_found[s]):
            g = neighbours[s, i]
            prefetch_to_write(flat, base + (g * k + to if s % 2 == 0 else to * k + g))


@kernel
def exchange(words, best, class_of, pairs, classes, blocks):
    """Move words, one after the other, where the class proposed really raises the objective.

    Returns by how much the objective rose.
    """
    starts, others, times, itself = pairs.starts, pairs.others, pairs.times, pairs.itself
    sides, k = classes.sums.shape
    met = np.zeros(k, np.int32)
    neighbours, counts = np.empty((sides, k), np.int32), np.empty((sides, k), np.int32)
    n_found = np.empty(sides, np.int64)
    rise = 0.0
    for at in range(words.size):
        w = words[at]
        own, new = class_of[w], best[w]
        for s in range(sides if at + AHEAD < words.size else 0):
            prefetch(others, starts[s, words[at + AHEAD]])
            prefetch(times, starts[s, words[at + AHEAD]])
        if own == new:
            continue
        for s in range(sides):
            n_found[s] = gather(w, s, class_of, starts, others, times, met, neighbours[s])
            for i in range(n_found[s]):
                counts[s, i] = met[neighbours[s, i]]
                met[neighbours[s, i]] = 0
        _ask_for_cells(own, neighbours, n_found, classes.cells)
        _ask_for_cells(new, neighbours, n_found, classes.cells)
        change = move(w, own, -1, itself, neighbours, counts, n_found, classes, blocks)
        change += move(w, new, 1, itself, neighbours, counts, n_found, classes, blocks)
        if change > LEAST:
            class_of[w] = new
            rise += change
        else:
            move(w, new, -1, itself, neighbours, counts, n_found, classes, blocks)
            move(w, own, 1, itself, neighbours, counts, n_found, classes, blocks)
    return rise
