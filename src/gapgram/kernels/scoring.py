"""The probability of every word of a text, a block of positions at a time."""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.gate import BUCKETS, word_bucket, word_row
from gapgram.kernels.jit import kernel
from gapgram.kernels.lookup import BLOCK, locate
from gapgram.kernels.model_arrays import BACKOFF, BUCKET, SCALE, WEIGHT
from gapgram.kernels.shares import probability, share
from gapgram.kernels.tables import OF_CLASSES
from gapgram.kernels.words import START


@kernel
def only_chains(edge_base):
    """Whether every pattern but the empty one falls back on exactly one other."""
    return np.all(edge_base[2:] - edge_base[1:-1] == 1)


@kernel
def _chain_values(ids, first, step, n, at, counts, rows, uniform, model, values):
    """[pattern, position]: the probability of the word under each pattern that falls back along its chain."""
    discounts, row_values, given_class = model.discounts, model.row_values, model.given_class
    edge_base, edge_to, places = model.edge_base, model.edge_to, model.tables.places
    given = np.ones(n)
    for i in range(n if given_class.size > 0 else 0):
        word = ids[first + i * step]
        given[i] = given_class[word] if word < given_class.size else 0.0
    for p in range(values.shape[0]):
        d1, d2, d3 = discounts[p, 1], discounts[p, 2], discounts[p, 3]
        down = edge_to[edge_base[p]] if p > 0 else np.int64(0)
        of_classes = places[p, OF_CLASSES] > 0
        for i in range(n):
            row = rows[p, at + i]
            below = values[down, i] if p > 0 else uniform
            if row >= 0:
                count = counts[p, at + i]
                below *= row_values[row, BACKOFF]
                if count > 0:
                    left = count - (d3 if count > 2 else d2 if count == 2 else d1)
                    kept = left * row_values[row, SCALE]
                    below += kept * given[i] if of_classes else kept
            values[p, i] = below


@kernel
def _mix(ids, first, step, n, at, available, rows, values, model, out):
    """out[i]: the values of the patterns that a prediction starts from, mixed as `weigh_starts` says, in one loop."""
    row_values, gate_table, start_base, starts = model.row_values, model.gate_table, model.start_base, model.starts
    n_patterns, order, gated = values.shape[0], start_base.size - 1, gate_table.size > 0
    logits = np.zeros(n_patterns)
    features = np.empty(n_patterns + order + 1, np.int64)
    gate = gate_table.reshape(-1)
    for i in range(n):
        begin, end = start_base[available[i]], start_base[available[i] + 1]
        if end - begin == 1:
            out[i] = values[starts[begin], i]
            continue
        if gated:
            features[0] = (n_patterns * BUCKETS + available[i]) * n_patterns
            n_features = 1
            for s in range(begin, end):
                p = starts[s]
                features[n_features] = (p * BUCKETS + int(row_values[rows[p, at + i], BUCKET])) * n_patterns
                n_features += 1
            for k in range(1, available[i] + 1):
                row = word_row(n_patterns, order, k, word_bucket(ids[first + i * step - k]))
                features[n_features] = row * n_patterns
                n_features += 1
            whole = n_patterns - n_patterns % 4
            for q in range(0, whole, 4):  # four sums at a time stay in registers
                a, b, c, d = 0.0, 0.0, 0.0, 0.0
                for f in range(n_features):
                    place = features[f] + q
                    a += gate[place]
                    b += gate[place + 1]
                    c += gate[place + 2]
                    d += gate[place + 3]
                logits[q], logits[q + 1], logits[q + 2], logits[q + 3] = a, b, c, d
            for q in range(whole, n_patterns):
                a = 0.0
                for f in range(n_features):
                    a += gate[features[f] + q]
                logits[q] = a
        largest = -np.inf
        for s in range(begin, end):
            largest = max(largest, logits[starts[s]])
        total = 0.0
        chance = 0.0
        for s in range(begin, end):
            p = starts[s]
            weight = row_values[rows[p, at + i], WEIGHT] * math.exp(logits[p] - largest)
            total += weight
            chance += weight * values[p, i]
        out[i] = chance / total


@kernel
def chances(ids, first, step, n, at, available, counts, rows, uniform, model, out):
    """out[i]: the probability of word ids[first + i * step], located in column at+i, available[i] words being known.

    The word k places before it is ids[first + i * step - k]. A kernel that is called for each word by itself, with all
    arrays of a model, would spend more on the call than on the work.
    """
    n_patterns = model.discounts.shape[0]
    if only_chains(model.edge_base):
        values = np.empty((n_patterns, n), np.float64)
        _chain_values(ids, first, step, n, at, counts, rows, uniform, model, values)
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
            found[i] = math.log10(found[i]) if ids[begin + i] != START else 0.0
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
