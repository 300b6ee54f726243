"""Grams, counts and contexts read from the tables of a pattern, in either layout."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import inlined, kernel, noinline
from gapgram.kernels.intrinsics import prefetch
from gapgram.kernels.lanes import in_lanes
from gapgram.kernels.tables.arrays import (
    COUNT_BITS,
    FIRST_CONTEXT,
    FIRST_GRAM,
    FIRST_ROW,
    N_CONTEXTS,
    N_GRAMS,
    N_ROWS,
    ROW_BITS,
    ROW_MASK,
    STRIDE,
    code_mask_of,
    format_of,
    gram_at,
    halves_of,
)
from gapgram.kernels.tables.compact_read import packed_context, packed_contexts, packed_count
from gapgram.kernels.tables.keys import inverse_of, key_of, word_of
from gapgram.kernels.tables.search import find_key, first_at_least, first_guess

RUN = 1024  # grams that are read at a time


# Which layout tables have, the type of `packed` says, None or an array: where it is an argument of its own, and None,
# the branch of the compact layout is left out before anything is compiled.


@inlined
def first_listed(tables, code_mask):
    """The first code that is not the count itself: in the compact layout none is."""
    return _first_listed(tables.packed, code_mask)


@inlined
def _first_listed(packed, code_mask):
    if packed is None:
        return code_mask
    return np.int64(0)


@kernel
def _large_count(tables, p, g):
    large_at = tables.large_at
    i = first_at_least(large_at, 0, large_at.size, tables.places[p, FIRST_GRAM] + g)
    return max(tables.large_counts[i], 0) if i < large_at.size else np.int64(1)


@inlined
def listed_count(tables, p, g, code):
    """The count of gram g of pattern p, whose code, at least `first_listed`, does not tell it."""
    return _listed_count(tables, tables.packed, p, g, code)


@kernel
def _listed_count(tables, packed, p, g, code):
    if packed is None:
        return _large_count(tables, p, g)
    count = packed_count(packed, tables.packed_places[p], g, code)
    return count if count >= 0 else _large_count(tables, p, g)


@noinline
def replace_codes(tables, p, entries, codes):
    """Put counts in the place of the codes of grams of pattern p that do not tell them; entries: the grams, or -1."""
    listed = first_listed(tables, code_mask_of(format_of(tables.places, p)))
    for i in range(entries.size):
        if entries[i] >= 0 and codes[i] >= listed:
            codes[i] = listed_count(tables, p, entries[i], codes[i])


@kernel
def read_grams(tables, p, begin, words, counts):
    """Fill `words` and `counts` with those of as many grams of pattern p, from gram `begin` on."""
    bits, halves, form = tables.grams, halves_of(tables), format_of(tables.places, p)
    code_mask, inverse = code_mask_of(form), inverse_of(form.key_bits)
    listed = first_listed(tables, code_mask)
    for i in range(words.size):
        gram = gram_at(bits, halves, form, begin + i)
        code = gram & code_mask
        words[i] = word_of(gram >> form.code_bits, form.key_bits, inverse)
        if code >= listed:
            code = listed_count(tables, p, begin + i, code)
        counts[i] = code


@kernel
def find_counts(tables, p, begin, end, words, counts):
    """Fill `counts` with those that some words have among grams begin … end-1 of pattern p, the grams of one context.

    0 where a word is not there.
    """
    bits, halves, form = tables.grams, halves_of(tables), format_of(tables.places, p)
    code_mask = code_mask_of(form)
    entries = np.empty(words.size, np.int64)
    for i in range(words.size):
        if p == 0:  # all words, in the order of their ids
            g, gram = np.int64(words[i]), gram_at(bits, halves, form, words[i])
        else:
            key = key_of(words[i], form.key_bits)
            guess = first_guess(key, begin, end - begin, form.key_bits)
            g, gram = find_key(bits, halves, form, key, begin, end - begin, guess)
        entries[i] = g
        counts[i] = gram & code_mask
    replace_codes(tables, p, entries, counts)


@kernel
def _begin(record):
    """Where the grams of a context begin; never negative, as a record of a damaged file may be."""
    return np.int64(np.uint64(record) >> np.uint64(ROW_BITS))


@inlined
def context_at(tables, p, context):
    """(begin, end, row): the grams of a context of pattern p, and the row of its statistics, as the file has it."""
    return _context_at(tables, tables.packed, p, context)


@kernel
def _context_at(tables, packed, p, context):
    if packed is not None:
        return packed_context(tables, p, context)
    places, contexts = tables.places, tables.contexts
    stride, n_grams = places[p, STRIDE], places[p, N_GRAMS]
    record = places[p, FIRST_CONTEXT] + context * stride
    this, following = contexts[record], contexts[record + stride]
    begin = min(_begin(this), n_grams)
    return begin, max(min(_begin(following), n_grams), begin), this & ROW_MASK


@inlined
def prefetch_context(tables, p, context):
    """Begin to bring near what `context_at` will read; the context may be any number."""
    _prefetch_context(tables, tables.packed, p, context)


@kernel
def _prefetch_context(tables, packed, p, context):
    if packed is None:  # in the compact layout it is found step by step where a context lies
        stride = tables.places[p, STRIDE]
        record = tables.places[p, FIRST_CONTEXT] + context * stride
        prefetch(tables.contexts, record)
        prefetch(tables.contexts, record + stride)  # may lie in the next line of the cache


@in_lanes
def _read_contexts(
    lanes, contexts, chosen, first, stride, last, n_grams, first_row, last_row, low, spread, rows
):
    """`read_contexts`, for all lanes."""
    context = lanes.read(chosen)
    record = lanes.minimum(lanes.maximum(context, 0), last) * stride + first
    this, following = lanes.gather(contexts, record), lanes.gather(contexts, record + stride)
    begin = lanes.minimum(lanes.shift_right(this, ROW_BITS), n_grams)
    grams = lanes.maximum(lanes.minimum(lanes.shift_right(following, ROW_BITS), n_grams) - begin, 0)
    lanes.write(low, begin)
    lanes.write(spread, lanes.where(context >= 0, grams, 0))
    lanes.write(rows, lanes.where(context >= 0, lanes.minimum((this & ROW_MASK) + first_row, last_row), first_row))


@inlined
def read_contexts(tables, p, chosen, low, spread, rows):
    """Of contexts of pattern p where their grams begin, how many there are, and the rows of their statistics.

    Where one is -1, which was never seen, there are no grams, and the row is the first of the pattern.
    """
    _read_all_contexts(tables, tables.packed, p, chosen, low, spread, rows)


@kernel
def _read_all_contexts(tables, packed, p, chosen, low, spread, rows):
    if packed is not None:
        packed_contexts(tables, p, chosen, low, spread, rows)
        return
    place = tables.places[p]
    if place[N_CONTEXTS] <= 0:  # there is nothing to read
        for i in range(chosen.size):
            low[i], spread[i], rows[i] = 0, 0, place[FIRST_ROW]
        return
    last, last_row = place[N_CONTEXTS] - 1, place[FIRST_ROW] + place[N_ROWS] - 1
    _read_contexts(
        chosen.size, tables.contexts, chosen, place[FIRST_CONTEXT], place[STRIDE], last, place[N_GRAMS],
        place[FIRST_ROW], last_row, low, spread, rows,
    )  # fmt: skip


@kernel
def counts_of_counts(tables, p, begin, end, upto):
    """How many of grams begin … end-1 of a pattern have count 0, 1 … `upto`, and how many have more."""
    bits, halves, form = tables.grams, halves_of(tables), format_of(tables.places, p)
    code_mask = code_mask_of(form)
    listed = first_listed(tables, code_mask)
    # Four sums, so that equal counts one after the other do not wait for each other.
    sums = np.zeros((4, upto + 2), np.int64)
    for g in range(begin, end):
        count = gram_at(bits, halves, form, g) & code_mask
        if count >= listed:
            count = listed_count(tables, p, g, count)
        sums[g & 3, min(count, upto + 1)] += 1
    out = np.zeros(upto + 2, np.int64)
    for i in range(4):
        for count in range(upto + 2):
            out[count] += sums[i, count]
    return out


@kernel
def unpack_grams(tables, p, begin, end):
    """Grams begin … end-1 of a pattern as `word << COUNT_BITS | count`."""
    out, counts = np.empty(end - begin, np.int64), np.empty(RUN, np.int64)
    for first in range(begin, end, RUN):
        n = min(RUN, end - first)
        words = out[first - begin : first - begin + n]
        read_grams(tables, p, first, words, counts[:n])
        for i in range(n):
            words[i] = words[i] << COUNT_BITS | counts[i]
    return out


@kernel
def unpack_contexts(tables, p, begin, end):
    """Contexts begin … end-1 of a pattern as `begin << ROW_BITS | row`."""
    out = np.empty(end - begin, np.int64)
    for c in range(begin, end):
        first, _, row = context_at(tables, p, c)
        out[c - begin] = first << ROW_BITS | row
    return out
