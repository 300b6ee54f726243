"""The compact layout of the tables: how kernels read it.

Grams lie as in the fast layout, only that each pattern has its own width. All else is in one array of 64-bit words,
`packed`; `packed_places` [pattern, column] says where. Each part starts at a word:

    book        the count of each code; -1 where the count is listed
    more        the listed counts: `place << value width | count` for each, the place being that of the gram in its
                bucket of 2**k grams; a count of all ones is among the large ones (`kernels.tables`).
    buckets     how many listed counts there are before each bucket
    vector      bits: a one for each context, after it a zero for each of its grams, and a last one
    records     for every BLOCK contexts RECORD words. The first is `(bit << 1) << RANK_BITS | rank`: the bit of the
                vector that is the one of the first context, and how many contexts before it have a listed row.
                The others have a bit for each context: whether its row is listed
    far         where the ones of a block lie far apart, the first word of its record holds `number << 1 | 1` in
                place of the bit, and the begins of the block's contexts, and of the one that follows, are here
    listed      rows that are listed
    few         the rows of all other contexts: they have at most three grams, whose codes, each plus one, are the
                octal digits of a place in this table

Place of a context's grams: the one of context c stands after c ones and begin(c) zeros.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.bits import from_bit, lowest_one, ones, read_bits, select_one
from gapgram.kernels.jit import kernel
from gapgram.kernels.prefetch import prefetch

# Columns of `packed_places`: words for the book, vector and records, bits for the others (multiples of 64).
BOOK, MORE, N_MORE, VALUE_WIDTH, BUCKET_BITS, BUCKETS, BUCKET_WIDTH = 0, 1, 2, 3, 4, 5, 6
VECTOR, RECORDS, FAR, N_FAR, LISTED, N_LISTED, ROW_WIDTH, FEW = 7, 8, 9, 10, 11, 12, 13, 14
END = 15  # the word after the last of the pattern's
N_PACKED_COLUMNS = 16

BLOCK_BITS = 7
BLOCK = 1 << BLOCK_BITS
RECORD = 1 + BLOCK // 64
RANK_BITS = 28
RANK_MASK = np.uint64((1 << RANK_BITS) - 1)
FAR_WIDTH = 40
FAR_SPAN = 4096  # bits of the vector from which on a block's ones lie far apart
FEW_GRAMS = 3
FEW_CODES = 7  # codes below this may be among those of few grams
FEW_SIZE = 512
IN_LIST = -1


@kernel
def span_of(packed, at, n_grams, n_contexts, c):
    """(begin, end) of the grams of context c ≤ n_contexts; inside the pattern's grams whatever the words say."""
    head = np.int64(packed[at[RECORDS] + (c >> BLOCK_BITS) * RECORD] >> np.uint64(RANK_BITS))
    inside = c & (BLOCK - 1)
    if head & 1 and at[N_FAR] > 0:
        far = at[FAR] + (min(head >> 1, at[N_FAR] - 1) * (BLOCK + 1) + inside) * FAR_WIDTH
        begin, end = read_bits(packed, far, FAR_WIDTH), read_bits(packed, far + FAR_WIDTH, FAR_WIDTH)
    else:
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
        place = select_one(word, inside)
        begin = ((i - at[VECTOR]) << 6) + place - c
        word = from_bit(word, place) ^ (np.uint64(1) << np.uint64(place))
        while word == 0 and i < last:
            i += 1
            word = packed[i]
        end = ((i - at[VECTOR]) << 6) + (lowest_one(word) if word != 0 else 64) - c - 1
    begin = min(max(begin, 0), n_grams)
    return begin, min(max(end, begin), n_grams)


@kernel
def listed_row(packed, at, c):
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


@kernel
def packed_row(packed, at, grams, bit, width, code_bits, c, begin, end):
    """The row of a context whose grams are begin … end-1; a gram's bits start at `bit`, its code has `code_bits`."""
    row = listed_row(packed, at, c)
    if row >= 0:
        return row
    code_mask = (np.int64(1) << code_bits) - 1
    codes = np.int64(0)
    for g in range(begin, min(end, begin + FEW_GRAMS)):
        codes = codes << 3 | min((read_bits(grams, bit + g * width, width) & code_mask) + 1, FEW_CODES)
    return read_bits(packed, at[FEW] + codes * at[ROW_WIDTH], at[ROW_WIDTH])


@kernel
def packed_contexts(
    packed, at, grams, bit, width, code_bits, n_grams, n_contexts, chosen, n, low, spread, rows
):  # fmt: skip
    """`read_contexts` of `kernels.tables`."""
    records, vector, end_of_vector = at[RECORDS], at[VECTOR], n_grams + n_contexts
    for i in range(n):
        prefetch(packed, records + (chosen[i] >> BLOCK_BITS) * RECORD)
    for i in range(n):
        head = np.int64(packed[records + (chosen[i] >> BLOCK_BITS) * RECORD] >> np.uint64(RANK_BITS + 1))
        prefetch(packed, vector + (min(head, end_of_vector) >> 6))
    for i in range(n):
        begin, end = span_of(packed, at, n_grams, n_contexts, chosen[i])
        low[i], spread[i] = begin, end - begin
        prefetch(grams, (bit + begin * width) >> 6)
    for i in range(n):
        rows[i] = packed_row(packed, at, grams, bit, width, code_bits, chosen[i], low[i], low[i] + spread[i])


@kernel
def packed_count(packed, at, g, code):
    """The count of gram g of a pattern, given its code; IN_LIST where it is among the large counts."""
    count = np.int64(packed[at[BOOK] + code])
    if count >= 0:
        return count
    bucket = at[BUCKETS] + (g >> at[BUCKET_BITS]) * at[BUCKET_WIDTH]
    low = min(read_bits(packed, bucket, at[BUCKET_WIDTH]), at[N_MORE])
    high = min(read_bits(packed, bucket + at[BUCKET_WIDTH], at[BUCKET_WIDTH]), at[N_MORE])
    place = g & ((np.int64(1) << at[BUCKET_BITS]) - 1)
    width = at[VALUE_WIDTH] + at[BUCKET_BITS]
    value_mask = (np.int64(1) << at[VALUE_WIDTH]) - 1
    while low < high:
        middle = (low + high) >> 1
        entry = read_bits(packed, at[MORE] + middle * width, width)
        if entry >> at[VALUE_WIDTH] == place:
            return entry & value_mask if entry & value_mask != value_mask else np.int64(IN_LIST)
        if entry >> at[VALUE_WIDTH] < place:
            low = middle + 1
        else:
            high = middle
    return np.int64(1)
