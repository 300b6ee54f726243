"""The probability of a word: each prediction shared out over the lattice, from its longest patterns down.

`kernels.tables.model_arrays` has the law. Where every pattern falls back on one other `kernels.probability.query` is
faster.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import host_callable, kernel
from gapgram.kernels.probability.gate import gate_weights
from gapgram.kernels.tables.arrays import clustering_of
from gapgram.kernels.tables.model_arrays import BACKOFF, SCALE, WEIGHT


@host_callable
def discounted(discounts, p, count):
    """What is left of a count, or of each of an array, under pattern p: a - D(a) in equation (8)."""
    return count - discounts[p, np.uint64(np.minimum(count, 3))]


@kernel
def weigh_starts(positions, i, rows, gate, model, shares):
    """Fill `shares[p]` with the weight of each pattern that the prediction at position i starts from, 0 for the others.

    Equations (11), (16) and (17) of docs/ideas/mathematics.md.
    rows: [pattern, column]. gate: what `gate_weights` gives for the positions.
    """
    available, column = positions.available[i], positions.column + i
    first, last, starts = model.start_base[available], model.start_base[available + 1], model.starts
    for p in range(shares.size):
        shares[p] = 0.0
    if last - first == 1:
        shares[starts[first]] = 1.0
        return
    total = 0.0
    for s in range(first, last):
        p = starts[s]
        shares[p] = model.row_values[rows[p, column], WEIGHT] * gate[i, p]
        total += shares[p]
    for s in range(first, last):
        shares[starts[s]] = shares[starts[s]] / total if total > 0.0 else 0.0


@kernel
def share(positions, i, rows, gate, model, shares):
    """Fill `shares[p]` with the share of the prediction at position i that each pattern decides.

    Equation (15) of docs/ideas/mathematics.md from the top down, with (12) or (13) for the weights of the patterns
    below. The share of pattern p multiplies its discounted counts. Returns the rest, which goes evenly to the
    vocabulary. Arguments are those of `weigh_starts`.
    """
    row_values, edge_base, edge_to, edge_weight = model.row_values, model.edge_base, model.edge_to, model.edge_weight
    column = positions.column + i
    weigh_starts(positions, i, rows, gate, model, shares)
    # From the longest pattern down: what a pattern does not keep goes to those that it falls back on.
    for p in range(shares.size - 1, 0, -1):
        if shares[p] > 0.0:
            passed = shares[p] * row_values[rows[p, column], BACKOFF]
            begin, end = edge_base[p], edge_base[p + 1]
            if end - begin == 1:
                shares[edge_to[begin]] += passed
            else:
                total = 0.0
                for e in range(begin, end):
                    total += edge_weight[e] * row_values[rows[edge_to[e], column], WEIGHT]
                passed = passed / total if total > 0.0 else 0.0
                for e in range(begin, end):
                    leaning = edge_weight[e] * row_values[rows[edge_to[e], column], WEIGHT]
                    shares[edge_to[e]] += passed * leaning
    return shares[0] * row_values[rows[0, column], BACKOFF]


@host_callable
def given_class(model, clustering, word):
    """The probability of a word given its class in a clustering, equation (25); 0 where the text had none of it.

    It is 1 in clustering 0, which is that of every word by itself.
    """
    n_words = model.tables.word_counts.size
    if clustering == 0:
        return 1.0
    return model.given_class[(clustering - 1) * n_words + word] if word < n_words else 0.0


@kernel
def probability(word, found, column, model, shares, rest):
    """The probability of the word that was located in a column, for given shares; `rest` is what every word has."""
    total = rest
    for p in range(shares.size):
        count = found.counts[p, column]
        if count > 0 and shares[p] > 0.0:
            kept = shares[p] * discounted(model.discounts, p, count) * model.row_values[found.rows[p, column], SCALE]
            total += kept * given_class(model, clustering_of(model.tables.places, p), word)
    return total


@kernel
def shared_probabilities(positions, found, model, out):
    """out[i]: the probability of the word at position i, each prediction shared out over the lattice."""
    uniform, shares = model.uniform, np.empty(model.discounts.shape[0])
    gate = gate_weights(positions, found.rows, model)
    for i in range(positions.available.size):
        rest = share(positions, i, found.rows, gate, model, shares)
        word = positions.ids[positions.first + i * positions.step]
        out[i] = probability(word, found, positions.column + i, model, shares, rest * uniform)
