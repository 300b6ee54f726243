"""The grams of a text found in the tables of a model.

A block of positions is looked up pattern by pattern. Each step is done for all positions before the next one, and asks
for the memory that the next one will read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.jit import apart, kernel
from gapgram.kernels.keys import key_of
from gapgram.kernels.prefetch import prefetch
from gapgram.kernels.read_tables import context_at, first_listed, read_contexts, replace_codes
from gapgram.kernels.search import find_key, first_guess
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
    gram_word,
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


class Searches(NamedTuple):
    """Searches for the words of a block among the grams of their contexts, one after the other: int64 [search] each.

    words       which word of the block is searched
    low         the first gram of its context
    spread      how many grams the context has
    guess       where the word is looked for first
    """

    words: np.ndarray
    low: np.ndarray
    spread: np.ndarray
    guess: np.ndarray


@kernel
def availability(ids, begins, order):
    """For each position how many words before it a prediction sees; sequence s is begins[s] to begins[s+1]."""
    available = np.empty(ids.size, np.int16)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            available[t] = min(t - begins[s], order - 1)
    return available


@kernel
def _search(bits, halves, form, keys, searches, n, entries, codes):
    """Do the first n searches for the grams with keys[word]; writes entries[word] and codes[word] of those found.

    From the key that lies at the first guess a second one is made, for all searches before any goes on. Returns the
    largest code.
    """
    words, low, spread, guess = searches
    code_mask = code_mask_of(form)
    largest = np.int64(-1)
    for j in range(n):
        g = guess[j]
        ahead = keys[np.uint64(words[j])] - (gram_at(bits, halves, form, g) >> form.code_bits)
        guess[j] = min(max(g + (ahead * spread[j] >> form.key_bits), low[j]), low[j] + spread[j] - 1)
        prefetch(bits, gram_word(form, guess[j]))
    for j in range(n):
        i = np.uint64(words[j])
        g, gram = find_key(bits, halves, form, keys[i], low[j], spread[j], guess[j])
        if g >= 0:
            entries[i] = g
            codes[i] = gram & code_mask
            largest = max(largest, gram & code_mask)
    return largest


@kernel
def _locate_words(words, p, tables, halves, keys, entries, codes):
    """`locate` for a pattern of no context: the words, or the classes, themselves; keys[i] receives the key of each.

    Returns the largest code.
    """
    bits, form, class_of = tables.grams, format_of(tables.places, p), tables.class_of
    clustering, first, code_mask = clustering_of(tables.places, p), first_class(tables.places, p), code_mask_of(form)
    n_words = tables.word_counts.size  # that have classes
    largest = np.int64(-1)
    for i in range(words.size):
        word = np.int64(words[i])
        if clustering > 0 and word < n_words:
            word = np.int64(class_of[np.uint64((clustering - 1) * n_words + word)]) - first
        word = word if 0 <= word < form.n_grams else np.int64(0)
        code = gram_at(bits, halves, form, word) & code_mask
        largest = max(largest, code)
        keys[i] = key_of(word, form.key_bits)
        entries[i] = word
        codes[i] = code
    return largest


@apart
def locate(words, available, found, at, tables):
    """Look up, for at most BLOCK words one after the other, the gram of every pattern and its context.

    Word i, before which available[i] words are known, fills column at+i of `found`; the columns before `at` hold the
    entries of the words before these. The tables are never read outside their bounds, whatever a damaged file says.
    """
    n = words.size
    places, parts, bits, all_entries = tables.places, tables.parts, tables.grams, found.entries
    halves = halves_of(tables)
    scratch = np.empty((7, n + 1), np.int64)
    keys, chosen, context_rows = scratch[0], scratch[1], scratch[2]
    searches = Searches(scratch[3], scratch[4], scratch[5], scratch[6])
    searched, low, spread, guess = searches.words, searches.low, searches.spread, searches.guess
    root = 0
    for p in range(places.shape[0]):
        place, form = places[p], format_of(places, p)
        entries, counts = all_entries[p, at : at + n], found.counts[p, at : at + n]
        rows = found.rows[p, at : at + n]
        first_row, last_row = place[FIRST_ROW], place[FIRST_ROW] + place[N_ROWS] - 1
        listed = first_listed(tables, code_mask_of(form))
        if place[REACH] == 0:
            # The words themselves, or their classes; the patterns up to the next such one have their keys.
            root = p
            row = min(first_row + context_at(tables, p, 0)[2], last_row)
            for i in range(n):
                rows[i] = row
            largest = _locate_words(words, p, tables, halves, keys, entries, counts)
            if largest >= listed:
                replace_codes(tables, p, entries, counts)
            continue
        # Nothing is found yet.
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
            prefetch(bits, gram_word(form, guess[n_searched]))
            n_searched += n_grams > 0
        # The searches themselves, and counts that their codes do not tell.
        largest = _search(bits, halves, form, keys, searches, n_searched, entries, counts)
        if largest >= listed:
            replace_codes(tables, p, entries, counts)


@kernel
def locate_all(words, order, tables):
    """`locate` for the words of one short sequence, from its first on."""
    found = new_found(tables.places.shape[0], words.size)
    locate(words, availability(words, np.array([0, words.size]), order), found, 0, tables)
    return found
