"""One more word after each of many states, on a card.

A state is a row of whole numbers: how many words a prediction sees, and these words, the nearest first. Each state has
`order` threads of a block side by side, one for each of its words and one for the next: they find grams like the words
of a text (`gapgram.cuda.lookup`).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from gapgram.cuda.buffer import arrays_of
from gapgram.cuda.lookup import Shape, locating
from gapgram.cuda.mixing import mixing_by_thread
from gapgram.kernels.text.special_words import START_ID


def states_a_block(shape: Shape) -> int:
    """How many states the threads of a block have room for."""
    return shape.threads // shape.order


@cuda.jit(device=True)
def _word_of_column(states, s, j, order, following):
    """(word, words known before it) of column j of state s, whose last column is the word `following`."""
    known = min(max(np.int64(states[s, 0]), 0), order - 1)
    before = max(j - (order - 1 - known), 0)
    return np.int64(following) if j == order - 1 else np.int64(states[s, order - 1 - j]), before


@cache
def step_kernel(shape: Shape) -> Any:
    """scores[s]: log10 of the probability of words[s] after states[s]; after[s]: the state after it."""
    n_patterns, order, threads, each = shape.n_patterns, shape.order, shape.threads, states_a_block(shape)
    n_entries, locate, mix = n_patterns * threads, locating(shape), mixing_by_thread(shape)

    @cuda.jit
    def kernel(buffer, states, words, scores, after):
        model = arrays_of(buffer)
        entries = cuda.shared.array(n_entries, np.int32)
        rows, results = cuda.local.array(n_patterns, np.int64), cuda.local.array(n_patterns, np.float64)
        column = cuda.threadIdx.x
        s, j = np.int64(cuda.blockIdx.x) * each + column // order, column % order
        inside = column < each * order and s < words.size
        word, known = np.int64(0), np.int64(0)
        if inside:
            word, known = _word_of_column(states, s, j, order, words[s])
        locate(model, word, known, column, entries, rows, results, 1, 0)
        if not inside or j < order - 1:
            return
        ids = cuda.local.array(order, np.int32)
        for k in range(1, order):
            ids[order - 1 - k] = states[s, k]
        scores[s] = 0.0 if word == START_ID else math.log10(mix(model, ids, order - 1, word, known, rows, results))
        after[s, 0] = min(known + 1, order - 1)
        for k in range(order - 1, 1, -1):
            after[s, k] = states[s, k - 1]
        if order > 1:
            after[s, 1] = word

    return kernel
