"""The grams of a text found in the tables of a model, and their probabilities.

A model is one plain tuple of arrays:

    tables                      `kernels.tables`
    discounts                   [pattern, 4]: what is taken from a count of 0, 1, 2, 3 or more
    row_values                  [row, 4]: of a context with these statistics the SCALE that turns a
                                discounted count into a probability, the BACKOFF probability g, the
                                WEIGHT among its rivals, and its BUCKET in the gate table
    edge_base, edge_to, edge_weight    the patterns each pattern falls back on, and its leaning to each
    start_base, starts          for 0 … n-1 words available: the patterns a prediction starts from
    gate_table                  [feature, pattern]: logits that add up (`kernels.gate`); may be empty
    given_class                 of each word its probability given its class; empty without patterns of classes
    members, member_base        the words of class c, the most probable first: members[member_base[c]:member_base[c+1]]

A prediction gives its starting patterns shares in the ratio of their weights, times, where there is a
gate, the exponential of their logits. A pattern keeps of its share what its discounted counts use and
passes g of it on to the patterns below it, in the ratio of edge_weight × their weights; what the empty
pattern passes on is spread evenly over the vocabulary. A pattern of classes predicts the class of a word, and
the word with its probability given its class. All of this depends on the context alone, and SCALE and BACKOFF
belong together, so every distribution sums to one.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from gapgram.kernels.bits import read_bits
from gapgram.kernels.gate import BUCKETS, word_bucket, word_row
from gapgram.kernels.jit import kernel
from gapgram.kernels.tables import (
    CODE_BITS,
    FIRST_ROW,
    GRAM_BIT,
    KEY_BITS,
    N_CONTEXTS,
    N_GRAMS,
    N_ROWS,
    NEAREST,
    OF_CLASSES,
    REACH,
    TAIL,
    WIDTH,
    Tables,
    begin_of,
    context_at,
    first_listed,
    key_of,
    listed_count,
    read_contexts,
    word_and_count,
)
from gapgram.kernels.words import START

SCALE, BACKOFF, WEIGHT, BUCKET = 0, 1, 2, 3
BLOCK = 256
_LITTLE = sys.byteorder == "little"


class ModelArrays(NamedTuple):
    """The arrays of the module's head."""

    tables: Tables
    discounts: np.ndarray
    row_values: np.ndarray
    edge_base: np.ndarray
    edge_to: np.ndarray
    edge_weight: np.ndarray
    start_base: np.ndarray
    starts: np.ndarray
    gate_table: np.ndarray
    given_class: np.ndarray
    members: np.ndarray
    member_base: np.ndarray


@kernel
def _search(grams, bit, width, code_bits, key_bits, keys, low, high, spread, guess, active, n_active, found):
    """Of each active search i, find the gram with keys[i] among the grams low[i] … high[i]-1.

    guess[i] is where it is looked for first; spread[i] is how many grams the context has. `found` receives the whole
    gram, or stays -1. All searches take a step before any takes its next: their reads do not wait for each other.
    """
    halves, first_half = grams.view(np.uint32), bit >> 5  # of words of 64 bits: what 32-bit grams are
    halved = width == 32 and _LITTLE
    while n_active > 0:
        still = 0
        for a in range(n_active):
            i = active[a]
            g = guess[i]
            gram = np.int64(halves[first_half + g]) if halved else read_bits(grams, bit + g * width, width)
            difference = keys[i] - (gram >> code_bits)
            if difference == 0:
                found[i] = gram
                continue
            if difference > 0:
                low[i] = g + 1
            else:
                high[i] = g
            guess[i] = min(max(g + (difference * spread[i] >> key_bits), low[i]), high[i] - 1)
            active[still] = i
            still += low[i] < high[i]
        n_active = still


@kernel
def locate(ids, available, begin, end, at, entries, counts, rows, tables):
    """Look up, for at most BLOCK positions begin … end-1, the gram of every pattern and its context.

    Writes column at+i for position begin+i: `entries` the number of the gram (-1: never seen), `counts`
    its count, `rows` the row of its context (the pattern's row 0 where it was never seen, -1 where the
    sentence is too short for the pattern). The columns before `at` hold the positions before `begin`.
    The tables are never read outside their bounds, whatever a damaged file says.
    """
    n = end - begin
    places, grams, parts = tables.places, tables.grams, tables.parts
    word_keys = np.empty(n, np.int64)
    # Of the positions whose context was seen: which they are, and of each search what `_search` takes.
    seen = np.empty(n + 1, np.int64)
    chosen = np.empty(n + 1, np.int64)
    keys = np.empty(n, np.int64)
    own_rows = np.empty(n, np.int64)
    low = np.empty(n, np.int64)
    high = np.empty(n, np.int64)
    spread = np.empty(n, np.int64)
    guess = np.empty(n, np.int64)
    found = np.empty(n, np.int64)
    active = np.empty(n + 1, np.int64)
    root = 0
    for p in range(places.shape[0]):
        key_bits = places[p, KEY_BITS]
        if places[p, REACH] == 0:
            root = p
            row = places[p, FIRST_ROW] + min(context_at(tables, p, 0)[2], places[p, N_ROWS] - 1)
            class_of, n_words, of_classes = tables.class_of, places[p, N_GRAMS], places[p, OF_CLASSES] > 0
            bit, width, code_mask = places[p, GRAM_BIT], places[p, WIDTH], (np.int64(1) << places[p, CODE_BITS]) - 1
            listed = first_listed(tables, code_mask)
            for i in range(n):
                word = np.int64(ids[begin + i])
                if of_classes and word < class_of.size:
                    word = np.int64(class_of[word])
                if word >= n_words:
                    word = np.int64(0)
                count = read_bits(grams, bit + word * width, width) & code_mask
                if count >= listed:
                    count = listed_count(tables, p, word, count)
                word_keys[i] = key_of(word, key_bits)
                entries[p, at + i] = word
                counts[p, at + i] = count
                rows[p, at + i] = row
            continue
        tail, distance, reach = places[p, TAIL], places[p, NEAREST], places[p, REACH]
        bit, width, code_bits = places[p, GRAM_BIT], places[p, WIDTH], places[p, CODE_BITS]
        last_context = places[p, N_CONTEXTS] - 1
        row_at, last_row = places[p, FIRST_ROW], places[p, FIRST_ROW] + places[p, N_ROWS] - 1
        code_mask = (np.int64(1) << code_bits) - 1
        listed = first_listed(tables, code_mask)
        n_seen = 0
        for i in range(n):
            long_enough = available[begin + i] >= reach
            context = min(entries[tail, at + i - distance], last_context) if long_enough else np.int64(-1)
            rows[p, at + i] = row_at if long_enough else -1
            entries[p, at + i] = -1
            counts[p, at + i] = 0
            seen[n_seen] = i
            chosen[n_seen] = context
            n_seen += context >= 0
        own_rows[:n_seen] = 0
        read_contexts(tables, p, chosen[:n_seen], low, spread, own_rows)
        for k in range(parts.shape[1]):
            part = parts[p, k]
            if part > root:  # a gram was only seen if each of its parts was
                for j in range(n_seen):
                    spread[j] *= entries[part, at + seen[j]] >= 0
        n_active = 0
        for j in range(n_seen):
            rows[p, at + seen[j]] = min(row_at + own_rows[j], last_row)
            keys[j] = word_keys[seen[j]]
            high[j] = low[j] + spread[j]
            guess[j] = low[j] + (keys[j] * spread[j] >> key_bits)
            found[j] = -1
            active[n_active] = j
            n_active += spread[j] > 0
        _search(grams, bit, width, code_bits, key_bits, keys, low, high, spread, guess, active, n_active, found)
        for j in range(n_seen):
            if found[j] >= 0:
                count = found[j] & code_mask
                if count >= listed:
                    count = listed_count(tables, p, guess[j], count)
                entries[p, at + seen[j]] = guess[j]
                counts[p, at + seen[j]] = count


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
    largest = -np.inf
    for p in range(n_patterns):
        if shares[p] > 0.0:
            largest = max(largest, logits[p])
    for p in range(n_patterns):
        if shares[p] > 0.0:
            shares[p] *= math.exp(logits[p] - largest)


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
def availability(ids, begins, order):
    """For each position how many words before it a prediction sees; sequence s is begins[s] to begins[s+1]."""
    available = np.empty(ids.size, np.int16)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            available[t] = min(t - begins[s], order - 1)
    return available


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


@kernel
def locate_few(ids, order, entries, counts, rows, tables):
    """`locate` for one short sequence from its first word on."""
    locate(ids, availability(ids, np.array([0, ids.size]), order), 0, ids.size, 0, entries, counts, rows, tables)


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
    out[START] = 0.0
    return out
