"""Which class each word of a batch would like best where all others stay: judged by all threads together.

First the neighbours of every word are counted by class: (word, side) by (word, side), shared out among the threads.
Then each thread judges some of the words for some of the classes: a block of them, whose cells fit into the cache of a
processor, and which stays its own as long as there are words to judge for it. So a frequent word is judged by several
threads, too. Numbers are added up in the order of one thread.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.barrier import APART
from gapgram.kernels.classes.exchange import CELL, LOG, SUM, gather, row_of
from gapgram.kernels.compiled import inlined, kernel
from gapgram.kernels.intrinsics import atomic_add, prefetch

AHEAD = 4  # words whose neighbours are asked for before they are read
_PIECES = 8  # that each thread judges, about, of a batch
SPECIAL = 3  # classes of <unk>, <s>, </s>, which never move
SOFT = 0.4  # f_p(x + n) - f_p(x) is about n ln(x + p + SOFT (n - 1)): 1/e would be right for small x, 1/2 for large


class JudgedWords(NamedTuple):
    """Neighbours of the words of a batch by class, and what was judged of it.

    offsets: int64, of all words; classes[offsets[w, s] - offsets[first word of the batch, 0]] on, and `times`, int32,
        are for the neighbours of word w on side s
    n_met, n_several, totals: int32 [word of the batch, side], how many classes those are, how many of them, the first
        ones, are met more than once, and how many pairs the word has
    tops, scores: int32, float32 [block, word of the batch], the best class but for the word's own, and its score
    stays: float32 [word of the batch], the score of its own class
    taken: int64, at block * APART how many words were taken to be judged for a block; 0 at first
    """

    offsets: np.ndarray
    classes: np.ndarray
    times: np.ndarray
    n_met: np.ndarray
    n_several: np.ndarray
    totals: np.ndarray
    tops: np.ndarray
    scores: np.ndarray
    stays: np.ndarray
    taken: np.ndarray


@kernel
def costs_and_offsets(starts, n_classes):
    """What it costs to judge each word: its neighbours, and a little for itself; and `offsets` of `JudgedWords`."""
    n_words = starts.shape[1] - 1
    costs = np.empty(n_words, np.int64)
    offsets = np.empty((n_words, starts.shape[0]), np.int64)
    at = np.int64(0)
    for w in range(n_words):
        costs[w] = starts.shape[0]
        for s in range(starts.shape[0]):
            n = starts[s, w + 1] - starts[s, w]
            costs[w] += n
            offsets[w, s] = at
            at += min(n, n_classes)
    return costs, offsets


@inlined
def _log_2(x):
    """The base-2 logarithm of a float32, with an error of about 1e-5.

    Its bits hold the whole part; a polynomial gives the rest. No branches, so that the compiler works on several
    classes at once.
    """
    bits = np.float32(x).view(np.int32)
    whole = np.float32((bits >> np.int32(23)) - np.int32(127))
    m = np.int32((bits & np.int32(0x007FFFFF)) | np.int32(0x3F800000)).view(np.float32)
    return whole + (
        np.float32(-2.78792621) + m * (
            np.float32(5.04785541) + m * (
                np.float32(-3.48987855) + m * (
                    np.float32(1.58947429) + m * (
                        np.float32(-0.40251339) + m * np.float32(0.04300496))))))  # fmt: skip


@kernel
def _add_logs(scores, row, plus, factor):
    """scores[c] += factor ln(row[c] + plus)."""
    base_2 = np.float32(factor * math.log(2.0))
    more = np.float32(plus)
    for c in range(scores.size):
        scores[c] += base_2 * _log_2(np.float32(np.float32(row[c]) + more))


@inlined
def _add_logs_of(scores, rows, which, times, prior):
    """Add times[i] ln(row + prior and something) for rows which[i], four at a time, in order."""
    i, n = 0, which.size
    while i + 4 <= n:
        r0, r1, r2, r3 = rows[which[i]], rows[which[i + 1]], rows[which[i + 2]], rows[which[i + 3]]
        m0, m1 = np.float32(prior + SOFT * (times[i] - 1)), np.float32(prior + SOFT * (times[i + 1] - 1))
        m2, m3 = np.float32(prior + SOFT * (times[i + 2] - 1)), np.float32(prior + SOFT * (times[i + 3] - 1))
        b0, b1 = np.float32(times[i] * math.log(2.0)), np.float32(times[i + 1] * math.log(2.0))
        b2, b3 = np.float32(times[i + 2] * math.log(2.0)), np.float32(times[i + 3] * math.log(2.0))
        for c in range(scores.size):
            score = scores[c] + b0 * _log_2(np.float32(np.float32(r0[c]) + m0))
            score += b1 * _log_2(np.float32(np.float32(r1[c]) + m1))
            score += b2 * _log_2(np.float32(np.float32(r2[c]) + m2))
            scores[c] = score + b3 * _log_2(np.float32(np.float32(r3[c]) + m3))
        i += 4
    while i < n:
        _add_logs(scores, rows[which[i]], prior + SOFT * (times[i] - 1), times[i])
        i += 1


@inlined
def _add_rows(scores, rows, which):
    """Add rows to the scores, four at a time, in order."""
    i, n = 0, which.size
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


@inlined
def _soft(x, n, prior):
    """About f(x + n) - f(x)."""
    return n * math.log(max(0, x) + prior + SOFT * (n - 1))


@kernel
def gather_some(words, begin, end, class_of, pairs, met, found, judged):
    """Count neighbours by class: of (word, side) begin … end-1 of a batch, word by word.

    met, found: room for a number for each class; `met` is 0 before and after.
    """
    sides = judged.n_met.shape[1]
    first = judged.offsets[words[0], 0]
    for i in range(begin, end):
        w, s = words[i // sides], i % sides
        if i // sides + AHEAD < words.size:
            ahead = pairs.starts[s, words[i // sides + AHEAD]]
            prefetch(pairs.others, ahead)
            prefetch(pairs.times, ahead)
        n = gather(w, s, class_of, pairs.starts, pairs.others, pairs.times, met, found)
        # Those met more than once from the first place on, the others from the last place back.
        several = judged.offsets[w, s] - first
        once = several + n
        total = pairs.itself[s, w]
        for j in range(n):
            times = met[found[j]]
            met[found[j]] = 0
            total += times
            if times > 1:
                judged.classes[several] = found[j]
                judged.times[several] = times
                several += 1
            else:
                once -= 1
                judged.classes[once] = found[j]
                judged.times[once] = 1
        at = i // sides
        judged.n_met[at, s] = n
        judged.n_several[at, s] = several - (judged.offsets[w, s] - first)
        judged.totals[at, s] = total


@kernel
def _top(scores):
    """The first of the highest scores.

    As whole numbers in the same order, of which the compiler compares several at once.
    """
    bits = scores.view(np.int32)
    highest = np.int32(-0x80000000)
    for c in range(bits.size):
        highest = max(highest, bits[c] ^ ((bits[c] >> np.int32(31)) & np.int32(0x7FFFFFFF)))
    for c in range(bits.size):
        if bits[c] ^ ((bits[c] >> np.int32(31)) & np.int32(0x7FFFFFFF)) == highest:
            return c
    return 0


@inlined
def _score(at, w, own, base, block, pairs, classes, judged, scores):
    """Fill the scores of a block's classes for word w, number `at` of its batch; `scores` has room for a whole block.

    Returns the score of staying in its own class, if that is of the block. Approximate, for speed:
    `kernels.classes.moving` looks again. base: where the neighbours of the batch begin in `judged.offsets`.
    """
    sums, priors, tables, first = classes.sums, classes.priors, classes.tables, block << classes.bits
    n_classes, here = min(scores.size, sums.shape[1] - first), own - first
    is_here = 0 <= here < n_classes
    stay = 0.0
    for c in range(scores.size):
        scores[c] = 0
    for s in range(sums.shape[0]):
        rows, twice, begin = row_of(block, s, 0, sums), pairs.itself[s, w], judged.offsets[w, s] - base
        cells = classes.rows[rows:]
        end = begin + judged.n_met[at, s]
        # Classes of neighbours met more than once, then those met once.
        n_several, total = judged.n_several[at, s], judged.totals[at, s]
        once = begin + n_several
        _add_logs_of(scores, cells, judged.classes[begin:once], judged.times[begin:once], priors[CELL])
        _add_rows(scores, classes.gain[rows:], judged.classes[once:end])
        if is_here:
            for i in range(begin, end):
                g, n = judged.classes[i], judged.times[i]
                x = max(0, cells[g, here] - n - (twice if g == own else 0))
                stay += tables[LOG, x] if n == 1 and x < tables.shape[1] - 1 else _soft(x, n, priors[CELL])
        if total > 0:
            _add_logs(scores[:n_classes], sums[s, first:], priors[SUM] + SOFT * (total - 1), -total)
            stay -= _soft(sums[s, own] - total, total, priors[SUM])
        if twice > 0 and s % 2 == 0:
            for c in range(n_classes):
                scores[c] += np.float32(_soft(cells[first + c, c], twice, priors[CELL]))
            if is_here:
                stay += _soft(cells[own, here] - twice, twice, priors[CELL])
    return stay


@kernel
def _judge(words, begin, end, block, class_of, pairs, classes, judged):
    """Judge words begin … end-1 of a batch for the classes of one block."""
    k, width = classes.sums.shape[1], classes.rows.shape[1]
    first, base = block << classes.bits, judged.offsets[words[0], 0]
    # In the last block also for places that are no classes: so the compiler works on whole rows, and none of it alone.
    scores, n_classes, special = np.empty(width, np.float32), min(width, k - first), max(SPECIAL - first, 0)
    for at in range(begin, end):
        w = words[at]
        own = class_of[w]
        stay = _score(at, w, own, base, block, pairs, classes, judged, scores)
        if first <= own < first + n_classes:
            judged.stays[at] = stay
            scores[own - first] = -np.inf
        top = special + _top(scores[special:n_classes])
        judged.tops[block, at] = first + top
        judged.scores[block, at] = scores[top]


@inlined
def chosen(at, own, judged):
    """The class that word number `at` of a batch would like best: its own unless another is better."""
    top, score = own, judged.stays[at]
    for block in range(judged.tops.shape[0]):
        if judged.scores[block, at] > score:
            top, score = judged.tops[block, at], judged.scores[block, at]
    return top


@kernel
def judge_share(me, threads, words, class_of, pairs, classes, judged):
    """What thread `me` judges, piece by piece: words for the classes of its own block first, then of the others'."""
    n_blocks = judged.tops.shape[0]
    piece = max(1, words.size * n_blocks // (_PIECES * threads))
    for i in range(n_blocks):
        block = (me * n_blocks // threads + i) % n_blocks
        begin = atomic_add(judged.taken, block * APART, piece)
        while begin < words.size:
            _judge(words, begin, min(words.size, begin + piece), block, class_of, pairs, classes, judged)
            begin = atomic_add(judged.taken, block * APART, piece)
