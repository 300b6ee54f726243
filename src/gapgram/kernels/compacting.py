"""Writing the compact layout (`kernels.compact`) of one pattern."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.bits import read_bits, write_bits
from gapgram.kernels.compact import (
    BLOCK,
    BLOCK_BITS,
    FAR_SPAN,
    FAR_WIDTH,
    FEW_CODES,
    FEW_GRAMS,
    FEW_SIZE,
    RANK_BITS,
    RECORD,
)
from gapgram.kernels.jit import kernel
from gapgram.kernels.tables import COUNT_BITS, COUNT_MASK, ROW_BITS, ROW_MASK, key_of


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
def pack_grams(grams, first, codes, bits, bit, width, code_bits, key_bits):
    """Write grams `word << COUNT_BITS | count`, the first being gram `first` of its pattern.

    codes[count] is the code of a count, -1 where it is listed; the last of `codes` is for all larger counts.
    Returns the numbers of the grams whose counts are listed, and these counts.
    """
    code_mask = (np.int64(1) << code_bits) - 1
    n_listed = 0
    for g in range(grams.size):
        n_listed += codes[min(grams[g] & COUNT_MASK, codes.size - 1)] < 0
    listed = np.empty(n_listed, np.int64)
    counts = np.empty(n_listed, np.int64)
    n_listed = 0
    for g in range(grams.size):
        count = grams[g] & COUNT_MASK
        code = codes[min(count, codes.size - 1)]
        if code < 0:
            listed[n_listed] = first + g
            counts[n_listed] = count
            n_listed += 1
            code = code_mask
        key = key_of(grams[g] >> COUNT_BITS, key_bits)
        write_bits(bits, bit + (first + g) * width, width, key << code_bits | code)
    return listed, counts


@kernel
def pack_counts(grams, counts, n_buckets, packed, more, value_width, bucket_bits, buckets, bucket_width):
    """Write listed counts and how many there are before each bucket, and before the end."""
    width, value_mask = value_width + bucket_bits, (np.int64(1) << value_width) - 1
    place_mask = (np.int64(1) << bucket_bits) - 1
    bucket = 0
    for i in range(grams.size + 1):
        last = grams[i] >> bucket_bits if i < grams.size else n_buckets
        while bucket <= last:
            write_bits(packed, buckets + bucket * bucket_width, bucket_width, i)
            bucket += 1
        if i < grams.size:
            entry = (grams[i] & place_mask) << value_width | min(counts[i], value_mask)
            write_bits(packed, more + i * width, width, entry)


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
def measure_contexts(contexts, grams, bit, width, code_bits):
    """(rows of few, how many rows are listed, how many blocks lie far apart).

    contexts are `begin << ROW_BITS | row`, and the one that closes them. Where contexts with the same codes have
    different rows, as those with listed counts may, one row that most have is in the table, the others are listed.
    """
    few = np.zeros(FEW_SIZE, np.int64)
    votes = np.zeros(FEW_SIZE, np.int64)
    n_listed = n_far = 0
    code_mask = (np.int64(1) << code_bits) - 1
    for c in range(contexts.size - 1):
        codes = _few_codes(contexts[c] >> ROW_BITS, contexts[c + 1] >> ROW_BITS, grams, bit, width, code_mask)
        if codes >= 0:
            row = contexts[c] & ROW_MASK
            if votes[codes] == 0:
                few[codes] = row
            votes[codes] += 1 if few[codes] == row else -1
    for c in range(contexts.size - 1):
        if not c & (BLOCK - 1):
            n_far += _is_far(contexts, c)
        codes = _few_codes(contexts[c] >> ROW_BITS, contexts[c + 1] >> ROW_BITS, grams, bit, width, code_mask)
        n_listed += codes < 0 or few[codes] != contexts[c] & ROW_MASK
    return few, n_listed, n_far


@kernel
def pack_contexts(contexts, few, grams, bit, width, code_bits, packed, vector, records, far, listed, row_width):
    """Write the vector, the records, the begins of far blocks, and the listed rows of a pattern's contexts."""
    code_mask = (np.int64(1) << code_bits) - 1
    last = contexts.size - 1
    n_listed = n_far = 0
    for c in range(contexts.size):
        begin, row = contexts[c] >> ROW_BITS, contexts[c] & ROW_MASK
        one = begin + c
        packed[vector + (one >> 6)] |= np.uint64(1) << np.uint64(one & 63)
        record = records + (c >> BLOCK_BITS) * RECORD
        inside = c & (BLOCK - 1)
        if inside == 0:
            head = one << 1
            if _is_far(contexts, c):
                head = np.int64(n_far << 1 | 1)
                for k in range(BLOCK + 1):
                    value = contexts[min(c + k, last)] >> ROW_BITS
                    write_bits(packed, far + (n_far * (BLOCK + 1) + k) * FAR_WIDTH, FAR_WIDTH, value)
                n_far += 1
            packed[record] = np.uint64(head) << np.uint64(RANK_BITS) | np.uint64(n_listed)
        if c < last:
            codes = _few_codes(begin, contexts[c + 1] >> ROW_BITS, grams, bit, width, code_mask)
            if codes < 0 or few[codes] != row:
                packed[record + 1 + (inside >> 6)] |= np.uint64(1) << np.uint64(inside & 63)
                write_bits(packed, listed + n_listed * row_width, row_width, row)
                n_listed += 1


@kernel
def pack_rows(rows, packed, bit, row_width):
    """Write rows one after the other."""
    for i in range(rows.size):
        write_bits(packed, bit + i * row_width, row_width, rows[i])
