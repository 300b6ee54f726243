"""Weights from text: what a model would say of each position if it had not seen it, and the gradient.

Equations (14) to (25) of docs/ideas/mathematics.md.

Statistics of a position under a pattern are five numbers: the count of its gram, and total, N1, N2, N3+
of its context. The model that is fitted is `kernels.tables.model_arrays`'s with a gate table: all patterns p that a
position allows are mixed in the ratio of

    prior[p] exp(sum over the features f of the position of table[f, p])

and pattern p falls back on pattern `down[p]` with probability

    gamma = g e^c / (1 - g + g e^c),   g = (D1 N1 + D2 N2 + D3+ N3+) / total,   c = lift[p, bucket of p]

What a pattern keeps is multiplied by `given[clustering]`, the probability of the word given its class in the pattern's
clustering; 1 for patterns of words, clustering 0.
"""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.compiled import inlined, kernel
from gapgram.kernels.probability.gate import BUCKETS, context_bucket, word_bucket, word_row
from gapgram.kernels.probability.query import BLOCK, locate, new_found
from gapgram.kernels.tables.arrays import REACH
from gapgram.kernels.text.special_words import START_ID, UNKNOWN_ID

COUNT, TOTAL, N1, N2, N3 = 0, 1, 2, 3, 4


@kernel
def sentence_hashes(ids, begins, seed):
    """A hash of the words of each sentence."""
    out = np.empty(begins.size - 1, np.uint64)
    for s in range(begins.size - 1):
        h = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0xD1B54A32D192ED03)
        for t in range(begins[s], begins[s + 1]):
            h = (h ^ np.uint64(ids[t])) * np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(31)
        out[s] = h
    return out


@kernel
def copy_sentences(ids, begins, order, out):
    """Copy sentences, in an order, one after the other."""
    at = 0
    for s in order:
        for t in range(begins[s], begins[s + 1]):
            out[at] = ids[t]
            at += 1


@kernel
def statistics_of(ids, available, tables):
    """[position, pattern, 5] statistics of all positions of a few sequences."""
    n_patterns, halo = tables.places.shape[0], np.int64(0)  # columns before those of a block
    for p in range(n_patterns):
        halo = max(halo, tables.places[p, REACH])
    block = min(BLOCK, ids.size)
    found = new_found(n_patterns, halo + block)
    out = np.zeros((ids.size, n_patterns, 5), np.int32)
    for begin in range(0, ids.size, max(block, 1)):
        end = min(begin + block, ids.size)
        locate(ids[begin:end], available[begin:end], found, halo, tables)
        for p in range(n_patterns):
            _fill(found.counts[p, halo:], found.rows[p, halo:], tables, 0, end - begin, out[begin:end], p)
        if end < ids.size:
            found.entries[:, :halo] = found.entries[:, block : block + halo]
    return out


@kernel
def _fill(counts, rows, tables, begin, end, out, p):
    """Write the statistics of some positions under pattern p; `rows` are negative where they do not allow it."""
    for t in range(begin, end):
        if rows[t] >= 0:
            out[t, p, COUNT] = counts[t]
            for k in range(4):
                out[t, p, TOTAL + k] = tables.rows[rows[t], k]


@kernel
def add_statistics(ids, available, begin, end, found, tables, out, p):
    """Write the statistics of positions begin … end-1 under pattern p alone into `out`, as `statistics_of` gives them.

    tables: of two patterns, the empty one and p. The first two rows of each array of `found` are theirs; row 2 + p of
    its entries receives the numbers of the grams. `tables` names the tail and the parts of p by such rows.
    """
    locate(ids[begin:end], available[begin:end], found, begin, tables)
    found.entries[2 + p, begin:end] = found.entries[1, begin:end]
    _fill(found.counts[1], found.rows[1], tables, begin, end, out, p)


@inlined
def _fill_features(t, ids, words, statistics, reaches, order, out):
    """Write the features of position t, with so many words before it, into a row that is -1 throughout."""
    n_patterns = reaches.size
    for p in range(n_patterns):
        if reaches[p] <= words:
            s = statistics[p]
            out[p] = p * BUCKETS + context_bucket(s[TOTAL], s[N1], s[N2], s[N3])
    out[n_patterns] = n_patterns * BUCKETS + words
    for k in range(1, words + 1):
        out[n_patterns + k] = word_row(n_patterns, order, k, word_bucket(ids[t - k]))


@kernel
def kept_positions(ids, available, statistics, kept, given, reaches, order):
    """Of the positions that are kept: [position, feature] rows of the gate table, -1 for a pattern or word that one
    does not have, and the probabilities `given` each word.

    Their statistics are moved to the beginning. The first features are those of the patterns, in their order.
    """
    n = np.int64(0)
    for t in range(ids.size):
        n += kept[t]
    features = np.full((n, reaches.size + order), -1, np.int32)
    probabilities = np.empty((n, given.shape[1]))
    at = 0
    for t in range(ids.size):
        if kept[t]:
            if at < t:
                statistics[at] = statistics[t]
            _fill_features(t, ids, available[t], statistics[at], reaches, order, features[at])
            probabilities[at] = given[ids[t]]
            at += 1
    return features, probabilities


@kernel
def unique_from(statistics, available, chain):
    """For each position the length m of the shortest gram {1 … m} that occurs nowhere else; 255: none.

    `chain` are the numbers of the contiguous patterns. The longest gram is alone if its count, of
    occurrences, is 1; a shorter one if the one longer is, and no other word stands to its left.
    """
    out = np.full(statistics.shape[0], 255, np.uint8)
    for t in range(statistics.shape[0]):
        k = np.int64(available[t])
        while k >= 0 and statistics[t, chain[k], COUNT] == 1:
            out[t] = k
            k -= 1
    return out


@kernel
def leave_out(statistics, first, last, available, unique, reaches, contiguous, order):
    """Take the contribution of each position out of its own statistics under patterns first … last-1, in place.

    A position counts for a pattern with gaps of reach m if its gram {1 … m} occurs nowhere else, for the
    contiguous pattern {1 … k} below the top if its gram {1 … k+1} does or the sentence starts there, and
    for the top always. `unique` is what `unique_from` says. Equation (23) of docs/ideas/mathematics.md.
    """
    for t in range(statistics.shape[0]):
        for p in range(first, last):
            reach = reaches[p]
            if reach > available[t]:
                continue
            if contiguous[p] and reach == order - 1:
                counted = True
            elif contiguous[p]:
                counted = unique[t] <= reach + 1 or available[t] == reach
            else:
                counted = unique[t] <= reach
            if counted:
                count = statistics[t, p, COUNT]
                statistics[t, p, COUNT] = count - 1
                statistics[t, p, TOTAL] -= 1
                if count <= 3:
                    statistics[t, p, TOTAL + count] -= 1
                    if count > 1:
                        statistics[t, p, TOTAL + count - 1] += 1


@kernel
def hide(statistics, ids, available, hidden, masks, clusterings):
    """Make hidden words unknown: they are never counted, and contexts that hold their classes were never seen."""
    for t in range(statistics.shape[0]):
        for p in range(masks.size):
            if hidden[ids[t]]:
                statistics[t, p, COUNT] = 0
            for k in range(1, available[t] + 1):
                if clusterings[p] > 0 and masks[p] >> (k - 1) & 1 and hidden[ids[t - k]]:
                    statistics[t, p] = 0


@kernel
def log_prior_of(statistics, discounts, base, by_g, by_log):
    """[position, pattern]: base + by_g g + by_log ln(1 - g) for a context that was seen, 0 for one that was not.

    Equation (18) of docs/ideas/mathematics.md.
    """
    out = np.zeros(statistics.shape[:2])
    for t in range(statistics.shape[0]):
        for p in range(statistics.shape[1]):
            s = statistics[t, p]
            if s[TOTAL] > 0:
                taken = discounts[p, 0] * s[N1] + discounts[p, 1] * s[N2] + discounts[p, 2] * s[N3]
                g = taken / s[TOTAL]
                out[t, p] = base[p] + by_g * g + by_log * math.log(max(1.0 - g, 0.02))
    return out


@kernel
def leave_all_out(ids, available, statistics, chains, spans, reaches, contiguous, hidden, masks, clusterings, every):
    """Take each position out of its own statistics, in place; which positions are fitted to.

    chains, spans: of words, then of each clustering, as `unique_from` and `leave_out` take them. hidden: words that
    are made unknown. Of words that are known, but not without their position, every so many-th is fitted to.
    """
    fitted_to = np.empty(ids.size, np.bool_)
    lost = np.zeros(ids.size, np.bool_)
    for c in range(chains.shape[0]):
        unique = unique_from(statistics, available, chains[c])
        leave_out(statistics, spans[c, 0], spans[c, 1], available, unique, reaches, contiguous, chains.shape[1])
        if c == 0:
            lost[:] = unique == 0
    hide(statistics, ids, available, hidden, masks, clusterings)
    n_lost = 0
    for t in range(ids.size):
        fitted_to[t] = ids[t] not in (START_ID, UNKNOWN_ID)
        if fitted_to[t] and (lost[t] or hidden[ids[t]]):
            n_lost += 1
            fitted_to[t] = n_lost % every == 0
    return fitted_to
