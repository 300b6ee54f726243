"""The compact layout of the tables: how kernels read it.

Grams lie as in the fast layout, only that each pattern has its own width. All else is in one array of 64-bit words,
`packed`; `packed_places` [pattern, column] says where. Each of these starts at a word:

    book        the count of each code; -1 where the count is listed
    more        the listed counts: `rest << value width | count` for each, the rest being that of the gram's number in
                its bucket of 2**k grams; a count of all ones is among the large ones (`kernels.tables.arrays`).
    buckets     how many listed counts there are before each bucket
    vector      bits: a one for each context, after it a zero for each of its grams, and a last one
    records     for every BLOCK contexts RECORD words. The first is `(bit << 1) << RANK_BITS | rank`: the bit of the
                vector that is the one of the first context, and how many contexts before it have a listed row.
                The others have a bit for each context: whether its row is listed
    far         where the ones of a block lie far apart, the first word of its record holds `number << 1 | 1` in
                place of the bit, and the begins of the block's contexts, and of the one that follows, are here
    listed      rows that are listed
    few         the rows of all other contexts: they have at most three grams, whose codes, each plus one, are the
                octal digits of an index of this table

Where a context's grams are: the one of context c stands after c ones and begin(c) zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import inlined, kernel, noinline
from gapgram.kernels.intrinsics import prefetch
from gapgram.kernels.tables.arrays import FIRST_ROW, N_ROWS, GramFormat, code_mask_of, format_of, gram_at
from gapgram.kernels.tables.bits import from_bit, lowest_one, ones, read_bits, select_one
from gapgram.kernels.tables.search import gram_word

# Columns of `packed_places`: words for the book, vector and records, bits for the others (multiples of 64).
BOOK, MORE, N_MORE, VALUE_WIDTH, BUCKET_BITS, BUCKETS, BUCKET_WIDTH = 0, 1, 2, 3, 4, 5, 6
VECTOR, RECORDS, FAR, N_FAR, LISTED, N_LISTED, ROW_WIDTH, FEW = 7, 8, 9, 10, 11, 12, 13, 14
END = 15  # the word after the last of the pattern's

BLOCK_BITS = 7
BLOCK = 1 << BLOCK_BITS
RECORD = 1 + BLOCK // 64
RANK_BITS = 28
RANK_MASK = np.uint64((1 << RANK_BITS) - 1)
FAR_WIDTH = 40
FAR_SPAN_BITS = 4096  # of the vector, from which on a block's ones lie far apart
FEW_GRAMS = 3
FEW_CODES = 7  # codes below this may be among those of few grams
FEW_SIZE = 512
IN_LIST = -1


class PackedPattern(NamedTuple):
    """The tables of one pattern in the compact layout.

    packed      uint64: the words of the module's head, of all patterns
    at          int64 [column]: where those of this pattern are
    bits        uint64: the grams of all patterns
    form        how those of this pattern lie
    """

    packed: np.ndarray
    at: np.ndarray
    bits: np.ndarray
    form: GramFormat


@kernel
def packed_pattern(tables, p):
    """The tables of pattern p."""
    return PackedPattern(tables.packed, tables.packed_places[p], tables.grams, format_of(tables.places, p))


@inlined
def packed_span(packed, at, form, c):
    """(begin, end) of the grams of context c ≤ n_contexts; inside the pattern's grams whatever the words say."""
    n_grams, n_contexts = form.n_grams, form.n_contexts
    head = np.int64(packed[at[RECORDS] + (c >> BLOCK_BITS) * RECORD] >> np.uint64(RANK_BITS))
    inside = c & (BLOCK - 1)
    if head & 1 and at[N_FAR] > 0:
        # The begins of this block are written out.
        far = at[FAR] + (min(head >> 1, at[N_FAR] - 1) * (BLOCK + 1) + inside) * FAR_WIDTH
        begin, end = read_bits(packed, far, FAR_WIDTH), read_bits(packed, far + FAR_WIDTH, FAR_WIDTH)
    else:
        # From the one of the block's first context on, word by word to the word with this context's.
        last = at[VECTOR] + ((n_grams + n_contexts) >> 6)
        bit = min(head >> 1, n_grams + n_contexts)
        i = at[VECTOR] + (bit >> 6)
        word = from_bit(packed[i], bit & 63)
        below = ones(word)
        while below <= inside and i < last:
            inside -= below
            i += 1
            word = packed[i]
            below = ones(word)
        if below <= inside:
            return n_grams, n_grams
        # The bit itself tells the begin, the next one the end.
        bit = select_one(word, inside)
        begin = ((i - at[VECTOR]) << 6) + bit - c
        word = from_bit(word, bit) ^ (np.uint64(1) << np.uint64(bit))
        while word == 0 and i < last:
            i += 1
            word = packed[i]
        end = ((i - at[VECTOR]) << 6) + (lowest_one(word) if word != 0 else 64) - c - 1
    begin = min(max(begin, 0), n_grams)
    return begin, min(max(end, begin), n_grams)


@kernel
def _listed_row(packed, at, c):
    """The row of a context if it is listed, IN_LIST if it is not: then its grams tell."""
    record = at[RECORDS] + (c >> BLOCK_BITS) * RECORD
    word = (c & (BLOCK - 1)) >> 6
    marks, shift = packed[record + 1 + word], np.uint64(c & 63)
    if not (marks >> shift) & np.uint64(1):
        return np.int64(IN_LIST)
    rank = np.int64(packed[record] & RANK_MASK) + ones(marks & ((np.uint64(1) << shift) - np.uint64(1)))
    for i in range(word):
        rank += ones(packed[record + 1 + i])
    width = at[ROW_WIDTH]
    return read_bits(packed, at[LISTED] + max(min(rank, at[N_LISTED] - 1), 0) * width, width)


@inlined
def packed_row(packed, at, bits, form, c, begin, end):
    """The row of context c, whose grams are begin … end-1."""
    row = _listed_row(packed, at, c)
    if row >= 0:
        return row
    code_mask = code_mask_of(form)
    codes = np.int64(0)
    for g in range(begin, min(end, begin + FEW_GRAMS)):
        codes = codes << 3 | min((gram_at(bits, None, form, g) & code_mask) + 1, FEW_CODES)
    return read_bits(packed, at[FEW] + codes * at[ROW_WIDTH], at[ROW_WIDTH])


@noinline
def packed_context(tables, p, context):
    """`context_at` of `kernels.tables.read`, in the compact layout."""
    packed, at, bits, form = packed_pattern(tables, p)
    begin, end = packed_span(packed, at, form, context)
    return begin, end, packed_row(packed, at, bits, form, context, begin, end)


@kernel
def packed_contexts(tables, p, chosen, low, spread, rows):
    """`read_contexts` of `kernels.tables.read`, in the compact layout."""
    packed, at, bits, form = packed_pattern(tables, p)
    records, vector, end_of_vector, n = at[RECORDS], at[VECTOR], form.n_grams + form.n_contexts, chosen.size
    first_row = tables.places[p, FIRST_ROW]
    last_row = first_row + tables.places[p, N_ROWS] - 1
    for i in range(n):
        prefetch(packed, records + (max(chosen[i], 0) >> BLOCK_BITS) * RECORD)
    for i in range(n):
        context = min(max(chosen[i], 0), form.n_contexts - 1)
        head = np.int64(packed[records + (context >> BLOCK_BITS) * RECORD] >> np.uint64(RANK_BITS + 1))
        prefetch(packed, vector + (min(head, end_of_vector) >> 6))
    for i in range(n):
        low[i], spread[i] = 0, 0
        if chosen[i] >= 0:
            begin, end = packed_span(packed, at, form, min(chosen[i], form.n_contexts - 1))
            low[i], spread[i] = begin, end - begin
            prefetch(bits, gram_word(form, begin))
    for i in range(n):
        rows[i] = first_row
        if chosen[i] >= 0:
            context = min(chosen[i], form.n_contexts - 1)
            row = first_row + packed_row(packed, at, bits, form, context, low[i], low[i] + spread[i])
            rows[i] = min(row, last_row)


@kernel
def packed_count(packed, at, g, code):
    """The count of gram g of a pattern, given its code; IN_LIST where it is among the large counts."""
    count = np.int64(packed[at[BOOK] + code])
    if count >= 0:
        return count
    # The listed counts of the gram's bucket, in which it is searched by the rest of its number.
    bucket = at[BUCKETS] + (g >> at[BUCKET_BITS]) * at[BUCKET_WIDTH]
    low = min(read_bits(packed, bucket, at[BUCKET_WIDTH]), at[N_MORE])
    high = min(read_bits(packed, bucket + at[BUCKET_WIDTH], at[BUCKET_WIDTH]), at[N_MORE])
    rest = g & ((np.int64(1) << at[BUCKET_BITS]) - 1)
    width = at[VALUE_WIDTH] + at[BUCKET_BITS]
    value_mask = (np.int64(1) << at[VALUE_WIDTH]) - 1
    while low < high:
        middle = (low + high) >> 1
        entry = read_bits(packed, at[MORE] + middle * width, width)
        if entry >> at[VALUE_WIDTH] == rest:
            return entry & value_mask if entry & value_mask != value_mask else np.int64(IN_LIST)
        if entry >> at[VALUE_WIDTH] < rest:
            low = middle + 1
        else:
            high = middle
    return np.int64(1)
