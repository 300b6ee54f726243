"""The grams of a text found in the tables of a model.

A block of positions is looked up pattern by pattern. Each step is done for all positions before the next one, and asks
for the memory that the next one will read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.jit import apart, kernel, training_kernel
from gapgram.kernels.prefetch import prefetch
from gapgram.kernels.read_tables import context_at, first_listed, read_contexts, replace_codes
from gapgram.kernels.search import Searches, find_keys, first_guess, gram_word
from gapgram.kernels.tables import (
    FIRST_ROW,
    N_CONTEXTS,
    N_ROWS,
    NEAREST,
    REACH,
    TAIL,
    clustering_of,
    code_mask_of,
    first_class,
    format_of,
    gram_at,
    halves_of,
)

BLOCK = 256  # positions that are looked up together


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


@training_kernel
def availability(ids, begins, order):
    """For each position how many words before it a prediction sees; sequence s is begins[s] to begins[s+1]."""
    available = np.empty(ids.size, np.int16)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            available[t] = min(t - begins[s], order - 1)
    return available


@kernel
def _locate_words(words, p, tables, keys, entries, counts, rows):
    """`locate` for a pattern of no context: the words, or the classes, themselves; keys[i] receives the key of each."""
    bits, halves, form = tables.grams, halves_of(tables), format_of(tables.places, p)
    place, class_of, code_mask = tables.places[p], tables.class_of, code_mask_of(form)
    clustering, first = clustering_of(tables.places, p), first_class(tables.places, p)
    n_words = tables.word_counts.size  # that have classes
    largest = np.int64(-1)
    for i in range(words.size):
        word = np.int64(words[i])
        if clustering > 0 and word < n_words:
            word = np.int64(class_of[np.uint64((clustering - 1) * n_words + word)]) - first
        word = word if 0 <= word < form.n_grams else np.int64(0)
        gram = gram_at(bits, halves, form, word)
        keys[i] = gram >> form.code_bits
        entries[i] = word
        counts[i] = gram & code_mask
        largest = max(largest, gram & code_mask)
    # All follow the one context that there is.
    row = min(place[FIRST_ROW] + context_at(tables, p, 0)[2], place[FIRST_ROW] + place[N_ROWS] - 1)
    for i in range(words.size):
        rows[i] = row
    if largest >= first_listed(tables, code_mask):
        replace_codes(tables, p, entries, counts)


@apart
def locate(words, available, found, at, tables):
    """Look up, for at most BLOCK words one after the other, the gram of every pattern and its context.

    Word i, before which available[i] words are known, fills column at+i of `found`; the columns before `at` hold the
    entries of the words before these. The tables are never read outside their bounds, whatever a damaged file says.
    """
    n = words.size
    places, parts, bits, all_entries = tables.places, tables.parts, tables.grams, found.entries
    scratch = np.empty((7, n + 1), np.int64)
    keys, chosen, context_rows = scratch[0], scratch[1], scratch[2]
    searches = Searches(scratch[3], scratch[4], scratch[5], scratch[6])
    searched, low, spread, guess = searches.words, searches.low, searches.spread, searches.guess
    root = 0
    for p in range(places.shape[0]):
        place = places[p]
        entries, counts = all_entries[p, at : at + n], found.counts[p, at : at + n]
        rows = found.rows[p, at : at + n]
        if place[REACH] == 0:
            # The words themselves, or their classes; the patterns up to the next such one have their keys.
            root = p
            _locate_words(words, p, tables, keys, entries, counts, rows)
            continue
        # Nothing is found yet.
        halves, form = halves_of(tables), format_of(places, p)
        first_row, last_row = place[FIRST_ROW], place[FIRST_ROW] + place[N_ROWS] - 1
        tail, distance, reach, last_context = place[TAIL], place[NEAREST], place[REACH], place[N_CONTEXTS] - 1
        for i in range(n):
            entries[i] = -1
            counts[i] = 0
            rows[i] = first_row if available[i] >= reach else -1
        # The context is the tail's gram that ends `distance` words before: who has one that was seen is searched.
        n_seen = 0
        for i in range(n):
            context = min(all_entries[tail, np.uint64(max(at + i - distance, 0))], last_context)
            searched[n_seen] = i
            chosen[n_seen] = context
            n_seen += available[i] >= reach and context >= 0
        # The grams and the row of each of these contexts.
        read_contexts(tables, p, chosen, n_seen, low, spread, context_rows)
        # A gram was only seen if each gram that skips one word more was: where one was not there is nothing to search.
        for k in range(parts.shape[1]):
            part = parts[p, k]
            if part > root:
                part_entries = all_entries[part, at : at + n]
                for j in range(n_seen):
                    spread[j] *= part_entries[np.uint64(searched[j])] >= 0
        # A first guess for every search that is left.
        n_searched = 0
        for j in range(n_seen):
            i, n_grams = searched[j], spread[j]
            rows[np.uint64(i)] = min(first_row + context_rows[j], last_row)
            searched[n_searched] = i
            low[n_searched] = low[j]
            spread[n_searched] = n_grams
            guess[n_searched] = first_guess(keys[np.uint64(i)], low[j], n_grams, form.key_bits)
            prefetch(bits, gram_word(form, guess[n_searched] if n_grams > 0 else np.int64(0)))  # 0 is near already
            n_searched += n_grams > 0
        # The searches themselves, and counts that their codes do not tell.
        largest = find_keys(bits, halves, form, keys, searches, n_searched, entries, counts)
        if largest >= first_listed(tables, code_mask_of(form)):
            replace_codes(tables, p, entries, counts)


@kernel
def locate_all(words, order, tables):
    """`locate` for the words of one short sequence, from its first on."""
    found = new_found(tables.places.shape[0], words.size)
    locate(words, availability(words, np.array([0, words.size]), order), found, 0, tables)
    return found
