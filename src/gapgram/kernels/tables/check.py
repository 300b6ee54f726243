"""Whether large tables are those of counts; where they are not, `counts.check_meaning` says what is wrong."""

from __future__ import annotations

from gapgram.kernels.compiled import kernel
from gapgram.kernels.tables.arrays import (
    FIRST_CONTEXT,
    FIRST_GRAM,
    FIRST_ROW,
    N_ROWS,
    ROW_BITS,
    ROW_MASK,
    STRIDE,
    code_mask_of,
    format_of,
    gram_at,
    halves_of,
)
from gapgram.kernels.tables.keys import inverse_of, key_of, word_of
from gapgram.kernels.tables.search import first_at_least
from gapgram.kernels.text.special_words import START_ID


@kernel
def are_sound(tables, p, n_words, predicted):
    """Whether the contexts of a pattern, in the fast layout, have the grams that their statistics tell of, in order.

    predicted: of a pattern of classes, how often the words of each are met; of one of words, nothing.
    """
    places, contexts, rows, large_at = tables.places, tables.contexts, tables.rows, tables.large_at
    bits, halves, form = tables.grams, halves_of(tables), format_of(places, p)
    code_mask, inverse, start_key = code_mask_of(form), inverse_of(form.key_bits), key_of(START_ID, form.key_bits)
    record, stride, first_gram = places[p, FIRST_CONTEXT], places[p, STRIDE], places[p, FIRST_GRAM]
    listed = first_at_least(large_at, 0, large_at.size, first_gram)
    begin = contexts[record] >> ROW_BITS
    if begin != 0:
        return False
    for _ in range(form.n_contexts):
        # The grams of one context end where those of the next begin.
        row = contexts[record] & ROW_MASK
        record += stride
        end = contexts[record] >> ROW_BITS
        if end < begin or end > form.n_grams or row >= places[p, N_ROWS]:
            return False
        total, ones, twos, key_before = 0, 0, 0, -1
        for g in range(begin, end):
            gram = gram_at(bits, halves, form, g)
            key, count = gram >> form.code_bits, gram & code_mask
            if count == code_mask:  # a count that does not fit is the next one in its list
                if listed >= large_at.size or large_at[listed] != first_gram + g:
                    return False
                count = tables.large_counts[listed]
                listed += 1
            word = word_of(key, form.key_bits, inverse)
            if key <= key_before or key == start_key or word >= n_words or count < 1:
                return False
            if predicted.size > 0 and predicted[word] == 0:
                return False
            total, ones, twos, key_before = total + count, ones + (count == 1), twos + (count == 2), key
        own, n = places[p, FIRST_ROW] + row, end - begin
        if total != rows[own, 0] - rows[own, 4] or ones != rows[own, 1] or twos != rows[own, 2]:
            return False
        if n - ones - twos != rows[own, 3]:
            return False
        begin = end
    return begin == form.n_grams
