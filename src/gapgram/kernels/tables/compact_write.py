"""Writing the compact layout (`kernels.tables.compact_read`) of one pattern, some of its grams or contexts at a time.

Some contexts are `begin << ROW_BITS | row` for each and for the one that follows, or closes, them. Their number is a
multiple of a block of contexts unless they are the last.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.tables import compact_read as columns
from gapgram.kernels.tables.arrays import COUNT_BITS, COUNT_MASK, ROW_BITS, ROW_MASK, code_mask_of, gram_at
from gapgram.kernels.tables.bits import write_bits
from gapgram.kernels.tables.keys import key_of


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
def pack_grams(grams, first, codes, bits, form):
    """Write grams `word << COUNT_BITS | count`, the first being gram `first` of a pattern, as its form says.

    codes[count] is the code of a count, -1 where it is listed; the last of `codes` is for all larger counts.
    """
    code_mask = code_mask_of(form)
    for g in range(grams.size):
        code = codes[min(grams[g] & COUNT_MASK, codes.size - 1)]
        key = key_of(grams[g] >> COUNT_BITS, form.key_bits)
        gram = key << form.code_bits | (code if code >= 0 else code_mask)
        write_bits(bits, form.first_bit + (first + g) * form.width, form.width, gram)


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
def pack_counts(listed, counts, done, packed, at):
    """Write the counts of listed grams, `done` of them having been written, to where `at` says that they are."""
    width, value_mask = at[columns.VALUE_WIDTH] + at[columns.BUCKET_BITS], (np.int64(1) << at[columns.VALUE_WIDTH]) - 1
    rest_mask = (np.int64(1) << at[columns.BUCKET_BITS]) - 1
    for i in range(listed.size):
        entry = (listed[i] & rest_mask) << at[columns.VALUE_WIDTH] | min(counts[i], value_mask)
        write_bits(packed, at[columns.MORE] + (done + i) * width, width, entry)


@kernel
def pack_buckets(listed, done, bucket, n_buckets, packed, at):
    """Write for each bucket, from `bucket` on, up to that of the last of these grams how many listed counts there are
    before it; without grams, up to the one after the last. Returns the next bucket."""
    for i in range(max(listed.size, 1)):
        last = listed[i] >> at[columns.BUCKET_BITS] if listed.size else n_buckets
        while bucket <= last:
            width = at[columns.BUCKET_WIDTH]
            write_bits(packed, at[columns.BUCKETS] + bucket * width, width, done + i)
            bucket += 1
    return bucket


@kernel
def _few_codes(begin, end, bits, form, code_mask):
    """The index of a context in the table of few; -1 where its row has to be listed."""
    if end - begin > columns.FEW_GRAMS:
        return np.int64(-1)
    codes = np.int64(0)
    for g in range(begin, end):
        code = gram_at(bits, None, form, g) & code_mask
        if code >= columns.FEW_CODES:
            return np.int64(-1)
        codes = codes << 3 | code + 1
    return codes


@kernel
def _is_far(contexts, first):
    """Whether the ones of the block of contexts that begins with `first` lie far apart."""
    last = min(first + columns.BLOCK, contexts.size - 1)
    return (contexts[last] >> ROW_BITS) - (contexts[first] >> ROW_BITS) + last - first > columns.FAR_SPAN_BITS


@kernel
def vote_rows(contexts, bits, form, few, votes):
    """Find the row that most contexts with the same codes have, where one row has most of them.

    Contexts with the same codes have different rows where counts are listed. `few` and `votes` are of all contexts
    so far.
    """
    code_mask = code_mask_of(form)
    for c in range(contexts.size - 1):
        codes = _few_codes(contexts[c] >> ROW_BITS, contexts[c + 1] >> ROW_BITS, bits, form, code_mask)
        if codes >= 0:
            row = contexts[c] & ROW_MASK
            if votes[codes] == 0:
                few[codes] = row
            votes[codes] += 1 if few[codes] == row else -1


@kernel
def measure_contexts(contexts, bits, form, few):
    """(how many rows are listed, how many blocks lie far apart)."""
    n_listed = n_far = 0
    code_mask = code_mask_of(form)
    for c in range(contexts.size - 1):
        if not c & (columns.BLOCK - 1):
            n_far += _is_far(contexts, c)
        codes = _few_codes(contexts[c] >> ROW_BITS, contexts[c + 1] >> ROW_BITS, bits, form, code_mask)
        n_listed += codes < 0 or few[codes] != contexts[c] & ROW_MASK
    return n_listed, n_far


@kernel
def pack_contexts(contexts, first, few, pattern, n_listed, n_far):
    """Write the vector, the records, the begins of far blocks, and the listed rows of contexts, from `first` on.

    n_listed, n_far: listed rows and far blocks written before; returns them as they are then.
    """
    packed, at, bits, form = pattern.packed, pattern.at, pattern.bits, pattern.form
    row_width, code_mask = at[columns.ROW_WIDTH], code_mask_of(form)
    last = contexts.size - 1
    closing = first + contexts.size > form.n_contexts  # the last is the one that closes all
    for i in range(last + closing):
        c = first + i
        begin, row = contexts[i] >> ROW_BITS, contexts[i] & ROW_MASK
        # Its one in the vector.
        one = begin + c
        packed[at[columns.VECTOR] + (one >> 6)] |= np.uint64(1) << np.uint64(one & 63)
        # The head of its record if it is the first of a block, with the begins of all if they lie far apart.
        record = at[columns.RECORDS] + (c >> columns.BLOCK_BITS) * columns.RECORD
        inside = c & (columns.BLOCK - 1)
        if inside == 0:
            head = one << 1
            if _is_far(contexts, i):
                head = np.int64(n_far << 1 | 1)
                for k in range(columns.BLOCK + 1):
                    value = contexts[min(i + k, last)] >> ROW_BITS
                    bit = at[columns.FAR] + (n_far * (columns.BLOCK + 1) + k) * columns.FAR_WIDTH
                    write_bits(packed, bit, columns.FAR_WIDTH, value)
                n_far += 1
            packed[record] = np.uint64(head) << np.uint64(columns.RANK_BITS) | np.uint64(n_listed)
        # Its row, marked and listed, where its grams do not tell it.
        if i < last:
            codes = _few_codes(begin, contexts[i + 1] >> ROW_BITS, bits, form, code_mask)
            if codes < 0 or few[codes] != row:
                packed[record + 1 + (inside >> 6)] |= np.uint64(1) << np.uint64(inside & 63)
                write_bits(packed, at[columns.LISTED] + n_listed * row_width, row_width, row)
                n_listed += 1
    return n_listed, n_far


@kernel
def pack_rows(rows, packed, bit, row_width):
    """Write rows one after the other."""
    for i in range(rows.size):
        write_bits(packed, bit + i * row_width, row_width, rows[i])
