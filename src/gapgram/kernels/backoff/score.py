"""Texts scored by a backoff model: a block of positions at a time, length by length.

A search halves a list, and each read waits for the one before. So all searches of a length go step by step together,
and each asks for the memory that its next step will read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.backoff.grams import children_of
from gapgram.kernels.compiled import brief, kernel
from gapgram.kernels.intrinsics import prefetch
from gapgram.kernels.probability.scores import finite_log10
from gapgram.kernels.text.special_words import START_ID
from gapgram.kernels.text.words import ALLOW_UNKNOWN, DONE, encode_lines

_BLOCK = 256  # positions that are looked up together


class _Searches(NamedTuple):
    """Searches for the word of a column among the grams that extend one: int64 [search] each.

    columns     in which the word stands
    low, high   between which grams it is
    ends        where the list of grams ends
    open_ones   the searches that are not done
    """

    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray
    ends: np.ndarray
    open_ones: np.ndarray


@kernel
def _halve(grams, words, searches, n):
    """Do the first n searches for the words of `grams[0]`: `low` becomes the first gram that is not before the word."""
    columns, low, high, open_ones = searches.columns, searches.low, searches.high, searches.open_ones
    for j in range(n):
        open_ones[j] = j
    while n > 0:
        left = 0
        for i in range(n):
            j = np.uint64(open_ones[i])
            if low[j] < high[j]:
                middle = (low[j] + high[j]) >> 1
                if words[np.uint64(middle)] < grams[0, np.uint64(columns[j])]:
                    low[j] = middle + 1
                else:
                    high[j] = middle
                prefetch(words, (low[j] + high[j]) >> 1)
                open_ones[left] = j
                left += 1
        n = left


@kernel
def _locate(available, order, words, children, grams):
    """Fill rows 1 … order-1 of `grams`, in which [k, column] is the gram of k+1 words that ends there; -1: none.

    Row 0 holds the words. Position i, before which available[i] words are known, has column order+i.
    """
    n_contexts, scratch = children.size - 1, np.empty((5, available.size), np.int64)
    searches = _Searches(scratch[0], scratch[1], scratch[2], scratch[3], scratch[4])
    for k in range(1, order):
        # The gram of the words before must be there, and the one without the oldest word
        n = 0
        for i in range(available.size):
            column = np.uint64(order + i)
            parent, end = grams[k - 1, column - np.uint64(1)], grams[k - 1, column]
            grams[k, column] = -1
            if available[i] >= k and end >= 0 and 0 <= parent < n_contexts:
                searches.columns[n] = order + i
                searches.low[n] = parent
                prefetch(children, parent)
                n += 1
        for j in range(n):
            begin, end = children_of(np.uint64(searches.low[j]), words, children)
            searches.low[j], searches.high[j], searches.ends[j] = begin, end, end
            prefetch(words, (begin + end) >> 1)
        _halve(grams, words, searches, n)
        for j in range(n):
            gram, column = searches.low[j], np.uint64(searches.columns[j])
            if gram < searches.ends[j] and words[gram] == grams[0, column]:
                grams[k, column] = gram


@kernel
def _score(column, known, order, log10_probs, log10_backoffs, grams):
    """(log10 of the probability of the word of a column, length of the longest gram), as `backoff.step` has them."""
    length = 1
    while length < order and grams[length, column] >= 0:
        length += 1
    total = log10_probs[grams[length - 1, column]]
    for k in range(length - 1, known):
        context = grams[k, column - 1]
        if context < 0 or context >= log10_backoffs.size:
            break
        total += log10_backoffs[context]
    return total, length


@kernel
def score_positions(ids, begins, order, words, children, log10_probs, log10_backoffs, out, lengths):
    """log10 of the probability of every word of sequences; `lengths` of the grams found.

    `<s>` at the beginning of a sequence scores 0, elsewhere as any word.
    """
    block = max(min(_BLOCK, ids.size), 1)
    grams, available = np.full((order, order + block), -1, np.int64), np.zeros(block, np.int64)
    sequence = 0
    for first in range(0, ids.size, block):
        n = min(block, ids.size - first)
        for i in range(n):
            while begins[sequence + 1] <= first + i:
                sequence += 1
            available[i] = min(first + i - begins[sequence], order - 1)
            grams[0, order + i] = ids[first + i]
        _locate(available[:n], order, words, children, grams)
        for i in range(n):
            score, lengths[first + i] = _score(order + i, available[i], order, log10_probs, log10_backoffs, grams)
            starts = available[i] == 0 and ids[first + i] == START_ID
            out[first + i] = 0.0 if starts else finite_log10(score)
        grams[:, :order] = grams[:, block : block + order].copy()


@brief
def score_line(order, words, children, log10_probs, log10_backoffs, slots, pool, offsets, line, bos, eos):
    """log10 of the probability of a line, as `kernels.probability.query` has it."""
    text = np.frombuffer(line, np.uint8)
    ids = np.empty(text.size // 2 + 4, np.int32)  # a word and what follows it are two bytes or more
    status, _, used, _, _ = encode_lines(text, ALLOW_UNKNOWN, True, slots, pool, offsets, ids)
    first, last = 0 if bos else 1, used if eos else used - 1
    total = 0.0
    if first < last:
        n = last - first
        out, lengths, begins = np.empty(n), np.empty(n, np.int64), np.array([0, n])
        score_positions(ids[first:last], begins, order, words, children, log10_probs, log10_backoffs, out, lengths)
        for t in range(n):
            total += out[t]
    return total if status == DONE else np.nan
