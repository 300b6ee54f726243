"""The grams of a text found in the tables of a model.

A block of positions is looked up pattern by pattern. Each step is done for all positions before the next one, and asks
for the memory that the next one will read. `kernels.probability.chains` does something else in between. What is found
cannot be foreseen: so steps are done for positions where there is nothing to find, too, rather than branch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import inlined, kernel, noinline
from gapgram.kernels.intrinsics import part_of, part_of_row
from gapgram.kernels.lanes import in_lanes
from gapgram.kernels.lookup.search import begin_searches, find_keys, new_searches
from gapgram.kernels.tables.arrays import (
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
from gapgram.kernels.tables.read import ask_for_context, context_at, first_listed, read_contexts, replace_codes

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


@kernel
def availability(ids, begins, order):
    """For each position how many words before it a prediction sees; sequence s is begins[s] to begins[s+1]."""
    available = np.empty(ids.size, np.int16)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            available[t] = min(t - begins[s], order - 1)
    return available


@kernel
def patterns_with_tail(places):
    """Of each pattern the last one whose contexts its grams are; 0 where there is none.

    The contexts of all of these lie side by side.
    """
    readers = np.zeros(places.shape[0], np.int64)
    for p in range(places.shape[0]):
        if places[p, REACH] > 0 and places[p, TAIL] < readers.size:
            readers[places[p, TAIL]] = p
    return readers


class Order(NamedTuple):
    """In which order patterns may be looked up: int64 [pattern] each, and a number.

    patterns    the patterns, each after all that its lookup needs
    roots       of each pattern the one without a context that it comes from: of words, or of classes of a clustering
    streams     the number of that one among its like
    n_streams   how many of these there are
    """

    patterns: np.ndarray
    roots: np.ndarray
    streams: np.ndarray
    n_streams: int


@kernel
def lookup_order(places):
    """By the number of words in a context: what is looked up next then seldom needs what was looked up last."""
    n_patterns, n_streams = places.shape[0], 0
    numbers, begins = np.empty((4, n_patterns), np.int64), np.zeros(n_patterns + 1, np.int64)
    patterns, roots, streams, depths = numbers[0], numbers[1], numbers[2], numbers[3]
    for p in range(n_patterns):
        tail, is_root = places[p, TAIL], places[p, REACH] == 0
        depths[p] = 0 if is_root else depths[tail] + 1
        roots[p] = p if is_root else roots[tail]
        streams[p] = n_streams if is_root else streams[tail]
        n_streams += is_root
        begins[depths[p] + 1] += 1
    # Those of each depth come after those of all smaller depths.
    for depth in range(n_patterns):
        begins[depth + 1] += begins[depth]
    for p in range(n_patterns):
        patterns[begins[depths[p]]] = p
        begins[depths[p]] += 1
    return Order(patterns, roots, streams, n_streams)


@kernel
def depends_on(p, other, tables):
    """Whether pattern p is looked up with what was found under another one."""
    is_needed = tables.places[p, TAIL] == other
    for k in range(tables.parts.shape[1]):
        is_needed = is_needed or tables.parts[p, k] == other
    return is_needed


@kernel
def known_words(available, m):
    """How many words are known before each of m positions; -1 for those beyond the ones that there are."""
    known = np.full(m, -1, np.int64)
    for i in range(available.size):
        known[i] = available[i]
    return known


@kernel
def locate_words(words, p, reader, keys, found, at, m, tables):
    """`locate` for a pattern of no context: the words, or the classes, themselves; keys[i] receives the key of each.

    reader: as for `search`. m: as for `begin_lookup`.
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


@in_lanes
def _keep_where_known(lanes, known, reach, rows, spread):
    """Where too few words are known there is no context, and nothing to search."""
    is_known = lanes.read(known) >= reach
    lanes.write(rows, lanes.where(is_known, lanes.read(rows), -1))
    lanes.write(spread, lanes.where(is_known, lanes.read(spread), 0))


@inlined
def begin_lookup(p, root, known, keys, found, at, tables, searches):
    """Read the contexts of all words under pattern p, and ask for the grams that are to be searched.

    root: the pattern without a context that p comes from. known: `known_words`, of all columns from `at` on that are
        filled: as many as there are words, or the next multiple of LANES, which takes less time.
    """
    m, place, parts = known.size, tables.places[p], tables.parts
    rows, low, spread = part_of_row(found.rows, p, at, m), searches.first, searches.spread
    # The context is the tail's gram that ends `distance` words before; for the first words there may be no column.
    tail, distance, reach = place[TAIL], place[NEAREST], place[REACH]
    first = min(max(distance - at, 0), m)
    before = part_of_row(found.entries, tail, at + first - distance, m - first)
    read_contexts(
        tables, p, before, part_of(low, first, m - first), part_of(spread, first, m - first),
        part_of(rows, first, m - first),
    )  # fmt: skip
    _keep_where_known(m, known, reach, rows, spread)
    # A gram was only seen if each gram that skips one word more was: where one was not there is nothing to search.
    for k in range(parts.shape[1]):
        if parts[p, k] > root:
            _keep_where_found(m, spread, part_of_row(found.entries, parts[p, k], at, m))
    begin_searches(tables.grams, format_of(tables.places, p), m, keys, searches)


@inlined
def search(p, reader, keys, found, at, tables, searches):
    """Do the searches that `begin_lookup` began.

    reader: a pattern whose contexts the grams of p are, which will be asked for; 0 where there is none.
    """
    form, seen, m = format_of(tables.places, p), searches.seen, keys.size
    entries, counts = part_of_row(found.entries, p, at, m), part_of_row(found.counts, p, at, m)
    largest = find_keys(tables.grams, halves_of(tables), form, m, keys, searches, entries, counts)
    if largest >= first_listed(tables, code_mask_of(form)):
        replace_codes(tables, p, entries, counts)
    if reader > 0:
        for j in range(1, seen[0] + 1):
            ask_for_context(tables, reader, entries[np.uint64(seen[np.uint64(j)])])


@noinline
def locate(words, available, found, at, tables):
    """Look up, for at most BLOCK words one after the other, the gram of every pattern and its context.

    Word i, before which available[i] words are known, fills column at+i of `found`; the columns before `at` hold the
    entries of the words before these. The tables are never read outside their bounds, whatever a damaged file says.
    """
    n, places = words.size, tables.places
    keys, searches, known = np.empty(n, np.int64), new_searches(n), known_words(available, n)
    root, readers = 0, patterns_with_tail(places)
    for p in range(places.shape[0]):
        if places[p, REACH] == 0:
            # The words themselves, or their classes; the patterns up to the next such one have their keys.
            root = p
            locate_words(words, p, readers[p], keys, found, at, n, tables)
        else:
            begin_lookup(p, root, known, keys, found, at, tables, searches)
            search(p, readers[p], keys, found, at, tables, searches)


@kernel
def locate_all(words, order, tables):
    """`locate` for the words of one short sequence, from its first on."""
    found = new_found(tables.places.shape[0], words.size)
    locate(words, availability(words, np.array([0, words.size]), order), found, 0, tables)
    return found
