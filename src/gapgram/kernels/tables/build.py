"""Groups of equal grams to the tables of one pattern, and these to their place among those of all patterns.

A piece (`gapgram.counts.counts.Piece`) is the tables of a pattern of some text: grams `word << COUNT_BITS | count`,
contexts `begin << ROW_BITS | row` without a closing one, and the distinct rows of statistics.
"""

from __future__ import annotations

import sys

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.counting.distinct_rows import empty_row_set, grown, is_full, row_number, rows_of
from gapgram.kernels.tables import arrays as columns
from gapgram.kernels.tables.keys import key_of

_BIG_ENDIAN = np.int64(sys.byteorder == "big")  # the first half of a word is then its second in memory
_SMALL_TOTALS = 64  # totals below this, all from one gram, find their row without hashing


@kernel
def count_marked(positions, starts, marks):
    """How many positions of each group are marked; group g is positions[starts[g]:starts[g+1]]."""
    counts = np.zeros(starts.size - 1, np.int64)
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            counts[g] += marks[positions[i]] > 0
    return counts


@kernel
def build_tables(words, counts, begins):
    """(grams, contexts, rows) of one pattern from the word and count of each gram, in order.

    The grams of context c are begins[c] to begins[c+1]. Rows are numbered as they are met, row 0 being
    all zeros, and `contexts` has no closing entry.
    """
    grams = np.empty(counts.size, np.int64)
    contexts = np.empty(begins.size - 1, np.int64)
    row_set = empty_row_set()
    small = np.full(_SMALL_TOTALS, -1, np.int64)
    for c in range(begins.size - 1):
        # The grams of the context, and its statistics.
        total = np.int64(0)
        n1 = np.int64(0)
        n2 = np.int64(0)
        n3 = np.int64(0)
        for g in range(begins[c], begins[c + 1]):
            count = counts[g]
            grams[g] = np.int64(words[g]) << columns.COUNT_BITS | count
            total += count
            if count == 1:
                n1 += 1
            elif count == 2:
                n2 += 1
            elif count > 2:
                n3 += 1
        # The row of these statistics: most contexts have one gram, and few of those have large counts.
        row = np.int64(0)
        if total > 0:
            one = n1 + n2 + n3 == 1 and total < _SMALL_TOTALS
            row = small[total] if one else np.int64(-1)
            if row < 0:
                row_set = grown(row_set) if is_full(row_set) else row_set
                row = row_number(row_set, total, n1, n2, n3, 0)
                if one:
                    small[total] = row
        contexts[c] = np.int64(begins[c]) << columns.ROW_BITS | row
    return grams, contexts, rows_of(row_set)


@kernel
def pack_grams(grams, bits, first_bit, code_bits, key_bits):
    """Write grams `word << COUNT_BITS | count` in the fast layout, from a bit on.

    Returns the numbers and counts of those too large. Touches nothing but these bits: others may write beside them.
    """
    code_mask = (np.int64(1) << code_bits) - 1
    n_large = 0
    for g in range(grams.size):
        n_large += grams[g] & columns.COUNT_MASK >= code_mask
    large = np.empty(n_large, np.int64)
    counts = np.empty(n_large, np.int64)
    n_large = 0
    halves, first = bits.view(np.uint32), first_bit >> 5
    for g in range(grams.size):
        count = grams[g] & columns.COUNT_MASK
        if count >= code_mask:
            large[n_large] = g
            counts[n_large] = count
            n_large += 1
            count = code_mask
        key = key_of(grams[g] >> columns.COUNT_BITS, key_bits)
        halves[np.uint64((first + g) ^ _BIG_ENDIAN)] = key << code_bits | count
    return large, counts


@kernel
def place_contexts(contexts, first_gram, row_numbers, out, stride):
    """Copy contexts whose grams now start at `first_gram`, with their rows renumbered, a stride apart."""
    for c in range(contexts.size):
        begin = (contexts[c] >> columns.ROW_BITS) + first_gram
        out[c * stride] = begin << columns.ROW_BITS | row_numbers[contexts[c] & columns.ROW_MASK]


@kernel
def place_piece(piece_grams, piece_contexts, row_numbers, place, first_gram, first_context, grams, contexts):
    """Put a piece of a pattern, whose row of `places` is given, into the tables of all, in the fast layout.

    So many grams and contexts of the pattern come before it. Returns the numbers, among the grams of all patterns, and
    the counts of those too large.
    """
    bit = place[columns.GRAM_BIT] + first_gram * columns.FAST_WIDTH
    large, counts = pack_grams(piece_grams, grams, bit, place[columns.CODE_BITS], place[columns.KEY_BITS])
    large += place[columns.FIRST_GRAM] + first_gram
    stride = place[columns.STRIDE]
    out = contexts[place[columns.FIRST_CONTEXT] + first_context * stride :]
    place_contexts(piece_contexts, first_gram, row_numbers, out, stride)
    return large, counts
