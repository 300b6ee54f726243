"""The grams of a text found in the tables of a model."""

from __future__ import annotations

import sys

import numpy as np

from gapgram.kernels.bits import read_bits
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
    context_at,
    first_listed,
    key_of,
    listed_count,
    read_contexts,
)

BLOCK = 256  # positions that are looked up together
_LITTLE = sys.byteorder == "little"


@kernel
def availability(ids, begins, order):
    """For each position how many words before it a prediction sees; sequence s is begins[s] to begins[s+1]."""
    available = np.empty(ids.size, np.int16)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            available[t] = min(t - begins[s], order - 1)
    return available


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
def locate_few(ids, order, entries, counts, rows, tables):
    """`locate` for one short sequence from its first word on."""
    locate(ids, availability(ids, np.array([0, ids.size]), order), 0, ids.size, 0, entries, counts, rows, tables)
