"""The probability of every word of a text, a block of positions at a time."""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.exponentials import exponentials
from gapgram.kernels.gate import BUCKETS, word_bucket, word_row
from gapgram.kernels.jit import kernel
from gapgram.kernels.lookup import BLOCK, locate
from gapgram.kernels.model_arrays import BACKOFF, BUCKET, SCALE, WEIGHT
from gapgram.kernels.shares import probability, share
from gapgram.kernels.special_words import START_ID
from gapgram.kernels.tables import OF_CLASSES


@kernel
def only_chains(edge_base):
    """Whether every pattern but the empty one falls back on exactly one other."""
    return np.all(edge_base[2:] - edge_base[1:-1] == 1)


@kernel
def _chain_values(ids, first, step, n, at, counts, rows, uniform, model, values):
    """[pattern, position]: the probability of the word under each pattern that falls back along its chain."""
    row_values, given_class, places = model.row_values, model.given_class, model.tables.places
    given = np.ones(n)
    for i in range(n if given_class.size > 0 else 0):
        word = ids[first + i * step]
        given[i] = given_class[word] if word < given_class.size else 0.0
    for p in range(values.shape[0]):
        discounts, own_rows, own_counts = model.discounts[p], rows[p, at : at + n], counts[p, at : at + n]
        below, own = values[model.edge_to[model.edge_base[p]] if p > 0 else np.int64(0)], values[p]
        of_classes = places[p, OF_CLASSES] > 0
        for i in range(n):
            row, count = np.uint64(max(own_rows[i], 0)), own_counts[i]
            kept = (count - discounts[np.uint64(min(count, 3))]) * row_values[row, SCALE]
            fallen = below[i] if p > 0 else uniform
            value = fallen * row_values[row, BACKOFF] + (kept * given[i] if of_classes else kept)
            own[i] = value if own_rows[i] >= 0 else fallen


@kernel
def _gate_weights(ids, first, step, n, at, available, rows, model, weights):
    """[position, pattern]: what the gate makes of each context, for all patterns."""
    row_values, start_base, starts = model.row_values, model.start_base, model.starts
    n_patterns, order, gate = weights.shape[1], start_base.size - 1, model.gate_table.reshape(-1)
    own_features = np.empty((n, n_patterns), np.int32)
    for p in range(n_patterns):
        for i in range(n):
            own_features[i, p] = p * BUCKETS + int(row_values[np.uint64(max(rows[p, at + i], 0)), BUCKET])
    logits = np.empty((n, n_patterns))
    features = np.empty(n_patterns + order + 1, np.int64)
    for i in range(n):
        features[0] = (n_patterns * BUCKETS + available[i]) * n_patterns
        n_features = 1
        for s in range(start_base[available[i]], start_base[available[i] + 1]):
            features[n_features] = own_features[i, np.uint64(starts[s])] * n_patterns
            n_features += 1
        for k in range(1, available[i] + 1):
            features[n_features] = word_row(n_patterns, order, k, word_bucket(ids[first + i * step - k])) * n_patterns
            n_features += 1
        whole = n_patterns - n_patterns % 4
        for q in range(0, whole, 4):  # four sums at a time stay in registers
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for f in range(n_features):
                place = np.uint64(features[f] + q)
                a += gate[place]
                b += gate[place + np.uint64(1)]
                c += gate[place + np.uint64(2)]
                d += gate[place + np.uint64(3)]
            logits[i, q], logits[i, q + 1], logits[i, q + 2], logits[i, q + 3] = a, b, c, d
        for q in range(whole, n_patterns):
            a = 0.0
            for f in range(n_features):
                a += gate[np.uint64(features[f] + q)]
            logits[i, q] = a
    exponentials(logits.reshape(-1), weights.reshape(-1))


@kernel
def _mix(ids, first, step, n, at, available, rows, values, model, out):
    """out[i]: the values of the patterns that a prediction starts from, mixed as `weigh_starts` says."""
    row_values, start_base, starts = model.row_values, model.start_base, model.starts
    n_patterns = values.shape[0]
    weights = np.ones((n, n_patterns))
    if model.gate_table.size > 0:
        _gate_weights(ids, first, step, n, at, available, rows, model, weights)
    starting = np.zeros((n_patterns, start_base.size - 1))
    for known in range(start_base.size - 1):
        for s in range(start_base[known], start_base[known + 1]):
            starting[starts[s], known] = 1.0
    total = np.zeros(n)
    out[:n] = 0.0
    for p in range(n_patterns):
        for i in range(n):
            row = np.uint64(max(rows[p, at + i], 0))
            weight = row_values[row, WEIGHT] * weights[i, p] * starting[p, np.uint64(available[i])]
            total[i] += weight
            out[i] += weight * values[p, i]
    for i in range(n):
        out[i] /= total[i]


@kernel
def chances(ids, first, step, n, at, available, counts, rows, uniform, model, out):
    """out[i]: the probability of word ids[first + i * step], located in column at+i, available[i] words being known.

    The word k places before it is ids[first + i * step - k]. A kernel that is called for each word by itself, with all
    arrays of a model, would spend more on the call than on the work.
    """
    n_patterns, start_base, starts = model.discounts.shape[0], model.start_base, model.starts
    if only_chains(model.edge_base):
        values = np.empty((n_patterns, n), np.float64)
        _chain_values(ids, first, step, n, at, counts, rows, uniform, model, values)
        if starts.size == start_base.size - 1:  # every prediction starts from one
            for i in range(n):
                out[i] = values[starts[available[i]], i]
        else:
            _mix(ids, first, step, n, at, available, rows, values, model, out)
        return
    shares = np.empty(n_patterns, np.float64)
    logits = np.empty(n_patterns, np.float64)
    for i in range(n):
        t = first + i * step
        rest = share(ids, t, rows, at + i, available[i], model, logits, shares)
        out[i] = probability(ids[t], counts, rows, at + i, model, shares, rest * uniform)


@kernel
def score_positions(ids, available, uniform, model, out):
    """log10 of the probability of every word; 0 where the word is `<s>`, which is never predicted.

    `uniform` is the probability of a word under the even distribution over the vocabulary.
    """
    n_patterns = model.discounts.shape[0]
    halo = model.start_base.size - 1  # the order, so that every offset lies in the columns
    block = min(BLOCK, ids.size)
    entries = np.full((n_patterns, halo + block), -1, np.int64)
    counts = np.zeros((n_patterns, halo + block), np.int64)
    rows = np.zeros((n_patterns, halo + block), np.int64)
    for begin in range(0, ids.size, block):
        end = min(begin + block, ids.size)
        locate(ids, available, begin, end, halo, entries, counts, rows, model.tables)
        known, found = available[begin:end], out[begin:end]
        chances(ids, begin, 1, end - begin, halo, known, counts, rows, uniform, model, found)
        for i in range(end - begin):
            found[i] = math.log10(found[i]) if ids[begin + i] != START_ID else 0.0
        if end < ids.size:
            entries[:, :halo] = entries[:, block : block + halo]


@kernel
def sum_sequences(values, begins):
    """The sum of the values of each sequence, first to last."""
    sums = np.zeros(begins.size - 1)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            sums[s] += values[t]
    return sums
