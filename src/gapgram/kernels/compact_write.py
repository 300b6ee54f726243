"""Writing the compact layout (`kernels.compact_read`) of one pattern, some of its grams or contexts at a time.

Some contexts are `begin << ROW_BITS | row` for each and for the one that follows, or closes, them. Their number is a
multiple of a block of contexts unless they are the last.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.bits import read_bits, write_bits
from gapgram.kernels.compact_read import (
    BLOCK,
    BLOCK_BITS,
    FAR_SPAN,
    FAR_WIDTH,
    FEW_CODES,
    FEW_GRAMS,
    RANK_BITS,
    RECORD,
)
from gapgram.kernels.jit import kernel
from gapgram.kernels.tables import (
    COUNT_BITS,
    COUNT_MASK,
    ROW_BITS,
    ROW_MASK,
    STATISTICS,
    key_of,
    more_rows,
    row_of,
)


@kernel
def add_counts(grams, numbers):
    """Count the counts of some grams; the last of `numbers` is for all that are at least as large as its place."""
    for g in range(grams.size):
        numbers[min(grams[g] & COUNT_MASK, numbers.size - 1)] += 1


@kernel
def replace_counts(grams, replaced):
    """Put other counts in the place of those of some grams; the last of `replaced` is for all larger ones."""
    for g in range(grams.size):
        count = grams[g] & COUNT_MASK
        grams[g] = grams[g] - count + replaced[min(count, replaced.size - 1)]


@kernel
def add_statistics(grams, first, begins, statistics):
    """Add some grams, the first being gram `first` of its pattern, to total, N1, N2 and N3+ of their contexts.

    Context c has grams begins[c] to begins[c+1].
    """
    c = np.searchsorted(begins, first, side="right") - 1
    for g in range(grams.size):
        while begins[c + 1] <= first + g:
            c += 1
        count = grams[g] & COUNT_MASK
        statistics[c, 0] += count
        if count > 0:
            statistics[c, min(count, 3)] += 1


@kernel
def distinct(statistics):
    """The different statistics of contexts, and those of a context never seen."""
    slots = np.full(1 << 12, -1, np.int64)
    rows = np.zeros((1 << 11, STATISTICS), np.int64)
    n_rows = 1
    for c in range(statistics.shape[0]):
        s = statistics[c]
        if s[0] > 0:
            if 2 * n_rows >= rows.shape[0]:
                slots, rows = more_rows(slots, rows, n_rows)
            _, n_rows = row_of(s[0], s[1], s[2], s[3], s[4], slots, rows, n_rows)
    return rows[:n_rows].copy()


@kernel
def pack_grams(grams, first, codes, bits, bit, width, code_bits, key_bits):
    """Write grams `word << COUNT_BITS | count`, the first being gram `first` of its pattern.

    codes[count] is the code of a count, -1 where it is listed; the last of `codes` is for all larger counts.
    """
    code_mask = (np.int64(1) << code_bits) - 1
    for g in range(grams.size):
        code = codes[min(grams[g] & COUNT_MASK, codes.size - 1)]
        key = key_of(grams[g] >> COUNT_BITS, key_bits)
        write_bits(bits, bit + (first + g) * width, width, key << code_bits | (code if code >= 0 else code_mask))


@kernel
def listed_counts(grams, first, codes):
    """The numbers of the grams whose counts are listed, and these counts; the first is gram `first` of its pattern."""
    n_listed = 0
    for g in range(grams.size):
        n_listed += codes[min(grams[g] & COUNT_MASK, codes.size - 1)] < 0
    listed = np.empty(n_listed, np.int64)
    counts = np.empty(n_listed, np.int64)
    n_listed = 0
    for g in range(grams.size):
        count = grams[g] & COUNT_MASK
        if codes[min(count, codes.size - 1)] < 0:
            listed[n_listed] = first + g
            counts[n_listed] = count
            n_listed += 1
    return listed, counts


@kernel
def pack_counts(grams, counts, done, packed, more, value_width, bucket_bits):
    """Write listed counts, `done` of them having been written."""
    width, value_mask = value_width + bucket_bits, (np.int64(1) << value_width) - 1
    place_mask = (np.int64(1) << bucket_bits) - 1
    for i in range(grams.size):
        entry = (grams[i] & place_mask) << value_width | min(counts[i], value_mask)
        write_bits(packed, more + (done + i) * width, width, entry)


@kernel
def pack_buckets(grams, done, bucket, n_buckets, packed, buckets, bucket_width, bucket_bits):
    """Write for each bucket, from `bucket` on, up to that of the last of these grams how many listed counts there are
    before it; without grams, up to the one after the last. Returns the next bucket."""
    for i in range(max(grams.size, 1)):
        last = grams[i] >> bucket_bits if grams.size else n_buckets
        while bucket <= last:
            write_bits(packed, buckets + bucket * bucket_width, bucket_width, done + i)
            bucket += 1
    return bucket


@kernel
def _few_codes(begin, end, grams, bit, width, code_mask):
    """The place of a context in the table of few; -1 where its row has to be listed."""
    if end - begin > FEW_GRAMS:
        return np.int64(-1)
    codes = np.int64(0)
    for g in range(begin, end):
        code = read_bits(grams, bit + g * width, width) & code_mask
        if code >= FEW_CODES:
            return np.int64(-1)
        codes = codes << 3 | code + 1
    return codes


@kernel
def _is_far(contexts, first):
    """Whether the ones of the block of contexts that begins with `first` lie far apart."""
    last = min(first + BLOCK, contexts.size - 1)
    return (contexts[last] >> ROW_BITS) - (contexts[first] >> ROW_BITS) + last - first > FAR_SPAN


@kernel
def vote_rows(contexts, grams, bit, width, code_bits, few, votes):
    """Find the row that most contexts with the same codes have, where one row has most of them.

    Contexts with the same codes have different rows where counts are listed. `few` and `votes` are of all contexts
    so far.
    """
    code_mask = (np.int64(1) << code_bits) - 1
    for c in range(contexts.size - 1):
        codes = _few_codes(contexts[c] >> ROW_BITS, contexts[c + 1] >> ROW_BITS, grams, bit, width, code_mask)
        if codes >= 0:
            row = contexts[c] & ROW_MASK
            if votes[codes] == 0:
                few[codes] = row
            votes[codes] += 1 if few[codes] == row else -1


@kernel
def measure_contexts(contexts, few, grams, bit, width, code_bits):
    """(how many rows are listed, how many blocks lie far apart)."""
    n_listed = n_far = 0
    code_mask = (np.int64(1) << code_bits) - 1
    for c in range(contexts.size - 1):
        if not c & (BLOCK - 1):
            n_far += _is_far(contexts, c)
        codes = _few_codes(contexts[c] >> ROW_BITS, contexts[c + 1] >> ROW_BITS, grams, bit, width, code_mask)
        n_listed += codes < 0 or few[codes] != contexts[c] & ROW_MASK
    return n_listed, n_far


@kernel
def pack_contexts(
    contexts, first, closing, n_listed, n_far, few, grams, bit, width, code_bits, packed, vector, records, far, listed,
    row_width,
):  # fmt: skip
    """Write the vector, the records, the begins of far blocks, and the listed rows of contexts, from `first` on.

    closing: the last is the one that closes the pattern's. n_listed, n_far: written before; returns them as they are
    then.
    """
    code_mask = (np.int64(1) << code_bits) - 1
    last = contexts.size - 1
    for i in range(last + closing):
        c = first + i
        begin, row = contexts[i] >> ROW_BITS, contexts[i] & ROW_MASK
        one = begin + c
        packed[vector + (one >> 6)] |= np.uint64(1) << np.uint64(one & 63)
        record = records + (c >> BLOCK_BITS) * RECORD
        inside = c & (BLOCK - 1)
        if inside == 0:
            head = one << 1
            if _is_far(contexts, i):
                head = np.int64(n_far << 1 | 1)
                for k in range(BLOCK + 1):
                    value = contexts[min(i + k, last)] >> ROW_BITS
                    write_bits(packed, far + (n_far * (BLOCK + 1) + k) * FAR_WIDTH, FAR_WIDTH, value)
                n_far += 1
            packed[record] = np.uint64(head) << np.uint64(RANK_BITS) | np.uint64(n_listed)
        if i < last:
            codes = _few_codes(begin, contexts[i + 1] >> ROW_BITS, grams, bit, width, code_mask)
            if codes < 0 or few[codes] != row:
                packed[record + 1 + (inside >> 6)] |= np.uint64(1) << np.uint64(inside & 63)
                write_bits(packed, listed + n_listed * row_width, row_width, row)
                n_listed += 1
    return n_listed, n_far


@kernel
def pack_rows(rows, packed, bit, row_width):
    """Write rows one after the other."""
    for i in range(rows.size):
        write_bits(packed, bit + i * row_width, row_width, rows[i])
