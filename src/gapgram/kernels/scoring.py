"""The probability of every word of a text, a block of positions at a time."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.gate import gate_weights
from gapgram.kernels.jit import kernel
from gapgram.kernels.lookup import BLOCK, locate, locate_all, new_found
from gapgram.kernels.model_arrays import BACKOFF, SCALE, WEIGHT, Positions, discounted
from gapgram.kernels.possible import log10_of
from gapgram.kernels.shares import probability, share
from gapgram.kernels.special_words import START_ID
from gapgram.kernels.tables import clustering_of


@kernel
def only_chains(edge_base):
    """Whether every pattern but the empty one falls back on exactly one other."""
    return np.all(edge_base[2:] - edge_base[1:-1] == 1)


@kernel
def _chain_values(positions, found, model):
    """[pattern, position]: the probability of the word under each pattern that falls back along its chain.

    Equations (8), (15) and (24) of docs/ideas/mathematics.md from the bottom up.
    """
    row_values, given_class, places = model.row_values, model.given_class, model.tables.places
    n, column, uniform = positions.available.size, positions.column, model.uniform
    n_words = model.tables.word_counts.size
    # Of each word the probability given its class in each clustering; 1 given itself.
    given = np.ones((1 + given_class.size // max(n_words, 1), n))
    for clustering in range(1, given.shape[0]):
        for i in range(n):
            word = positions.ids[positions.first + i * positions.step]
            given[clustering, i] = given_class[(clustering - 1) * n_words + word] if word < n_words else 0.0
    # Shorter patterns come first, so that what a pattern falls back on is known.
    values = np.empty((places.shape[0], n))
    for p in range(values.shape[0]):
        rows, counts = found.rows[p, column : column + n], found.counts[p, column : column + n]
        own_given = given[clustering_of(places, p)]
        below, own = values[model.edge_to[model.edge_base[p]] if p > 0 else np.int64(0)], values[p]
        for i in range(n):
            row, count = np.uint64(max(rows[i], 0)), counts[i]
            kept = discounted(model.discounts, p, count) * row_values[row, SCALE]
            fallen = below[i] if p > 0 else uniform
            value = fallen * row_values[row, BACKOFF] + kept * own_given[i]
            own[i] = value if rows[i] >= 0 else fallen
    return values


@kernel
def _mix(positions, found, values, model, out):
    """out[i]: the values of the patterns that a prediction starts from, mixed as `weigh_starts` says.

    Equation (16) of docs/ideas/mathematics.md.
    """
    row_values, start_base, starts, available = model.row_values, model.start_base, model.starts, positions.available
    n_patterns, n = values.shape
    weights = gate_weights(positions, found.rows, model)
    # 1 where a prediction with so many words available starts from a pattern, else 0: no branch below.
    starting = np.zeros((n_patterns, start_base.size - 1))
    for known in range(start_base.size - 1):
        for s in range(start_base[known], start_base[known + 1]):
            starting[starts[s], known] = 1.0
    total = np.zeros(n)
    out[:n] = 0.0
    for p in range(n_patterns):
        for i in range(n):
            row = np.uint64(max(found.rows[p, positions.column + i], 0))
            weight = row_values[row, WEIGHT] * weights[i, p] * starting[p, np.uint64(available[i])]
            total[i] += weight
            out[i] += weight * values[p, i]
    for i in range(n):
        out[i] = out[i] / total[i] if total[i] > 0.0 else 0.0


@kernel
def probabilities(positions, found, model, out):
    """out[i]: the probability of the word at position i.

    A kernel that is called for each word by itself, with all arrays of a model, would spend more on the call than on
    the work.
    """
    n, start_base, starts = positions.available.size, model.start_base, model.starts
    if only_chains(model.edge_base):
        values = _chain_values(positions, found, model)
        if starts.size == start_base.size - 1:  # every prediction starts from one
            for i in range(n):
                out[i] = values[starts[positions.available[i]], i]
        else:
            _mix(positions, found, values, model, out)
        return
    uniform, shares = model.uniform, np.empty(model.discounts.shape[0])
    gate = gate_weights(positions, found.rows, model)
    for i in range(n):
        rest = share(positions, i, found.rows, gate, model, shares)
        word = positions.ids[positions.first + i * positions.step]
        out[i] = probability(word, found, positions.column + i, model, shares, rest * uniform)


@kernel
def score_positions(ids, available, model, out):
    """log10 of the probability of every word; 0 where the word is `<s>`, which is never predicted."""
    halo = model.order  # columns before those of a block, so that every offset lies in the columns
    block = min(BLOCK, ids.size)
    found = new_found(model.discounts.shape[0], halo + block)
    for begin in range(0, ids.size, block):
        end = min(begin + block, ids.size)
        known, scores = available[begin:end], out[begin:end]
        locate(ids[begin:end], known, found, halo, model.tables)
        probabilities(Positions(ids, begin, 1, known, halo), found, model, scores)
        for i in range(end - begin):
            scores[i] = log10_of(scores[i]) if ids[begin + i] != START_ID else 0.0
        if end < ids.size:
            found.entries[:, :halo] = found.entries[:, block : block + halo]


@kernel
def score_last(ids, model):
    """log10 of the probability of the last of some words; the number `score_positions` has for it."""
    last, out = ids.size - 1, np.empty(1)
    found = locate_all(ids, model.order, model.tables)
    available = np.full(1, min(last, model.order - 1), np.int16)
    probabilities(Positions(ids, last, 1, available, last), found, model, out)
    return log10_of(out[0])


@kernel
def sum_sequences(values, begins):
    """The sum of the values of each sequence, first to last."""
    sums = np.zeros(begins.size - 1)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            sums[s] += values[t]
    return sums
