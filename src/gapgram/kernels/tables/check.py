"""Whether tables are those of counts: every gram a word that there is, every context its own statistics."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import inlined, kernel
from gapgram.kernels.tables import arrays as columns
from gapgram.kernels.tables.arrays import code_mask_of, format_of, gram_at, halves_of
from gapgram.kernels.tables.compact_read import packed_context
from gapgram.kernels.tables.keys import inverse_of, word_of
from gapgram.kernels.tables.read import listed_count
from gapgram.kernels.tables.search import first_at_least
from gapgram.kernels.text.special_words import START_ID

# What is wrong with the contexts of a pattern; the first is nothing.
FAULTS = (
    "",
    "contexts whose grams overlap, or are not there",
    "contexts without statistics",
    "a large count that is not listed",
    "a gram of a word that is not there",
    "a gram that predicts <s>",
    "a gram of a class without words",
    "words in another order than that of their ids",
    "grams that are there twice, or in no order, or were never seen",
    "statistics that are not those of the grams",
)
SOUND, OVERLAP, NO_ROW, UNLISTED, NO_WORD, START, NO_CLASS, IDS, ORDER, STATISTICS = range(len(FAULTS))


@inlined
def _context(tables, packed, p, c):
    """(begin, end, row) of a context, as the file has them."""
    if packed is not None:
        return packed_context(tables, p, c)
    stride = tables.places[p, columns.STRIDE]
    record = tables.places[p, columns.FIRST_CONTEXT] + c * stride
    this, following = tables.contexts[record], tables.contexts[record + stride]
    return this >> columns.ROW_BITS, following >> columns.ROW_BITS, this & columns.ROW_MASK


@inlined
def _count(tables, packed, p, g, code, code_mask):
    """The count of a gram by its code; -1 where it is to be listed and is not."""
    if packed is not None:
        return listed_count(tables, p, g, code)
    if code < code_mask:
        return code
    number, large_at = tables.places[p, columns.FIRST_GRAM] + g, tables.large_at
    i = first_at_least(large_at, 0, large_at.size, number)
    return tables.large_counts[i] if i < large_at.size and large_at[i] == number else np.int64(-1)


@kernel
def fault_of_contexts(tables, p, first, last, begin, n_words, predicted):
    """(one of FAULTS, where their grams end): of contexts first … last-1 of pattern p, whose grams begin at `begin`.

    predicted: of a pattern of classes, how often the words of each are met; of one of words, nothing.
    """
    places, rows, bits, halves = tables.places, tables.rows, tables.grams, halves_of(tables)
    form = format_of(places, p)
    code_mask, inverse, is_root = code_mask_of(form), inverse_of(form.key_bits), places[p, columns.REACH] == 0
    for c in range(first, last):
        # The grams of one context end where those of the next begin.
        own_begin, end, row = _context(tables, tables.packed, p, c)
        if own_begin != begin or end < begin or end > form.n_grams:
            return OVERLAP, end
        if row >= places[p, columns.N_ROWS]:
            return NO_ROW, end
        total, n1, n2, n3, key_before = np.int64(0), 0, 0, 0, np.int64(-1)
        for g in range(begin, end):
            gram = gram_at(bits, halves, form, g)
            key, count = gram >> form.code_bits, _count(tables, tables.packed, p, g, gram & code_mask, code_mask)
            word = word_of(key, form.key_bits, inverse)
            if count < 0:
                return UNLISTED, end
            if word >= n_words:
                return NO_WORD, end
            if word == START_ID and count > 0:
                return START, end
            if predicted.size > 0 and count > 0 and predicted[word] == 0:
                return NO_CLASS, end
            if is_root and word != g:
                return IDS, end
            if not is_root and (key <= key_before or count < 1):
                return ORDER, end
            total, key_before = total + count, key
            n1, n2, n3 = n1 + (count == 1), n2 + (count == 2), n3 + (count > 2)
        own = places[p, columns.FIRST_ROW] + row
        if total != rows[own, 0] - rows[own, 4] or n1 != rows[own, 1] or n2 != rows[own, 2] or n3 != rows[own, 3]:
            return STATISTICS, end
        begin = end
    return SOUND, begin
