"""The grams of a text found in the tables of a model, and their probabilities.

A model is one plain tuple of arrays, `MODEL_ARRAYS` names them in order:

    grams, gram_base, contexts, context_base, row_base    the tables (`gapgram.counts`)
    tails, nearest, reaches     of each pattern: the number of its tail, its nearest offset, its farthest
    discounts                   [pattern, 4]: what is taken from a count of 0, 1, 2, 3 or more
    row_values                  [row, 4]: of a context with these statistics the SCALE that turns a
                                discounted count into a probability, the BACKOFF probability g, the
                                WEIGHT among its rivals, and its BUCKET in the gate table
    edge_base, edge_to, edge_weight    the patterns each pattern falls back on, and its leaning to each
    start_base, starts          for 0 … n-1 words available: the patterns a prediction starts from
    gate_table                  [feature, pattern]: logits that add up (`kernels.gate`); may be empty
    parts                       [pattern, n-1]: the stored patterns that skip one word more; 0 where none

A prediction gives its starting patterns shares in the ratio of their weights, times, where there is a
gate, the exponential of their logits. A pattern keeps of its share what its discounted counts use and
passes g of it on to the patterns below it, in the ratio of edge_weight × their weights; what the empty
pattern passes on is spread evenly over the vocabulary. All of this depends on the context alone, and SCALE and BACKOFF
belong together, so every distribution sums to one.
"""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.gate import BUCKETS, word_bucket, word_row
from gapgram.kernels.jit import kernel
from gapgram.kernels.tables import COUNT_BITS, COUNT_MASK, ROW_BITS, ROW_MASK
from gapgram.kernels.words import START

MODEL_ARRAYS = (
    "grams", "gram_base", "contexts", "context_base", "row_base", "tails", "nearest", "reaches",
    "discounts", "row_values", "edge_base", "edge_to", "edge_weight", "start_base", "starts", "gate_table",
    "parts",
)  # fmt: skip
SCALE, BACKOFF, WEIGHT, BUCKET = 0, 1, 2, 3
BLOCK = 1024


@kernel
def _search(grams, base, low, size, keys, active, n_active):
    """Of each active search, find the last of the grams low … low+size-1 that is not above its key.

    All searches take a step before any takes its next: their reads do not wait for each other.
    """
    while n_active > 0:
        still = 0
        for a in range(n_active):
            i = active[a]
            half = size[i] >> 1
            middle = low[i] + half
            low[i] += half * (grams[base + middle] <= keys[i])
            size[i] -= half
            active[still] = i
            still += size[i] > 1
        n_active = still


@kernel
def locate(ids, available, begin, end, at, entries, counts, rows, tables):
    """Look up, for at most BLOCK positions begin … end-1, the gram of every pattern and its context.

    Writes column at+i for position begin+i: `entries` the number of the gram (-1: never seen), `counts`
    its count, `rows` the row of its context (the pattern's row 0 where it was never seen, -1 where the
    sentence is too short for the pattern). The columns before `at` hold the positions before `begin`.
    `tables` are the first eight arrays of a model and `parts`; they are never read outside their bounds,
    whatever a damaged file says.
    """
    grams, gram_base, contexts, context_base, row_base, tails, nearest, reaches, parts = tables
    n = end - begin
    n_words = gram_base[1]
    low = np.empty(n, np.int64)
    size = np.empty(n, np.int64)
    keys = np.empty(n, np.int64)
    active = np.empty(n + 1, np.int64)
    for i in range(n):
        word = np.int64(ids[begin + i]) if ids[begin + i] < n_words else np.int64(0)
        keys[i] = word << COUNT_BITS | COUNT_MASK
        entries[0, at + i] = word
        counts[0, at + i] = grams[word] & COUNT_MASK
        rows[0, at + i] = min(contexts[0] & ROW_MASK, row_base[1] - 1)
    for p in range(1, tails.size):
        tail, distance, reach = tails[p], nearest[p], reaches[p]
        base, n_grams = gram_base[p], gram_base[p + 1] - gram_base[p]
        context_at, last_context = context_base[p], context_base[p + 1] - context_base[p] - 2
        row_at, last_row = row_base[p], row_base[p + 1] - 1
        n_active = 0
        for i in range(n):
            context = np.int64(-1)
            if available[begin + i] >= reach:
                context = min(entries[tail, at + i - distance], last_context)
                rows[p, at + i] = row_at
            else:
                rows[p, at + i] = -1
            entries[p, at + i] = context  # until the gram is found
        for i in range(n):
            context = entries[p, at + i]
            seen = context >= 0
            this = contexts[context_at + max(context, 0)]
            following = contexts[context_at + max(context, 0) + 1]
            low[i] = min(this >> ROW_BITS, n_grams)
            size[i] = max(min(following >> ROW_BITS, n_grams) - low[i], 0) * seen
            rows[p, at + i] += (this & ROW_MASK) * seen
        for k in range(parts.shape[1]):
            part = parts[p, k]
            if part > 0:  # a gram was only seen if each of its parts was
                for i in range(n):
                    size[i] *= entries[part, at + i] >= 0
        for i in range(n):
            active[n_active] = i
            n_active += size[i] > 1
        _search(grams, base, low, size, keys, active, n_active)
        for i in range(n):
            entry = np.int64(-1)
            count = np.int64(0)
            if size[i] > 0:
                gram = grams[base + low[i]]
                if gram >> COUNT_BITS == keys[i] >> COUNT_BITS:
                    entry = low[i]
                    count = gram & COUNT_MASK
            entries[p, at + i] = entry
            counts[p, at + i] = count
            rows[p, at + i] = min(rows[p, at + i], last_row)


@kernel
def _gate(ids, t, rows, column, available, reaches, row_values, gate_table, logits, shares):
    """Multiply the weights of all patterns, given in `shares`, by what the gate makes of the context."""
    n_patterns, order = shares.size, reaches[-1] + 1
    for q in range(n_patterns):
        logits[q] = gate_table[n_patterns * BUCKETS + available, q]
    for p in range(n_patterns):
        if shares[p] > 0.0:
            feature = p * BUCKETS + int(row_values[rows[p, column], BUCKET])
            for q in range(n_patterns):
                logits[q] += gate_table[feature, q]
    for k in range(1, available + 1):
        feature = word_row(n_patterns, order, k, word_bucket(ids[t - k]))
        for q in range(n_patterns):
            logits[q] += gate_table[feature, q]
    largest = -np.inf
    for p in range(n_patterns):
        if shares[p] > 0.0:
            largest = max(largest, logits[p])
    for p in range(n_patterns):
        if shares[p] > 0.0:
            shares[p] *= math.exp(logits[p] - largest)


@kernel
def share(
    ids, t, rows, column, available,
    reaches, row_values, edge_base, edge_to, edge_weight, start_base, starts, gate_table, logits, shares,
):  # fmt: skip
    """Fill `shares[p]` with the share of the prediction at ids[t] that each pattern decides.

    The share of pattern p multiplies its discounted counts. Returns the rest, which goes evenly to the
    vocabulary. `logits` is room for as many numbers as there are patterns.
    """
    first, last = start_base[available], start_base[available + 1]
    n_patterns = shares.size
    for p in range(n_patterns):
        shares[p] = 0.0
    if last - first == 1:
        shares[starts[first]] = 1.0
    else:
        for s in range(first, last):
            shares[starts[s]] = row_values[rows[starts[s], column], WEIGHT]
        if gate_table.size > 0:
            _gate(ids, t, rows, column, available, reaches, row_values, gate_table, logits, shares)
        total = 0.0
        for s in range(first, last):
            total += shares[starts[s]]
        for s in range(first, last):
            shares[starts[s]] /= total
    for p in range(n_patterns - 1, 0, -1):
        if shares[p] > 0.0:
            passed = shares[p] * row_values[rows[p, column], BACKOFF]
            begin, end = edge_base[p], edge_base[p + 1]
            if end - begin == 1:
                shares[edge_to[begin]] += passed
            else:
                total = 0.0
                for e in range(begin, end):
                    total += edge_weight[e] * row_values[rows[edge_to[e], column], WEIGHT]
                passed /= total
                for e in range(begin, end):
                    leaning = edge_weight[e] * row_values[rows[edge_to[e], column], WEIGHT]
                    shares[edge_to[e]] += passed * leaning
    return shares[0] * row_values[rows[0, column], BACKOFF]


@kernel
def probability(counts, rows, column, discounts, row_values, shares, rest):
    """The probability of the word that was located in a column, for given shares."""
    total = rest
    for p in range(shares.size):
        count = counts[p, column]
        if count > 0 and shares[p] > 0.0:
            left = count - discounts[p, min(count, 3)]
            total += shares[p] * left * row_values[rows[p, column], SCALE]
    return total


@kernel
def availability(ids, begins, order):
    """For each position how many words before it a prediction sees; sequence s is begins[s] to begins[s+1]."""
    available = np.empty(ids.size, np.int16)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            available[t] = min(t - begins[s], order - 1)
    return available


@kernel
def score_positions(ids, available, uniform, model, out):
    """log10 of the probability of every word; 0 where the word is `<s>`, which is never predicted.

    `uniform` is the probability of a word under the even distribution over the vocabulary.
    """
    reaches, discounts, row_values, edge_base, edge_to, edge_weight, start_base, starts, gate_table = model[7:16]
    n_patterns = reaches.size
    halo = start_base.size - 1  # the order, so that every offset lies in the columns
    entries = np.full((n_patterns, halo + BLOCK), -1, np.int64)
    counts = np.zeros((n_patterns, halo + BLOCK), np.int64)
    rows = np.zeros((n_patterns, halo + BLOCK), np.int64)
    shares = np.empty(n_patterns, np.float64)
    logits = np.empty(n_patterns, np.float64)
    for begin in range(0, ids.size, BLOCK):
        end = min(begin + BLOCK, ids.size)
        locate(ids, available, begin, end, halo, entries, counts, rows, model[:8] + model[16:17])
        for i in range(end - begin):
            t = begin + i
            if ids[t] == START:
                out[t] = 0.0
            else:
                rest = share(
                    ids, t, rows, halo + i, available[t],
                    reaches, row_values, edge_base, edge_to, edge_weight, start_base, starts, gate_table,
                    logits, shares,
                )  # fmt: skip
                chance = probability(counts, rows, halo + i, discounts, row_values, shares, rest * uniform)
                out[t] = math.log10(chance)
        if end - begin == BLOCK:
            entries[:, :halo] = entries[:, BLOCK : BLOCK + halo]


@kernel
def sum_sequences(values, begins):
    """The sum of the values of each sequence, first to last."""
    sums = np.zeros(begins.size - 1)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            sums[s] += values[t]
    return sums


@kernel
def locate_one(ids, order, model):
    """Look up the last of a few words after the others: (entries, counts, rows, shares, rest).

    Entries, counts and rows have a column a word; the shares are those of the last word's place.
    """
    reaches, _, row_values, edge_base, edge_to, edge_weight, start_base, starts, gate_table = model[7:16]
    n_patterns = reaches.size
    entries = np.full((n_patterns, ids.size), -1, np.int64)
    counts = np.zeros((n_patterns, ids.size), np.int64)
    rows = np.zeros((n_patterns, ids.size), np.int64)
    begins = np.array([0, ids.size])
    available = availability(ids, begins, order)
    locate(ids, available, 0, ids.size, 0, entries, counts, rows, model[:8] + model[16:17])
    shares = np.empty(n_patterns)
    rest = share(
        ids, ids.size - 1, rows, ids.size - 1, available[-1],
        reaches, row_values, edge_base, edge_to, edge_weight, start_base, starts, gate_table,
        np.empty(n_patterns), shares,
    )  # fmt: skip
    return entries, counts, rows, shares, rest


@kernel
def distribution(ids, order, uniform, model):
    """The probability of every word of the vocabulary at the place of the last of `ids`."""
    grams, gram_base, contexts, context_base, _, tails, nearest, _, discounts, row_values = model[:10]
    entries, _, rows, shares, rest = locate_one(ids, order, model)
    column = ids.size - 1
    out = np.full(gram_base[1], rest * uniform)
    for p in range(tails.size):
        if shares[p] > 0.0:
            context = entries[tails[p], column - nearest[p]] if p > 0 else np.int64(0)
            if context >= 0:
                low = contexts[context_base[p] + context] >> ROW_BITS
                high = min(contexts[context_base[p] + context + 1] >> ROW_BITS, gram_base[p + 1] - gram_base[p])
                scale = shares[p] * row_values[rows[p, column], SCALE]
                for g in range(gram_base[p] + low, gram_base[p] + high):
                    count = grams[g] & COUNT_MASK
                    if count > 0:
                        word = min(grams[g] >> COUNT_BITS, gram_base[1] - 1)
                        out[word] += scale * (count - discounts[p, min(count, 3)])
    out[START] = 0.0
    return out
