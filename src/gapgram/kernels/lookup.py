"""The grams of a text found in the tables of a model.

A block of positions is looked up pattern by pattern. Each step is done for all positions before the next one, and asks
for the memory that the next one will read. `kernels.chains` does something else in between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.jit import apart, inlined, kernel, training_kernel
from gapgram.kernels.lanes import in_lanes
from gapgram.kernels.prefetch import prefetch
from gapgram.kernels.read_tables import ask_for_context, context_at, first_listed, read_contexts, replace_codes
from gapgram.kernels.search import Searches, find_keys, first_guess, gram_word
from gapgram.kernels.tables import (
    FIRST_ROW,
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
from gapgram.kernels.views import part_of, part_of_row

BLOCK = 256  # positions that are looked up together
_ANY_ORDER = 1 << 14


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
def readers_of(places):
    """Of each pattern the last one whose contexts its grams are; 0 where there is none.

    The contexts of all of these lie side by side.
    """
    readers = np.zeros(places.shape[0], np.int64)
    for p in range(places.shape[0]):
        if places[p, REACH] > 0 and places[p, TAIL] < readers.size:
            readers[places[p, TAIL]] = p
    return readers


@kernel
def short_positions(available, order):
    """The positions before which fewer than order - 1 words are known."""
    short = np.empty(available.size + 1, np.int64)
    n = 0
    for i in range(available.size):
        short[n] = i
        n += available[i] < order - 1
    return short[:n]


@kernel
def locate_words(words, p, reader, keys, found, at, m, tables):
    """`locate` for a pattern of no context: the words, or the classes, themselves; keys[i] receives the key of each.

    reader: as for `search`. m: as for `prepare`.
    """
    entries, counts = part_of_row(found.entries, p, at, m), part_of_row(found.counts, p, at, m)
    rows, form = part_of_row(found.rows, p, at, m), format_of(tables.places, p)
    bits, halves = tables.grams, halves_of(tables)
    place, class_of, code_mask = tables.places[p], tables.class_of, code_mask_of(form)
    clustering, first = clustering_of(tables.places, p), first_class(tables.places, p)
    n_words = tables.word_counts.size  # that have classes
    # All follow the one context that there is.
    row = min(place[FIRST_ROW] + context_at(tables, p, 0)[2], place[FIRST_ROW] + place[N_ROWS] - 1)
    for i in range(m):
        entries[i] = -1
        counts[i] = 0
        rows[i] = row
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
    if reader > 0:
        for i in range(words.size):
            ask_for_context(tables, reader, entries[i])
    if largest >= first_listed(tables, code_mask):
        replace_codes(tables, p, entries, counts)


@in_lanes
def _keep_where_found(lanes, spread, entries):
    """Let nothing be searched where no gram was found."""
    lanes.write(spread, lanes.where(lanes.read(entries) >= 0, lanes.read(spread), 0))


@inlined
def prepare(p, root, available, short, keys, found, at, m, tables, searches):
    """Read the contexts of all words under pattern p, and ask for the grams that are to be searched.

    root: the pattern without a context that p comes from. short: `short_positions`.
    m: how many columns from `at` on may be written: as many as there are words, or the next multiple of LANES, which
        takes less time.
    Returns how many searches there are.
    """
    n, place, parts = available.size, tables.places[p], tables.parts
    entries, counts = part_of_row(found.entries, p, at, m), part_of_row(found.counts, p, at, m)
    rows, low, spread, words = part_of_row(found.rows, p, at, m), searches.low, searches.spread, searches.words
    # The context is the tail's gram that ends `distance` words before; for the first words there may be no column.
    tail, distance, reach = place[TAIL], place[NEAREST], place[REACH]
    first = min(max(distance - at, 0), n)
    before = part_of_row(found.entries, tail, at + first - distance, m - first)
    read_contexts(
        tables, p, before, part_of(low, first, m - first), part_of(spread, first, m - first),
        part_of(rows, first, m - first),
    )  # fmt: skip
    entries[:] = -1
    counts[:] = 0
    for k in range(short.size):
        i = np.uint64(short[k])
        if available[i] < reach:
            rows[i] = -1
            spread[i] = 0
    # A gram was only seen if each gram that skips one word more was: where one was not there is nothing to search.
    for k in range(parts.shape[1]):
        if parts[p, k] > root:
            _keep_where_found(m, spread, part_of_row(found.entries, parts[p, k], at, m))
    n_searched = 0
    for i in range(n):
        words[n_searched] = i
        n_searched += spread[i] > 0
    form, bits = format_of(tables.places, p), tables.grams
    for j in range(n_searched):
        i = np.uint64(words[j])
        prefetch(bits, gram_word(form, first_guess(keys[i], low[i], spread[i], form.key_bits)))
    return n_searched


@inlined
def search(p, reader, keys, found, at, tables, searches, n_searched):
    """Do the searches that `prepare` left.

    reader: a pattern whose contexts the grams of p are, which will be asked for; 0 where there is none.
    """
    n, form = keys.size, format_of(tables.places, p)
    entries, counts = part_of_row(found.entries, p, at, n), part_of_row(found.counts, p, at, n)
    largest = find_keys(tables.grams, halves_of(tables), form, keys, searches, n_searched, entries, counts)
    if largest >= first_listed(tables, code_mask_of(form)):
        replace_codes(tables, p, entries, counts)
    if reader > 0:
        for j in range(n_searched):
            entry = entries[np.uint64(searches.words[j])]
            if entry >= 0:
                ask_for_context(tables, reader, entry)


@kernel
def new_searches(n):
    """Room for the searches of n words."""
    numbers = np.empty((7, n + 1), np.int64)
    return Searches(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6])


@apart
def locate(words, available, found, at, tables):
    """Look up, for at most BLOCK words one after the other, the gram of every pattern and its context.

    Word i, before which available[i] words are known, fills column at+i of `found`; the columns before `at` hold the
    entries of the words before these. The tables are never read outside their bounds, whatever a damaged file says.
    """
    n, places = words.size, tables.places
    keys, searches, short = np.empty(n, np.int64), new_searches(n), short_positions(available, _ANY_ORDER)
    root, readers = 0, readers_of(places)
    for p in range(places.shape[0]):
        if places[p, REACH] == 0:
            # The words themselves, or their classes; the patterns up to the next such one have their keys.
            root = p
            locate_words(words, p, readers[p], keys, found, at, n, tables)
        else:
            n_searched = prepare(p, root, available, short, keys, found, at, n, tables, searches)
            search(p, readers[p], keys, found, at, tables, searches, n_searched)


@kernel
def locate_all(words, order, tables):
    """`locate` for the words of one short sequence, from its first on."""
    found = new_found(tables.places.shape[0], words.size)
    locate(words, availability(words, np.array([0, words.size]), order), found, 0, tables)
    return found
