"""The beams of a search (`kernels.ctc.beam_search`): what they hold and may become, and which of that is best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.ctc.prefixes import BEFORE_TEXT, WORD
from gapgram.kernels.ctc.tries import pair_of

# Columns of beams: text, part, label (-1 before the first one), first frame of the part and the one after its last,
# and the frames of the words before it.
TEXT, PART, LAST, FIRST, AFTER, FRAMES = range(6)
N_BEAM_COLUMNS = 6
# Columns of candidates: the beam they come from, what was done to it, text, part, label
SOURCE, MOVE, NEW_TEXT, NEW_PART, NEW_LAST = range(5)
N_CANDIDATE_COLUMNS = 5
STAYED, REPEATED, BROKE, GREW = range(4)
LOG_PROB, TOTAL = 0, 1  # columns of the scores of candidates
# Columns of what the model is asked: the state's row, the word, the row of the state after it, the text
FROM, ASKED_WORD, TO, OF_TEXT = range(4)
NOT_KEPT = -1  # in the place of a row that nobody will ask

# Columns of `counts`, after those of prefixes
N_ROWS, N_FRAMES, N_BEAMS, N_CANDIDATES, N_ASKED, FRAME, NEXT, IS_ASKING, STAMP = range(2, 11)
N_COUNTS = 11


class Beams(NamedTuple):
    """The beams of a search, and room for what they become.

    beams, log_probs, totals    the beams, best first
    frames      [n, 3]: of the words of beams, the word before it, its first frame and the one after its last
    candidates, scores      what beams may become, and their scores
    merged      [slot, 2]: which candidate has a text and part, where the stamp above it is of now
    order       candidates, and room for as many
    asked, answers      what the model is asked, and log10 of the probabilities that it gives
    """

    beams: np.ndarray
    log_probs: np.ndarray
    totals: np.ndarray
    frames: np.ndarray
    candidates: np.ndarray
    scores: np.ndarray
    merged: np.ndarray
    order: np.ndarray
    asked: np.ndarray
    answers: np.ndarray


class Frames(NamedTuple):
    """Labels that may be there and log of their probabilities; those of frame t are from begins[t] to begins[t + 1]."""

    labels: np.ndarray
    log_probs: np.ndarray
    begins: np.ndarray


@kernel
def select(prefixes, beams, rules, history):
    """Put the best candidates first in `order`; returns how many are kept.

    history: words by which those that are kept are told apart; 0 for all.
    """
    counts, scores, order = prefixes.counts, beams.scores, beams.order
    best = -np.inf
    for c in range(counts[N_CANDIDATES]):
        best = max(best, scores[c, TOTAL])
    n = 0
    for c in range(counts[N_CANDIDATES]):
        if scores[c, TOTAL] >= best + rules.prune and scores[c, TOTAL] > -np.inf:
            order[n] = c
            n += 1
    sort_falling(order, n, scores)
    n = min(n, rules.width)
    return _distinct(n, prefixes, beams, history) if history > 0 else n


@kernel
def sort_falling(order, n, scores):
    """Sort the first n of `order` by their totals, the largest first; equal ones stay in their order.

    `order` has room for twice as many.
    """
    here, there, width = 0, order.size // 2, 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            left, right = low, middle
            for at in range(low, high):
                take_left = right >= high or (
                    left < middle and scores[order[here + left], TOTAL] >= scores[order[here + right], TOTAL]
                )
                if take_left:
                    order[there + at] = order[here + left]
                    left += 1
                else:
                    order[there + at] = order[here + right]
                    right += 1
        here, there = there, here
        width *= 2
    if here > 0:
        for i in range(n):
            order[i] = order[here + i]


@kernel
def _distinct(n, prefixes, beams, history):
    """Of the first n in `order` keep the first of those with the same last words, part and label."""
    counts, merged, order, texts = prefixes.counts, beams.merged, beams.order, prefixes.texts
    counts[STAMP] += 1
    mask, kept = merged.shape[0] - 1, 0
    for i in range(n):
        candidate = beams.candidates[order[i]]
        key = np.uint64(pair_of(candidate[NEW_PART], candidate[NEW_LAST]))
        text = np.int64(candidate[NEW_TEXT])
        for _ in range(history):
            key = (key ^ np.uint64(texts[text, WORD])) * np.uint64(0x9E3779B97F4A7C15)
            text = np.int64(texts[text, BEFORE_TEXT])
        at = np.int64(key >> np.uint64(40)) & mask
        is_new = True
        while merged[at, 1] >> 32 == counts[STAMP]:
            if _are_alike(merged[at, 1] & 0xFFFFFFFF, order[i], prefixes, beams, history):
                is_new = False
                break
            at = (at + 1) & mask
        if is_new:
            merged[at, 0], merged[at, 1] = 0, pair_of(counts[STAMP], order[i])
            order[kept] = order[i]
            kept += 1
    return kept


@kernel
def _are_alike(first, second, prefixes, beams, history):
    """Whether two candidates have the same last words, part and label."""
    a, b, texts = beams.candidates[first], beams.candidates[second], prefixes.texts
    if a[NEW_PART] != b[NEW_PART] or a[NEW_LAST] != b[NEW_LAST]:
        return False
    one, other = np.int64(a[NEW_TEXT]), np.int64(b[NEW_TEXT])
    for _ in range(history):
        if one == other:
            return True
        if texts[one, WORD] != texts[other, WORD] or one == 0 or other == 0:
            return False
        one, other = np.int64(texts[one, BEFORE_TEXT]), np.int64(texts[other, BEFORE_TEXT])
    return True
