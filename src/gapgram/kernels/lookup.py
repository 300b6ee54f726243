"""The grams of a text found in the tables of a model.

A block of positions is looked up pattern by pattern. Each step is done for all positions before the next one, and asks
for the memory that the next one will read.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from gapgram.kernels.bits import read_bits
from gapgram.kernels.compact_read import packed_contexts, packed_count
from gapgram.kernels.jit import kernel
from gapgram.kernels.prefetch import prefetch
from gapgram.kernels.tables import (
    CODE_BITS,
    FIRST_GRAM,
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
    large_count,
    read_contexts,
)

BLOCK = 256  # positions that are looked up together
_LITTLE = sys.byteorder == "little"


class Found(NamedTuple):
    """What the tables hold of some words of a text, a column a word: int64 [pattern, column] each.

    entries     the number of the pattern's gram that ends with the word; -1 where it was never seen
    counts      the count of that gram
    rows        the row of its context; the pattern's row 0 where it was never seen, -1 where the sentence is too short
    """

    entries: np.ndarray
    counts: np.ndarray
    rows: np.ndarray


@kernel
def new_found(n_patterns, n_columns):
    """A `Found` to be filled by `locate`."""
    shape = (n_patterns, n_columns)
    return Found(np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.int64))


@kernel
def availability(ids, begins, order):
    """For each position how many words before it a prediction sees; sequence s is begins[s] to begins[s+1]."""
    available = np.empty(ids.size, np.int16)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            available[t] = min(t - begins[s], order - 1)
    return available


@kernel
def _gram(grams, halves, bit, width, g):
    """Gram g of a pattern whose bits start at `bit`; `halves` are all bits as numbers of 32, or None."""
    if halves is None:
        return read_bits(grams, bit + g * width, width)
    return np.int64(halves[np.uint64((bit >> 5) + g)])


@kernel
def _search(grams, halves, place, keys, seen, low, spread, guess, n, found, codes):
    """Of search j find the gram with keys[seen[j]] among the spread[j] > 0 grams from low[j] on.

    guess[j] is where it is looked for first. From the key that lies there the place is guessed again, for all
    searches before any goes on. The key is then at most a few steps away. Writes found[seen[j]] and codes[seen[j]];
    returns the largest code. `place` is the row of the pattern in the tables' places.
    """
    bit, width, code_bits, key_bits = place[GRAM_BIT], place[WIDTH], place[CODE_BITS], place[KEY_BITS]
    code_mask = (np.int64(1) << code_bits) - 1
    largest = np.int64(-1)
    for j in range(n):
        g = guess[j]
        ahead = keys[np.uint64(seen[j])] - (_gram(grams, halves, bit, width, g) >> code_bits)
        guess[j] = min(max(g + (ahead * spread[j] >> key_bits), low[j]), low[j] + spread[j] - 1)
        prefetch(grams, (bit + guess[j] * width) >> 6)
    for j in range(n):
        i = np.uint64(seen[j])
        key, g, first, last, slope = keys[i], guess[j], low[j], low[j] + spread[j] - 1, spread[j]
        while first <= last:
            gram = _gram(grams, halves, bit, width, g)
            ahead = key - (gram >> code_bits)
            if ahead == 0:
                found[i] = g
                codes[i] = gram & code_mask
                largest = max(largest, gram & code_mask)
                break
            first = g + 1 if ahead > 0 else first
            last = last if ahead > 0 else g - 1
            g = min(max(g + (ahead * slope >> key_bits), first), last)
    return largest


@kernel
def _fill_in_counts(tables, p, listed, found, counts):
    """Replace the codes of the grams found that do not tell their counts (`listed_count`)."""
    packed, large_at, large_counts = tables.packed, tables.large_at, tables.large_counts
    first = tables.places[p, FIRST_GRAM]
    packed_at = tables.packed_places[p] if packed.size > 0 else tables.places[p]
    for i in range(found.size):
        if found[i] >= 0 and counts[i] >= listed:
            count = packed_count(packed, packed_at, found[i], counts[i]) if packed.size > 0 else np.int64(-1)
            counts[i] = count if count >= 0 else large_count(first + found[i], large_at, large_counts)


@kernel
def _locate_words(ids, p, tables, halves, keys, found, counts, rows):
    """`locate` for a pattern of no context: the words, or the classes, themselves; keys[i] receives the key of each."""
    places, grams, class_of = tables.places, tables.grams, tables.class_of
    row = places[p, FIRST_ROW] + min(context_at(tables, p, 0)[2], places[p, N_ROWS] - 1)
    n_words, of_classes, key_bits = places[p, N_GRAMS], places[p, OF_CLASSES] > 0, places[p, KEY_BITS]
    bit, width, code_mask = places[p, GRAM_BIT], places[p, WIDTH], (np.int64(1) << places[p, CODE_BITS]) - 1
    listed = first_listed(tables, code_mask)
    largest = np.int64(-1)
    for i in range(ids.size):
        word = np.int64(ids[i])
        if of_classes and word < class_of.size:
            word = np.int64(class_of[np.uint64(word)])
        word = word if 0 <= word < n_words else np.int64(0)
        code = _gram(grams, halves, bit, width, word) & code_mask
        largest = max(largest, code)
        keys[i] = key_of(word, key_bits)
        found[i] = word
        counts[i] = code
        rows[i] = row
    if largest >= listed:
        _fill_in_counts(tables, p, listed, found, counts)


@kernel
def locate(words, available, found, at, tables):
    """Look up, for at most BLOCK words one after the other, the gram of every pattern and its context.

    Word i, before which available[i] words are known, fills column at+i of `found`; the columns before `at` hold the
    entries of the words before these. The tables are never read outside their bounds, whatever a damaged file says.
    """
    n = words.size
    places, parts, grams, entries = tables.places, tables.parts, tables.grams, found.entries
    # Of each position the key of its word; of those whose context was seen, one after the other: which they are,
    # the context, where its grams begin, how many there are, its row, and where the word is looked for first.
    room = np.empty((7, n + 1), np.int64)
    keys, seen, chosen, low, spread, context_rows, guess = room[0], room[1], room[2], room[3], room[4], room[5], room[6]
    halves, halved = grams.view(np.uint32), tables.contexts.size > 0 and _LITTLE  # the fast layout has grams of 32 bits
    root = 0
    for p in range(places.shape[0]):
        own, own_counts = entries[p, at : at + n], found.counts[p, at : at + n]
        own_rows = found.rows[p, at : at + n]
        if places[p, REACH] == 0:
            root = p
            if halved:
                _locate_words(words, p, tables, halves, keys, own, own_counts, own_rows)
            else:
                _locate_words(words, p, tables, None, keys, own, own_counts, own_rows)
            continue
        place = places[p]
        tail, distance, reach, last_context = place[TAIL], place[NEAREST], place[REACH], place[N_CONTEXTS] - 1
        row_at, last_row = place[FIRST_ROW], place[FIRST_ROW] + place[N_ROWS] - 1
        bit, width, key_bits = place[GRAM_BIT], place[WIDTH], place[KEY_BITS]
        for i in range(n):
            own[i] = -1
            own_counts[i] = 0
            own_rows[i] = row_at if available[i] >= reach else -1
        n_seen = 0
        for i in range(n):
            context = min(entries[tail, np.uint64(max(at + i - distance, 0))], last_context)
            seen[n_seen] = i
            chosen[n_seen] = context
            n_seen += available[i] >= reach and context >= 0
        if tables.contexts.size > 0:
            read_contexts(tables.contexts, place, chosen, n_seen, low, spread, context_rows)
        else:
            packed_contexts(
                tables.packed, tables.packed_places[p], grams, bit, width, place[CODE_BITS], place[N_GRAMS],
                place[N_CONTEXTS], chosen, n_seen, low, spread, context_rows,
            )  # fmt: skip
        for k in range(parts.shape[1]):
            part = parts[p, k]
            if part > root:  # a gram was only seen if each of its parts was
                part_found = entries[part, at : at + n]
                for j in range(n_seen):
                    spread[j] *= part_found[np.uint64(seen[j])] >= 0
        n_searched = 0
        for j in range(n_seen):
            i, grams_of = seen[j], spread[j]
            own_rows[np.uint64(i)] = min(row_at + context_rows[j], last_row)
            seen[n_searched] = i
            low[n_searched] = low[j]
            spread[n_searched] = grams_of
            guess[n_searched] = low[j] + (keys[np.uint64(i)] * grams_of >> key_bits)
            prefetch(grams, (bit + guess[n_searched] * width) >> 6)
            n_searched += grams_of > 0
        if halved:
            largest = _search(grams, halves, place, keys, seen, low, spread, guess, n_searched, own, own_counts)
        else:
            largest = _search(grams, None, place, keys, seen, low, spread, guess, n_searched, own, own_counts)
        listed = first_listed(tables, (np.int64(1) << place[CODE_BITS]) - 1)
        if largest >= listed:
            _fill_in_counts(tables, p, listed, own, own_counts)


@kernel
def locate_all(words, order, tables):
    """`locate` for the words of one short sequence, from its first on."""
    found = new_found(tables.places.shape[0], words.size)
    locate(words, availability(words, np.array([0, words.size]), order), found, 0, tables)
    return found
