"""What each pattern decides of a prediction, and the distribution that makes (`kernels.model_arrays` has the law)."""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.exponentials import LIMIT
from gapgram.kernels.gate import BUCKETS, word_bucket, word_row
from gapgram.kernels.jit import kernel
from gapgram.kernels.lookup import locate_few
from gapgram.kernels.model_arrays import BACKOFF, BUCKET, SCALE, WEIGHT
from gapgram.kernels.special_words import START_ID
from gapgram.kernels.tables import N_GRAMS, NEAREST, OF_CLASSES, REACH, TAIL, begin_of, word_and_count


@kernel
def _gate(ids, t, rows, column, available, row_values, gate_table, order, logits, shares):
    """Multiply the weights of all patterns, given in `shares`, by what the gate makes of the context."""
    n_patterns = shares.size
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
    for p in range(n_patterns):
        if shares[p] > 0.0:
            shares[p] *= math.exp(min(max(logits[p], -LIMIT), LIMIT))


@kernel
def weigh_starts(ids, t, rows, column, available, model, logits, shares):
    """Fill `shares[p]` with the weight of each pattern that the prediction at ids[t] starts from, 0 for the others.

    `logits` is room for as many numbers as there are patterns.
    """
    first, last = model.start_base[available], model.start_base[available + 1]
    starts, gate_table = model.starts, model.gate_table
    for p in range(shares.size):
        shares[p] = 0.0
    if last - first == 1:
        shares[starts[first]] = 1.0
        return
    for s in range(first, last):
        shares[starts[s]] = model.row_values[rows[starts[s], column], WEIGHT]
    if gate_table.size > 0:
        order = model.start_base.size - 1
        _gate(ids, t, rows, column, available, model.row_values, gate_table, order, logits, shares)
    total = 0.0
    for s in range(first, last):
        total += shares[starts[s]]
    for s in range(first, last):
        shares[starts[s]] /= total


@kernel
def share(ids, t, rows, column, available, model, logits, shares):
    """Fill `shares[p]` with the share of the prediction at ids[t] that each pattern decides.

    The share of pattern p multiplies its discounted counts. Returns the rest, which goes evenly to the
    vocabulary.
    """
    row_values, edge_base, edge_to, edge_weight = model.row_values, model.edge_base, model.edge_to, model.edge_weight
    weigh_starts(ids, t, rows, column, available, model, logits, shares)
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
                passed /= total
                for e in range(begin, end):
                    leaning = edge_weight[e] * row_values[rows[edge_to[e], column], WEIGHT]
                    shares[edge_to[e]] += passed * leaning
    return shares[0] * row_values[rows[0, column], BACKOFF]


@kernel
def given_class(model, word):
    """The probability of a word given its class; 0 where the text had none of it."""
    return model.given_class[word] if word < model.given_class.size else 0.0


@kernel
def probability(word, counts, rows, column, model, shares, rest):
    """The probability of the word that was located in a column, for given shares."""
    total = rest
    given = given_class(model, word)
    for p in range(shares.size):
        count = counts[p, column]
        if count > 0 and shares[p] > 0.0:
            left = count - model.discounts[p, min(count, 3)]
            kept = shares[p] * left * model.row_values[rows[p, column], SCALE]
            total += kept * given if model.tables.places[p, OF_CLASSES] else kept
    return total


@kernel
def locate_one(ids, order, model):
    """Look up the last of a few words after the others: (entries, counts, rows, shares, rest).

    Entries, counts and rows have a column a word; the shares are those of the last word's place.
    """
    n_patterns = model.discounts.shape[0]
    entries = np.full((n_patterns, ids.size), -1, np.int64)
    counts = np.zeros((n_patterns, ids.size), np.int64)
    rows = np.zeros((n_patterns, ids.size), np.int64)
    locate_few(ids, order, entries, counts, rows, model.tables)
    shares = np.empty(n_patterns)
    last = ids.size - 1
    rest = share(ids, last, rows, last, min(last, order - 1), model, np.empty(n_patterns), shares)
    return entries, counts, rows, shares, rest


@kernel
def successors(ids, order, uniform, model):
    """(begin, end, scale, floor): the list of each pattern at the place of the last of `ids`.

    The list of pattern p is its grams begin[p] … end[p]-1; it is empty where the pattern has no share. What
    is left of a count of the list times scale[p] is its part of a probability; floor is what every word has.
    """
    places = model.tables.places
    entries, _, rows, shares, rest = locate_one(ids, order, model)
    column = ids.size - 1
    begin = np.zeros(shares.size, np.int64)
    end = np.zeros(shares.size, np.int64)
    scale = np.zeros(shares.size)
    for p in range(shares.size):
        context = entries[places[p, TAIL], column - places[p, NEAREST]] if places[p, REACH] > 0 else np.int64(0)
        if shares[p] > 0.0 and context >= 0:
            begin[p] = begin_of(model.tables, p, context)
            end[p] = begin_of(model.tables, p, context + 1)
            scale[p] = shares[p] * model.row_values[rows[p, column], SCALE]
    return begin, end, scale, rest * uniform


@kernel
def class_masses(begin, end, scale, model):
    """Of each class what the patterns of classes give it; its words share that by what each is given the class."""
    tables = model.tables
    n_classes = max(model.member_base.size - 1, 0)
    masses = np.zeros(n_classes)
    for p in range(begin.size):
        if tables.places[p, OF_CLASSES]:
            for g in range(begin[p], end[p]):
                found, count = word_and_count(tables, p, g)
                if count > 0:
                    left = count - model.discounts[p, min(count, 3)]
                    masses[min(found, n_classes - 1)] += scale[p] * left
    return masses


@kernel
def class_term(word, masses, model):
    """What the patterns of classes give a word."""
    return masses[min(model.tables.class_of[word], masses.size - 1)] * model.given_class[word]


@kernel
def distribution(ids, order, uniform, model):
    """The probability of every word of the vocabulary at the place of the last of `ids`."""
    tables, discounts = model.tables, model.discounts
    begin, end, scale, floor = successors(ids, order, uniform, model)
    masses = class_masses(begin, end, scale, model)
    out = np.full(tables.places[0, N_GRAMS], floor)
    for p in range(begin.size):
        if not tables.places[p, OF_CLASSES]:
            for g in range(begin[p], end[p]):
                word, count = word_and_count(tables, p, g)
                if count > 0:
                    out[min(word, out.size - 1)] += scale[p] * (count - discounts[p, min(count, 3)])
    for word in range(out.size if masses.size > 0 else 0):
        out[word] += class_term(word, masses, model)
    out[START_ID] = 0.0
    return out
