"""The probability of every word of a text on a card, and of one more word after each of many states.

`locate_block` finds the grams of every word, a thread a word. The first threads of a block are its *halo*: they find
the grams of the words before the block's own once more, and score nothing. Where patterns are mixed by a gate,
`mix_block` follows: a warp takes a word, and each of its threads a pattern, so that the rows of the gate table are read
as they lie.

A state that is stepped from is a row of whole numbers: how many words a prediction sees, and these words, the nearest
first. Each state has `order` threads of a block side by side, one for each of its words and one for the next.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from gapgram.cuda.buffer import arrays_of
from gapgram.cuda.card import THREADS
from gapgram.cuda.lookup import SHARED_BYTES, Shape, locating, row_value
from gapgram.cuda.mixing import bounded_exp, listing_features, mixing_by_thread
from gapgram.kernels.tables.model_arrays import WEIGHT
from gapgram.kernels.text.special_words import START_ID

CHUNK = 1 << 20  # positions of which rows and values are kept between the two kernels
_WARP = min(32, THREADS)


def by_warps(shape: Shape) -> bool:
    """Whether a second kernel mixes the patterns."""
    return shape.chains and not shape.single


def tile_of(shape: Shape) -> int:
    """How many positions a block of the second kernel mixes: as many as have room in shared memory."""
    bytes_each = 20 * shape.n_patterns + 4 * (shape.n_patterns + shape.order + 1) + 8
    return next(tile for tile in (_WARP, _WARP // 2, _WARP // 4, _WARP // 8) if tile * bytes_each <= SHARED_BYTES)


@cuda.jit(device=True)
def words_before(starts_here, t, most):
    """How many words before position t a prediction sees."""
    known = 0
    while known < most and t - known > 0 and starts_here[t - known] == 0:
        known += 1
    return known


@cache
def locate_block(shape: Shape) -> Any:
    """The first kernel: rows and values of [pattern, position] where a second one mixes them, else the scores."""
    n_patterns, halo, threads, to_mix = shape.n_patterns, shape.order - 1, shape.threads, by_warps(shape)
    n_entries, locate, mix = n_patterns * threads, locating(shape), mixing_by_thread(shape)

    @cuda.jit
    def kernel(buffer, ids, starts_here, first, end, rows, values, out):
        model = arrays_of(buffer)
        entries = cuda.shared.array(n_entries, np.int32)  # [pattern, thread]
        column = cuda.threadIdx.x
        t = first + np.int64(cuda.blockIdx.x) * (threads - halo) + column - halo
        inside = 0 <= t < end
        known = words_before(starts_here, t, halo) if inside else 0
        word = np.int64(ids[t]) if inside else np.int64(0)
        if to_mix:
            # What the halo finds goes to columns of its own, which nobody reads.
            stride = rows.size // n_patterns
            own = np.int64(cuda.blockIdx.x) * threads + column
            locate(model, word, known, column, entries, rows, values, stride, own)
            return
        own_rows = cuda.local.array(n_patterns, np.int64)
        results = cuda.local.array(n_patterns, np.float64)
        locate(model, word, known, column, entries, own_rows, results, 1, 0)
        if column >= halo and inside:
            if word == START_ID:
                out[t] = 0.0
            else:
                out[t] = math.log10(mix(model, ids, t, word, known, own_rows, results))

    return kernel


@cache
def mix_block(shape: Shape) -> Any:
    """The second kernel: scores from rows and values."""
    n_patterns, halo, threads = shape.n_patterns, shape.order - 1, shape.threads
    gated, most_features, tile = shape.gated, shape.n_patterns + shape.order + 1, tile_of(shape)
    n_tiled, n_features = tile * n_patterns, tile * most_features
    list_features = listing_features(shape)

    @cuda.jit
    def kernel(buffer, ids, starts_here, first, end, rows, values, out):
        model = arrays_of(buffer)
        tile_rows = cuda.shared.array(n_tiled, np.int32)  # [pattern, position]
        tile_values = cuda.shared.array(n_tiled, np.float64)
        weights = cuda.shared.array(n_tiled, np.float64)
        features = cuda.shared.array(n_features, np.int32)  # [position, feature]
        n_of = cuda.shared.array(tile, np.int32)
        known_of = cuda.shared.array(tile, np.int32)
        stride = rows.size // n_patterns
        begin = first + np.int64(cuda.blockIdx.x) * tile
        # The tile's rows and values, as they lie.
        for i in range(cuda.threadIdx.x, n_tiled, cuda.blockDim.x):
            p, j = i // tile, i % tile
            t = begin + j - first
            own = t // (threads - halo) * threads + halo + t % (threads - halo)
            if begin + j < end:
                tile_rows[i] = rows[p * stride + own]
                tile_values[i] = values[p * stride + own]
        cuda.syncthreads()
        # What the gate looks at, a thread a position.
        j = cuda.threadIdx.x
        if j < tile and begin + j < end:
            known_of[j] = words_before(starts_here, begin + j, halo)
            n_of[j] = 0
            if gated:
                n_of[j] = list_features(
                    model, ids, begin + j, known_of[j], tile_rows, tile, j, features, j * most_features
                )
        cuda.syncthreads()
        # The weight of each pattern: a warp a position, a thread a pattern.
        lane, warp = cuda.threadIdx.x % _WARP, cuda.threadIdx.x // _WARP
        for j in range(warp, tile, cuda.blockDim.x // _WARP):
            if begin + j < end:
                for s in range(model.start_base[known_of[j]] + lane, model.start_base[known_of[j] + 1], _WARP):
                    p = model.starts[s]
                    logit = 0.0
                    for f in range(n_of[j]):
                        logit += model.gate_table[np.int64(features[j * most_features + f]) * n_patterns + p]
                    row = max(np.int64(tile_rows[p * tile + j]), 0)
                    weights[p * tile + j] = row_value(model, row, WEIGHT) * bounded_exp(logit)
        cuda.syncthreads()
        # Sums in the order of the patterns, a thread a position.
        j = cuda.threadIdx.x
        if j < tile and begin + j < end:
            total, mixed = 0.0, 0.0
            for s in range(model.start_base[known_of[j]], model.start_base[known_of[j] + 1]):
                p = model.starts[s]
                total += weights[p * tile + j]
                mixed += weights[p * tile + j] * tile_values[p * tile + j]
            out[begin + j] = 0.0 if ids[begin + j] == START_ID else math.log10(mixed / total)

    return kernel


class CardScorer:
    """Scores texts whose ids lie on the card, with the buffer of a model."""

    def __init__(self, buffer: Any, shape: Shape) -> None:
        self._buffer, self._shape = buffer, shape
        self._locate = locate_block(shape)
        self._mix = mix_block(shape) if by_warps(shape) else None
        self._own = shape.threads - (shape.order - 1)  # positions that a block scores

    def score(self, ids: Any, starts_here: Any, out: Any, stream: Any = 0) -> None:
        """Fill `out` with log10 of the probability of each position, on a stream."""
        n = ids.size
        chunk = min(CHUNK, n) if self._mix else n
        blocks = -(-chunk // self._own)
        n_kept = blocks * self._shape.threads * self._shape.n_patterns if self._mix else 0
        rows, values = cuda.device_array(n_kept, np.int32), cuda.device_array(n_kept, np.float64)
        for first in range(0, n, max(chunk, 1)):
            end = min(first + chunk, n)
            arguments = self._buffer, ids, starts_here, first, end, rows, values, out
            self._locate[-(-(end - first) // self._own), self._shape.threads, stream](*arguments)
            if self._mix:
                self._mix[-(-(end - first) // tile_of(self._shape)), THREADS, stream](*arguments)


# One more word after each of many states ------------------------------------------------------------------------------


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
