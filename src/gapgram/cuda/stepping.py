"""One more word after each of many states, and the probabilities of all next words, on a card.

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
from gapgram.cuda.card import for_card
from gapgram.cuda.lookup import (
    Shape,
    clustering_on_card,
    code_mask,
    count_reader,
    discount_of,
    first_class_on_card,
    format_on_card,
    locating,
    place_of,
    row_value,
    span_of,
)
from gapgram.cuda.mixing import gating, mixing_by_thread, sharing
from gapgram.kernels.tables.arrays import FIRST_ROW, N_GRAMS, NEAREST, REACH, TAIL
from gapgram.kernels.tables.keys import inverse_of, word_of
from gapgram.kernels.tables.model_arrays import SCALE
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


@cache
def lists_kernel(shape: Shape) -> Any:
    """What follows states[s]: `kernels.probability.successors.Successors`, [state, pattern] and [state]."""
    n_patterns, order, threads, each = shape.n_patterns, shape.order, shape.threads, states_a_block(shape)
    n_entries, locate, gate, shares_of = n_patterns * threads, locating(shape), gating(shape), sharing(shape)

    @cuda.jit
    def kernel(buffer, states, begins, sizes, scales, floors):
        model = arrays_of(buffer)
        entries = cuda.shared.array(n_entries, np.int32)
        rows, results = cuda.local.array(n_patterns, np.int64), cuda.local.array(n_patterns, np.float64)
        column = cuda.threadIdx.x
        s, j = np.int64(cuda.blockIdx.x) * each + column // order, column % order
        inside = column < each * order and s < states.shape[0]
        word, known = np.int64(0), np.int64(0)
        if inside:
            word, known = _word_of_column(states, s, j, order, 0)
        locate(model, word, known, column, entries, rows, results, 1, 0)
        if not inside or j < order - 1:
            return
        # The grams that follow, and their statistics: no word is searched among them.
        for p in range(n_patterns):
            rows[p], begins[s, p], sizes[s, p] = -1, 0, 0
            reach = place_of(model, p, REACH)
            if reach <= known:
                rows[p] = place_of(model, p, FIRST_ROW)
                context = np.int64(0)
                if reach > 0:
                    before = column - place_of(model, p, NEAREST)
                    context = np.int64(entries[place_of(model, p, TAIL) * threads + before])
                if context >= 0:
                    begins[s, p], sizes[s, p], rows[p] = span_of(model, p, context)
        # Who decides.
        ids = cuda.local.array(order, np.int32)
        for k in range(1, order):
            ids[order - 1 - k] = states[s, k]
        weights, shares = cuda.local.array(n_patterns, np.float64), cuda.local.array(n_patterns, np.float64)
        gate(model, ids, order - 1, known, rows, weights)
        floors[s] = shares_of(model, known, rows, weights, shares) / (place_of(model, 0, N_GRAMS) - 1)
        for p in range(n_patterns):
            scales[s, p] = shares[p] * row_value(model, rows[p], SCALE) if shares[p] > 0.0 else 0.0

    return kernel


@cache
def spread_kernel(shape: Shape) -> Any:
    """out[s]: log10 of the probability of every word after a state, a block a state, from what `lists_kernel` found."""
    n_patterns, clusterings = shape.n_patterns, shape.clusterings
    count_of, inverse, word_at = count_reader(), for_card(inverse_of), for_card(word_of)

    @cuda.jit
    def kernel(buffer, begins, sizes, scales, floors, masses, out):
        model = arrays_of(buffer)
        s, n_words, n_classes = cuda.blockIdx.x, out.shape[1], masses.shape[1]
        for word in range(cuda.threadIdx.x, n_words, cuda.blockDim.x):
            out[s, word] = floors[s]
        for c in range(cuda.threadIdx.x, n_classes, cuda.blockDim.x):
            masses[s, c] = 0.0
        # Pattern after pattern: within one no word comes twice, so that no two threads add to one number.
        for p in range(n_patterns):
            cuda.syncthreads()
            form, scale = format_on_card(model, p), scales[s, p]
            back = inverse(form.key_bits)
            of_classes, first_class = clustering_on_card(model, p) > 0, first_class_on_card(model, p)
            for i in range(cuda.threadIdx.x, sizes[s, p] if scale > 0.0 else 0, cuda.blockDim.x):
                g = begins[s, p] + i
                gram = np.int64(model.grams[(form.first_bit >> 5) + g])
                # The patterns of no context have their words, or classes, in the order of their numbers.
                word = word_at(gram >> form.code_bits, form.key_bits, back)
                count = count_of(model, p, form, g, gram & code_mask(form))
                if count > 0:
                    term = scale * (count - discount_of(model, p, count))
                    if of_classes:
                        masses[s, min(first_class + word, n_classes - 1)] += term
                    else:
                        out[s, min(word, n_words - 1)] += term
        cuda.syncthreads()
        for word in range(cuda.threadIdx.x, n_words, cuda.blockDim.x):
            total = out[s, word]
            for c in range(clusterings):
                own = c * (model.given_class.size // clusterings) + word
                total += masses[s, min(np.int64(model.class_of[own]), n_classes - 1)] * model.given_class[own]
            out[s, word] = -math.inf if word == START_ID else math.log10(total)

    return kernel
