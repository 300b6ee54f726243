"""Word classes by exchange: each word moves to the class that makes its neighbours most likely.

A *side* is where a neighbour stands: side 0 the next word, side 1 the one before; sides 2 and 3, where they are used,
the word after next and the one before the last. Sides come in pairs, s and s ^ 1, that look at the same pairs of words
from both ends. What is known of a side:

    starts[s, w] to starts[s, w+1]      in `others` and `times`: the neighbours of word w and how often they are
    itself[s, w]                        how often w is its own neighbour; such pairs are not among the others
    cells[s, g, c]                      pairs of a word of class c whose neighbour on side s is of class g
    sums[s, c]                          the same for all g: pairs of a word of class c

The objective: with f_p(x) = ln Gamma(x + p) - ln Gamma(p), the sum over the cells of one side of each pair of f_a(cell)
minus the sum over all sides and classes of f_ka(sum). With x ln x in place of f it would be the log likelihood of class
bigrams, but for what no exchange changes; large numbers make little difference. `a`, the prior, is what a cell is
believed to hold before any pair was seen: a class must be worth its k unknown cells, and two words that share one rare
neighbour are no reason to make one. `priors` holds a and k a, `tables` f of both for small numbers, and ln(x + a).
These are equations (26) and (27) of docs/ideas/mathematics.md.

`gain[s, g, c]` is f(x + 1) - f(x) = ln(x + a) of the cell, so that a neighbour met once costs one addition a class.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.jit import kernel
from gapgram.kernels.meeting import meet, next_piece, share_out_again

SPECIAL = 3  # classes of <unk>, <s>, </s>, which never move
TABLE = 1 << 14
SOFT = 0.4  # f_p(x + n) - f_p(x) is about n ln(x + p + SOFT (n - 1)): 1/e would be right for small x, 1/2 for large
LEAST = 1e-6  # that a move must bring
CELL, SUM, LOG = 0, 1, 2  # rows of the tables


class Pairs(NamedTuple):
    """The neighbours of every word on every side, as the module's head has them: int64, the others int32."""

    starts: np.ndarray
    others: np.ndarray
    times: np.ndarray
    itself: np.ndarray


class ClassCounts(NamedTuple):
    """What is known of the classes so far, as the module's head has it: int32, float32, int32, float64, float64."""

    cells: np.ndarray
    gain: np.ndarray
    sums: np.ndarray
    tables: np.ndarray
    priors: np.ndarray


@kernel
def f_tables(priors):
    """f of small whole numbers for the prior of a cell and of a sum, ln Gamma of the prior last; ln(x + a) of cells."""
    out = np.zeros((3, TABLE + 1))
    for p in range(2):
        least = math.lgamma(priors[p])
        for x in range(TABLE):
            out[p, x] = math.lgamma(x + priors[p]) - least
        out[p, TABLE] = least
    for x in range(TABLE):
        out[LOG, x] = math.log(x + priors[CELL])
    return out


@kernel
def _f(x, p, tables, priors):
    if x < TABLE:
        return tables[p, x]
    return math.lgamma(x + priors[p]) - tables[p, TABLE]


@kernel
def fill_cells(class_of, starts, others, times, itself, cells, sums):
    """Count the cells and sums of one side, all 0 before."""
    for w in range(class_of.size):
        c = class_of[w]
        cells[c, c] += itself[w]
        sums[c] += itself[w]
        for i in range(starts[w], starts[w + 1]):
            cells[class_of[others[i]], c] += times[i]
            sums[c] += times[i]


@kernel
def fill_gain(cells, gain, prior):
    """The gain of one more, for every cell of one side."""
    for g in range(cells.shape[0]):
        for c in range(cells.shape[1]):
            gain[g, c] = math.log(cells[g, c] + prior)


@kernel
def objective(cells, sums, tables, priors):
    """What exchanges increase: equation (26) of docs/ideas/mathematics.md."""
    total = 0.0
    for s in range(0, cells.shape[0], 2):
        for g in range(cells.shape[1]):
            for c in range(cells.shape[2]):
                total += _f(cells[s, g, c], CELL, tables, priors)
        for c in range(cells.shape[2]):
            total -= _f(sums[s, c], SUM, tables, priors) + _f(sums[s + 1, c], SUM, tables, priors)
    return total


@kernel
def _gather(w, side, class_of, starts, others, times, met, found):
    """Count the neighbours of a word by class into `met`, which is 0 but for the classes returned in `found`."""
    n = 0
    for i in range(starts[side, w], starts[side, w + 1]):
        g = class_of[others[i]]
        if met[g] == 0:
            found[n] = g
            n += 1
        met[g] += times[i]
    return n


@kernel
def _add_logs(scores, row, plus, factor):
    """scores[c] += factor ln(row[c] + plus), with an error of about 1e-5 in the logarithm.

    A float's bits hold the whole part of its base-2 logarithm; a polynomial gives the rest. No branches, so that the
    compiler works on several classes at once.
    """
    base_2 = np.float32(factor * math.log(2.0))
    more = np.float32(plus)
    for c in range(scores.size):
        bits = np.float32(np.float32(row[c]) + more).view(np.int32)
        whole = np.float32((bits >> np.int32(23)) - np.int32(127))
        m = np.int32((bits & np.int32(0x007FFFFF)) | np.int32(0x3F800000)).view(np.float32)
        rest = np.float32(-2.78792621) + m * (
            np.float32(5.04785541) + m * (
                np.float32(-3.48987855) + m * (
                    np.float32(1.58947429) + m * (
                        np.float32(-0.40251339) + m * np.float32(0.04300496)))))  # fmt: skip
        scores[c] += base_2 * (whole + rest)


@kernel
def _add_rows(scores, rows, which, n):
    """Add rows to the scores, four at a time, in order."""
    i = 0
    while i + 4 <= n:
        r0, r1, r2, r3 = rows[which[i]], rows[which[i + 1]], rows[which[i + 2]], rows[which[i + 3]]
        for c in range(scores.size):
            scores[c] = scores[c] + r0[c] + r1[c] + r2[c] + r3[c]
        i += 4
    while i < n:
        row = rows[which[i]]
        for c in range(scores.size):
            scores[c] += row[c]
        i += 1


@kernel
def _soft(x, n, prior):
    """About f(x + n) - f(x)."""
    return n * math.log(max(0, x) + prior + SOFT * (n - 1))


@kernel
def propose(words, best, class_of, pairs, classes):
    """For some words the class that each would like best where all others stay; written to `best`.

    Approximate, for speed: `exchange` looks again.
    """
    starts, others, times, itself = pairs.starts, pairs.others, pairs.times, pairs.itself
    cells, gain, sums, priors = classes.cells, classes.gain, classes.sums, classes.priors
    sides, k = cells.shape[0], cells.shape[2]
    met, found, scores = np.zeros(k, np.int32), np.empty(k, np.int32), np.empty(k, np.float32)
    for w in words:
        own = class_of[w]
        stay = 0.0
        for c in range(k):
            scores[c] = 0
        for s in range(sides):
            twice = itself[s, w]
            total = twice
            ones = 0
            n_found = _gather(w, s, class_of, starts, others, times, met, found)
            for i in range(n_found):
                g = found[i]
                n = met[g]
                met[g] = 0
                total += n
                row = cells[s, g]
                if n == 1:
                    found[ones] = g
                    ones += 1
                else:
                    _add_logs(scores, row, priors[CELL] + SOFT * (n - 1), n)
                stay += _soft(row[own] - n - (twice if g == own else 0), n, priors[CELL])
            _add_rows(scores, gain[s], found, ones)
            if total > 0:
                _add_logs(scores, sums[s], priors[SUM] + SOFT * (total - 1), -total)
                stay -= _soft(sums[s, own] - total, total, priors[SUM])
            if twice > 0 and s % 2 == 0:
                for c in range(k):
                    scores[c] += np.float32(_soft(cells[s, c, c], twice, priors[CELL]))
                stay += _soft(cells[s, own, own] - twice, twice, priors[CELL])
        scores[own] = stay
        top = own
        for c in range(SPECIAL, k):
            if scores[c] > scores[top]:
                top = c
        best[w] = top


@kernel
def _change(s, g, c, n, cells, gain, tables, priors):
    """Add n pairs to a cell and to the same cell seen from the other side; returns by how much f rises."""
    old = cells[s, g, c]
    new = old + n
    cells[s, g, c] = new
    cells[s ^ 1, c, g] = new
    one = np.float32(tables[LOG, new] if new < TABLE else math.log(new + priors[CELL]))
    gain[s, g, c] = one
    gain[s ^ 1, c, g] = one
    return _f(new, CELL, tables, priors) - _f(old, CELL, tables, priors)


@kernel
def move(w, to, sign, itself, neighbours, counts, n_found, classes):
    """Put a word into a class (sign 1) or take it out (-1); returns by how much the objective rises.

    neighbours[s, :n_found[s]] and counts[s] are its neighbours by class.
    """
    cells, gain, sums = classes.cells, classes.gain, classes.sums
    tables, priors = classes.tables, classes.priors
    rise = 0.0
    for s in range(cells.shape[0]):
        total = itself[s, w]
        for i in range(n_found[s]):
            rise += _change(s, neighbours[s, i], to, sign * counts[s, i], cells, gain, tables, priors)
            total += counts[s, i]
        if s % 2 == 0 and itself[s, w] > 0:
            rise += _change(s, to, to, sign * itself[s, w], cells, gain, tables, priors)
        old = sums[s, to]
        rise -= _f(old + sign * total, SUM, tables, priors) - _f(old, SUM, tables, priors)
        sums[s, to] = old + sign * total
    return rise


@kernel
def exchange(words, best, class_of, pairs, classes):
    """Move words, one after the other, where the class proposed really raises the objective.

    Returns by how much the objective rose.
    """
    starts, others, times, itself = pairs.starts, pairs.others, pairs.times, pairs.itself
    sides, k = classes.cells.shape[0], classes.cells.shape[2]
    met = np.zeros(k, np.int32)
    neighbours, counts = np.empty((sides, k), np.int32), np.empty((sides, k), np.int32)
    n_found = np.empty(sides, np.int64)
    rise = 0.0
    for w in words:
        own, new = class_of[w], best[w]
        if own == new:
            continue
        for s in range(sides):
            n_found[s] = _gather(w, s, class_of, starts, others, times, met, neighbours[s])
            for i in range(n_found[s]):
                counts[s, i] = met[neighbours[s, i]]
                met[neighbours[s, i]] = 0
        change = move(w, own, -1, itself, neighbours, counts, n_found, classes)
        change += move(w, new, 1, itself, neighbours, counts, n_found, classes)
        if change > LEAST:
            class_of[w] = new
            rise += change
        else:
            move(w, new, -1, itself, neighbours, counts, n_found, classes)
            move(w, own, 1, itself, neighbours, counts, n_found, classes)
    return rise


@kernel
def sweep(me, threads, meeting, words, cuts, best, class_of, pairs, classes):
    """What thread `me` does where words move, batch by batch: words[cuts[b]] to words[cuts[b+1]] are judged by all
    threads against the same counts, then moved by the first. Returns by how much the objective rose by its moves."""
    rise = 0.0
    for b in range(cuts.size - 1):
        n = cuts[b + 1] - cuts[b]
        piece = max(1, n // (8 * threads))
        begin = next_piece(meeting, piece) if threads > 1 else 0
        while begin < n:
            end = min(n, begin + piece)
            propose(words[cuts[b] + begin : cuts[b] + end], best, class_of, pairs, classes)
            begin = next_piece(meeting, piece) if threads > 1 else end
        meet(meeting, threads)
        if me == 0:
            share_out_again(meeting)
            rise += exchange(words[cuts[b] : cuts[b + 1]], best, class_of, pairs, classes)
        meet(meeting, threads)
    return rise
