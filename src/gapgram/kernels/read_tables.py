"""Grams and contexts of the tables of one pattern, many at a time, as numbers that tell all of them."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.bits import read_bits
from gapgram.kernels.compact_read import packed_row, span_of
from gapgram.kernels.jit import kernel
from gapgram.kernels.tables import (
    CODE_BITS,
    COUNT_BITS,
    FIRST_CONTEXT,
    GRAM_BIT,
    KEY_BITS,
    N_CONTEXTS,
    N_GRAMS,
    ROW_BITS,
    ROW_MASK,
    STRIDE,
    WIDTH,
    first_listed,
    inverse_of,
    listed_count,
)


@kernel
def unpack_grams(tables, p, begin, end):
    """Grams begin … end-1 of a pattern as `word << COUNT_BITS | count`."""
    at, grams = tables.places[p], tables.grams
    bit, width, code_bits = at[GRAM_BIT], at[WIDTH], at[CODE_BITS]
    inverse, key_mask = inverse_of(at[KEY_BITS]), (np.int64(1) << at[KEY_BITS]) - 1
    code_mask = (np.int64(1) << code_bits) - 1
    listed = first_listed(tables, code_mask)
    out = np.empty(end - begin, np.int64)
    for g in range(begin, end):
        gram = read_bits(grams, bit + g * width, width)
        count = gram & code_mask
        if count >= listed:
            count = listed_count(tables, p, g, count)
        out[g - begin] = ((gram >> code_bits) * inverse & key_mask) << COUNT_BITS | count
    return out


@kernel
def unpack_contexts(tables, p, begin, end):
    """Contexts begin … end-1 of a pattern as `begin << ROW_BITS | row`."""
    at, n_grams = tables.places[p], tables.places[p, N_GRAMS]
    out = np.empty(end - begin, np.int64)
    if tables.contexts.size > 0:
        contexts, first, stride = tables.contexts, at[FIRST_CONTEXT], at[STRIDE]
        for c in range(begin, end):
            found = contexts[first + c * stride]
            out[c - begin] = min(found >> ROW_BITS, n_grams) << ROW_BITS | found & ROW_MASK
        return out
    packed, packed_at, grams = tables.packed, tables.packed_places[p], tables.grams
    bit, width, code_bits, n_contexts = at[GRAM_BIT], at[WIDTH], at[CODE_BITS], at[N_CONTEXTS]
    for c in range(begin, end):
        first, last = span_of(packed, packed_at, n_grams, n_contexts, c)
        out[c - begin] = first << ROW_BITS | packed_row(packed, packed_at, grams, bit, width, code_bits, c, first, last)
    return out
