"""Words that move between classes: all of a batch at once, by all threads, with the result of one.

When the words of a batch are judged (`kernels.classes.judging`), each wishes for the class that it would like best, if
the objective rises by that where all others stay. Where several words are a large part of the same class, and leave it
or come to it, the one that the objective rises most by moves, and the others stay: else two frequent words change
places and nothing is gained. What moves is counted in whole numbers, so their order makes no difference.

A pair of two words that both move is counted for each of them as if the other stayed; `Moves` has such pairs, for what
is to be made up for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.barrier import next_piece, restart_sharing, wait
from gapgram.kernels.classes.exchange import CELL, SUM, add_to_cell, cell_of, f_of, row_of
from gapgram.kernels.classes.judging import chosen, gather_some, judge_share
from gapgram.kernels.compiled import inlined, kernel
from gapgram.kernels.intrinsics import atomic_add, atomic_max

LEAST = 1e-6  # that a move must bring
LARGE_MOVE_FRACTION = 0.03  # of a class
_RANK_BITS, _NUMBER_BITS = 31, 21  # of a claim: by how much the objective rises, as a float32, and the word's number
_PIECES = 8  # that each thread takes, about, of what is shared out piece by piece


class Moves(NamedTuple):
    """The words of a batch that move.

    wish: int32 [word], the class that each wishes for; its own but while a batch moves
    claims: int64 [class], of the words that are a large part of it, and leave it or come to it, the claim of the one
        that the objective rises most by; 0 at first
    claim_of: int64 [word], of those that wish for another class
    before, after: int32 [word of the batch], the classes that it leaves and comes to, or its own twice
    both: int32 [pair, 6], pairs of which both words move: distance, classes of the one before and after, classes of its
        neighbour before and after, and how often they are
    n_both: int64, how many those are
    """

    wish: np.ndarray
    claims: np.ndarray
    claim_of: np.ndarray
    before: np.ndarray
    after: np.ndarray
    both: np.ndarray
    n_both: np.ndarray


@kernel
def rise_of(at, w, own, to, base, pairs, classes, judged):
    """By how much the objective rises if word w, number `at` of its batch, moves and all others stay.

    base: where the neighbours of the batch begin in `judged.offsets`.
    """
    sums, tables, priors = classes.sums, classes.tables, classes.priors
    rise = 0.0
    for d in range(sums.shape[0] // 2):
        # Neighbours of other classes than the two, and how many are of these: on the even side, then on the odd one.
        met = np.zeros((2, 2), np.int64)
        for side in range(2):
            s = 2 * d + side
            begin = judged.offsets[w, s] - base
            for i in range(begin, begin + judged.n_met[at, s]):
                g, n = judged.classes[i], judged.times[i]
                if g in (own, to):
                    met[side, int(g == to)] = n
                    continue
                x, y = cell_of(s, g, own, classes), cell_of(s, g, to, classes)
                rise += f_of(x - n, CELL, tables, priors) - f_of(x, CELL, tables, priors)
                rise += f_of(y + n, CELL, tables, priors) - f_of(y, CELL, tables, priors)
            x, y, n = sums[s, own], sums[s, to], judged.totals[at, s]
            rise -= f_of(x - n, SUM, tables, priors) - f_of(x, SUM, tables, priors)
            rise -= f_of(y + n, SUM, tables, priors) - f_of(y, SUM, tables, priors)
        # The four cells of the two classes, which pairs of both sides change.
        for i in range(4):
            is_g, is_c = i & 1, i >> 1
            n = met[0, is_g] * (2 * is_c - 1) + met[1, is_c] * (2 * is_g - 1)
            n += pairs.itself[2 * d, w] * (2 * is_c - 1) if is_g == is_c else 0
            x = cell_of(2 * d, to if is_g else own, to if is_c else own, classes)
            rise += f_of(x + n, CELL, tables, priors) - f_of(x, CELL, tables, priors)
    return rise


@inlined
def _is_large(at, c, classes, judged):
    """Whether a word of the batch is a large part of a class."""
    return judged.totals[at, 0] >= LARGE_MOVE_FRACTION * classes.sums[0, c]


@kernel
def _wish(b, words, begin, end, class_of, pairs, classes, judged, moves):
    """Let words begin … end-1 of batch b wish for other classes, and lay claim to these and to their own.

    The claim of a later batch counts for more than that of an earlier one, then a higher rise, then an earlier word.
    """
    base = judged.offsets[words[0], 0]
    for at in range(begin, end):
        w = words[at]
        own = class_of[w]
        to = chosen(at, own, judged)
        rise = rise_of(at, w, own, to, base, pairs, classes, judged) if to != own else 0.0
        if rise <= LEAST:
            continue
        moves.wish[w] = to
        rank = np.int64(np.float32(rise).view(np.int32))
        claim = (np.int64(b + 1) << _RANK_BITS | rank) << _NUMBER_BITS | ((1 << _NUMBER_BITS) - 1 - at)
        moves.claim_of[w] = claim
        for c in (own, to):
            if _is_large(at, c, classes, judged):
                atomic_max(moves.claims, c, claim)


@kernel
def _settle(words, begin, end, class_of, classes, judged, moves):
    """Note where words begin … end-1 of a batch go; those give up their wish of which another has the better claim."""
    for at in range(begin, end):
        w = words[at]
        own, to = class_of[w], moves.wish[w]
        for c in (own, to):
            if own != to and _is_large(at, c, classes, judged) and moves.claims[c] != moves.claim_of[w]:
                moves.wish[w] = own
        moves.before[at], moves.after[at] = own, moves.wish[w]


@kernel
def note_both(words, begin, end, class_of, pairs, moves):
    """Note the pairs of words begin … end-1 of a batch, which move, with neighbours on even sides that move, too."""
    for at in range(begin, end):
        if moves.before[at] == moves.after[at]:
            continue
        for s in range(0, pairs.starts.shape[0], 2):
            for i in range(pairs.starts[s, words[at]], pairs.starts[s, words[at] + 1]):
                other = pairs.others[i]
                if class_of[other] != moves.wish[other]:
                    noted = moves.both[atomic_add(moves.n_both, 0, 1)]
                    noted[0], noted[1], noted[2] = s // 2, moves.before[at], moves.after[at]
                    noted[3], noted[4], noted[5] = class_of[other], moves.wish[other], pairs.times[i]


@inlined
def _move_pairs(row_before, row_after, i, n, classes):
    """Take n pairs from a cell and add them to another."""
    add_to_cell(row_before, i, -n, classes)
    add_to_cell(row_after, i, n, classes)


@kernel
def count_moves(block, side, words, pairs, classes, judged, moves):
    """Count the words of a batch where they go, in the rows of one block and side."""
    sums, bits, mask = classes.sums, classes.bits, (1 << classes.bits) - 1
    base, first = judged.offsets[words[0], 0], row_of(block, side, 0, sums)
    for at in range(words.size):
        w, own, to = words[at], moves.before[at], moves.after[at]
        if own == to:
            continue
        itself = pairs.itself[side, w]
        # The word itself leaves one class and comes to another.
        begin = judged.offsets[w, side] - base
        end = begin + judged.n_met[at, side]
        if own >> bits == block:
            for i in range(begin, end):
                add_to_cell(first + judged.classes[i], own & mask, -judged.times[i], classes)
            add_to_cell(first + own, own & mask, -itself, classes)
            sums[side, own] -= judged.totals[at, side]
        if to >> bits == block:
            for i in range(begin, end):
                add_to_cell(first + judged.classes[i], to & mask, judged.times[i], classes)
            add_to_cell(first + to, to & mask, itself, classes)
            sums[side, to] += judged.totals[at, side]
        # As a neighbour, it does so for the words that are on its other side.
        begin = judged.offsets[w, side ^ 1] - base
        for i in range(begin, begin + judged.n_met[at, side ^ 1]):
            c = judged.classes[i]
            if c >> bits == block:
                _move_pairs(first + own, first + to, c & mask, judged.times[i], classes)
    for i in range(moves.n_both[0]):
        pair = moves.both[i]
        if pair[0] != side // 2:
            continue
        own, to, others, beyond, n = pair[1], pair[2], pair[3], pair[4], pair[5]
        if side % 2 == 1:
            own, to, others, beyond = others, beyond, own, to
        if own >> bits == block:
            _move_pairs(first + beyond, first + others, own & mask, n, classes)
        if to >> bits == block:
            _move_pairs(first + others, first + beyond, to & mask, n, classes)


@kernel
def sweep(me, threads, barrier, words, cuts, class_of, pairs, classes, judged, moves):
    """What thread `me` does where words move, batch by batch: words[cuts[b]] to words[cuts[b+1]] are judged against the
    same counts, then all that wish to move do so."""
    sides, n_blocks = classes.sums.shape[0], judged.tops.shape[0]
    met, found = np.zeros(classes.sums.shape[1], np.int32), np.empty(classes.sums.shape[1], np.int32)
    for b in range(cuts.size - 1):
        batch = words[cuts[b] : cuts[b + 1]]
        # Neighbours by class.
        n = batch.size * sides
        piece = max(1, n // (_PIECES * threads))
        begin = next_piece(barrier, piece)
        while begin < n:
            gather_some(batch, begin, min(n, begin + piece), class_of, pairs, met, found, judged)
            begin = next_piece(barrier, piece)
        wait(barrier, threads)
        if me == 0:
            restart_sharing(barrier)
            moves.n_both[0] = 0
        judge_share(me, threads, batch, class_of, pairs, classes, judged)
        wait(barrier, threads)
        if me == 0:
            judged.taken[:] = 0
        # Wishes and claims.
        n = batch.size
        piece = max(1, n // (_PIECES * threads))
        begin = next_piece(barrier, piece)
        while begin < n:
            _wish(b, batch, begin, min(n, begin + piece), class_of, pairs, classes, judged, moves)
            begin = next_piece(barrier, piece)
        wait(barrier, threads)
        if me == 0:
            restart_sharing(barrier)
        _settle(batch, n * me // threads, n * (me + 1) // threads, class_of, classes, judged, moves)
        wait(barrier, threads)
        begin = next_piece(barrier, piece)
        while begin < n:
            note_both(batch, begin, min(n, begin + piece), class_of, pairs, moves)
            begin = next_piece(barrier, piece)
        wait(barrier, threads)
        if me == 0:
            restart_sharing(barrier)
        # Counts, each by one thread: one that judges for the block, where there are several.
        for i in range(n_blocks * sides * me // threads, n_blocks * sides * (me + 1) // threads):
            count_moves(i // sides, i % sides, batch, pairs, classes, judged, moves)
        for at in range(n * me // threads, n * (me + 1) // threads):
            class_of[batch[at]] = moves.after[at]
        wait(barrier, threads)
