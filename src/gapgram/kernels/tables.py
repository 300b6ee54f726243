"""The tables of all patterns in flat arrays, and how kernels read them.

    grams       bits; gram g of a pattern is `key << code bits | code`, so many bits wide as `places` says.
                The key is the word, scrambled; the code is the count, or all ones where the count does not fit
    large_at, large_counts      the numbers of the grams whose counts do not fit, rising, and these counts
    contexts    `begin << ROW_BITS | row`: the grams that follow the context start at `begin`, those of the
                next context end them; `row` is the row of the pattern's statistics, 0 for a context never seen
    places      [pattern, column]: where all that lies, and what the pattern is; the columns are below
    parts       [pattern, n-1]: the stored patterns that skip one word more, without whose grams one was never
                seen; 0 where there are none, and in pruned tables
    rows        the distinct statistics of a pattern's contexts: total, N1, N2, N3+, and how much of the total is
                missing because its grams were pruned
    class_of    the class of each word, where there are patterns of classes; these are the patterns of another
                stream, for which all that is said here of words holds of the words' classes
    word_counts how often each word is met in the text, where there are classes

Grams are sorted by context, then by key. Keys are word ids times an odd number, modulo a power of two: whatever
words follow a context, their keys lie about evenly between 0 and that power, so that the place of a key among
them can be guessed, and a search needs two or three reads where halving needs ten.

A context has no key: it is a gram of another pattern, the tail, and its number there is its place here. The
contexts of all patterns with one tail lie side by side, a record for each gram of the tail: what one lookup read
is there for the next.

In the compact layout there are no `contexts`, grams are as narrow as their pattern allows, and codes stand for the
counts of a book (`kernels.compact_read`); `packed` and `packed_places` are empty in the fast one.

Tables are put together from pieces (`gapgram.counts.assemble`), whose grams are `word << COUNT_BITS | count`.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from gapgram.kernels.bits import read_bits
from gapgram.kernels.compact_read import N_PACKED_COLUMNS, packed_count, packed_row, span_of
from gapgram.kernels.jit import kernel
from gapgram.kernels.prefetch import prefetch

COUNT_BITS = 36
ROW_BITS = 24
COUNT_MASK = (1 << COUNT_BITS) - 1
ROW_MASK = (1 << ROW_BITS) - 1

STATISTICS = 5  # of a context
FAST_WIDTH = 32  # bits of a gram in the fast layout
_BIG_ENDIAN = np.int64(sys.byteorder == "big")  # the first half of a word is then its second in memory

# Columns of `places`: the number of the first gram among those of all patterns and how many there are, the bit at which
# they start, how many bits a gram and its code have; the first context, the step from one to the next, how many
# there are; the first row of statistics and how many there are; the tail, the nearest offset and the farthest; the bits
# of a key; whether it is a pattern of classes.
FIRST_GRAM, N_GRAMS, GRAM_BIT, WIDTH, CODE_BITS = 0, 1, 2, 3, 4
FIRST_CONTEXT, STRIDE, N_CONTEXTS, FIRST_ROW, N_ROWS = 5, 6, 7, 8, 9
TAIL, NEAREST, REACH, KEY_BITS, OF_CLASSES = 10, 11, 12, 13, 14
N_COLUMNS = 15

SMALL = 64  # totals below this, all from one gram, find their row without hashing


NO_WORDS = np.empty(0, np.uint64)
NO_PLACES = np.empty((0, N_PACKED_COLUMNS), np.int64)
NO_CONTEXTS = np.empty(0, np.int64)
for _none in (NO_WORDS, NO_PLACES, NO_CONTEXTS):
    _none.flags.writeable = False


class Tables(NamedTuple):
    """The arrays of the module's head, as kernels take them."""

    grams: np.ndarray
    large_at: np.ndarray
    large_counts: np.ndarray
    contexts: np.ndarray
    places: np.ndarray
    parts: np.ndarray
    rows: np.ndarray
    class_of: np.ndarray
    word_counts: np.ndarray
    packed: np.ndarray = NO_WORDS
    packed_places: np.ndarray = NO_PLACES


@kernel
def key_bits_of(n_words):
    """The bits of the keys of so many words."""
    bits = 1
    while (1 << bits) < n_words:
        bits += 1
    return bits


@kernel
def key_of(word, bits):
    """The key of a word: its id times an odd number near 2**bits / golden ratio."""
    odd = np.int64((1 << bits) * 0.6180339887498949) | 1
    return np.int64(word) * odd & ((np.int64(1) << bits) - 1)


@kernel
def inverse_of(bits):
    """The number that takes keys of so many bits back to words."""
    odd = np.int64((1 << bits) * 0.6180339887498949) | 1
    inverse = np.int64(1)
    for _ in range(6):  # each step doubles the bits that are right
        inverse = inverse * (2 - odd * inverse) & ((np.int64(1) << bits) - 1)
    return inverse


@kernel
def word_of(key, bits):
    """The word of a key."""
    return key * inverse_of(bits) & ((np.int64(1) << bits) - 1)


@kernel
def words_by_key(n_words):
    """All words in the order of their keys."""
    bits = key_bits_of(n_words)
    inverse = inverse_of(bits)
    mask = (np.int64(1) << bits) - 1
    out = np.empty(n_words, np.int64)
    n = 0
    for key in range(1 << bits):
        word = key * inverse & mask
        if word < n_words:
            out[n] = word
            n += 1
    return out


@kernel
def large_count(gram, large_at, large_counts):
    """The count of a gram that has its place among the large ones, by its number among those of all patterns."""
    low, high = 0, large_at.size
    while low < high:
        middle = (low + high) >> 1
        if large_at[middle] < gram:
            low = middle + 1
        else:
            high = middle
    return max(large_counts[low], 0) if low < large_at.size else np.int64(1)


@kernel
def first_listed(tables, code_mask):
    """The first code that is not the count itself: in the compact layout none is."""
    return code_mask if tables.contexts.size > 0 else np.int64(0)


@kernel
def listed_count(tables, p, g, code):
    """The count of gram g of pattern p whose code, at least `first_listed`, does not tell it."""
    if tables.contexts.size == 0:
        count = packed_count(tables.packed, tables.packed_places[p], g, code)
        if count >= 0:
            return count
    return large_count(tables.places[p, FIRST_GRAM] + g, tables.large_at, tables.large_counts)


@kernel
def word_and_count(tables, p, g):
    """The word and the count of gram g of pattern p."""
    at = tables.places[p]
    gram = read_bits(tables.grams, at[GRAM_BIT] + g * at[WIDTH], at[WIDTH])
    code_mask = (np.int64(1) << at[CODE_BITS]) - 1
    count = gram & code_mask
    if count >= first_listed(tables, code_mask):
        count = listed_count(tables, p, g, count)
    return word_of(gram >> at[CODE_BITS], at[KEY_BITS]), count


@kernel
def begin_of(tables, p, context):
    """Where the grams of a context of pattern p begin; those of the one before end there."""
    at = tables.places[p]
    if tables.contexts.size == 0:
        return span_of(tables.packed, tables.packed_places[p], at[N_GRAMS], at[N_CONTEXTS], context)[0]
    return min(tables.contexts[at[FIRST_CONTEXT] + context * at[STRIDE]] >> ROW_BITS, at[N_GRAMS])


@kernel
def context_at(tables, p, context):
    """(begin, end, row): the grams of a context of pattern p, and the row of its statistics, as the file has it."""
    at = tables.places[p]
    if tables.contexts.size == 0:
        packed_at = tables.packed_places[p]
        begin, end = span_of(tables.packed, packed_at, at[N_GRAMS], at[N_CONTEXTS], context)
        bit, width, code_bits = at[GRAM_BIT], at[WIDTH], at[CODE_BITS]
        row = packed_row(tables.packed, packed_at, tables.grams, bit, width, code_bits, context, begin, end)
        return begin, end, row
    record = at[FIRST_CONTEXT] + context * at[STRIDE]
    this = tables.contexts[record]
    following = tables.contexts[record + at[STRIDE]]
    begin = min(this >> ROW_BITS, at[N_GRAMS])
    return begin, max(min(following >> ROW_BITS, at[N_GRAMS]), begin), this & ROW_MASK


@kernel
def read_contexts(contexts, place, chosen, n, low, spread, rows):
    """Of the first n chosen contexts of a pattern where their grams begin, how many there are, and their rows.

    `place` is the pattern's row of `places`.
    """
    first, stride, n_grams = place[FIRST_CONTEXT], place[STRIDE], place[N_GRAMS]
    for i in range(n):
        prefetch(contexts, first + chosen[i] * stride)
    for i in range(n):
        record = first + chosen[i] * stride
        this, following = contexts[np.uint64(record)], contexts[np.uint64(record + stride)]
        low[i] = min(this >> ROW_BITS, n_grams)
        spread[i] = max(min(following >> ROW_BITS, n_grams) - low[i], 0)
        rows[i] = this & ROW_MASK


@kernel
def pack_grams(grams, bits, bit, code_bits, key_bits):
    """Write grams `word << COUNT_BITS | count`, each in FAST_WIDTH bits, from a bit on.

    Returns the places and counts of those too large. Touches nothing but these bits: others may write beside them.
    """
    code_mask = (np.int64(1) << code_bits) - 1
    n_large = 0
    for g in range(grams.size):
        n_large += grams[g] & COUNT_MASK >= code_mask
    at = np.empty(n_large, np.int64)
    counts = np.empty(n_large, np.int64)
    n_large = 0
    halves, first = bits.view(np.uint32), bit >> 5
    for g in range(grams.size):
        count = grams[g] & COUNT_MASK
        if count >= code_mask:
            at[n_large] = g
            counts[n_large] = count
            n_large += 1
            count = code_mask
        halves[np.uint64((first + g) ^ _BIG_ENDIAN)] = key_of(grams[g] >> COUNT_BITS, key_bits) << code_bits | count
    return at, counts


@kernel
def counts_of_counts(tables, p, begin, end, upto):
    """How many of grams begin … end-1 of a pattern have count 0, 1 … `upto`, and how many have more."""
    at = tables.places[p]
    bit, width = at[GRAM_BIT], at[WIDTH]
    code_mask = (np.int64(1) << at[CODE_BITS]) - 1
    listed = first_listed(tables, code_mask)
    out = np.zeros(upto + 2, np.int64)
    for g in range(begin, end):
        count = read_bits(tables.grams, bit + g * width, width) & code_mask
        if count >= listed:
            count = listed_count(tables, p, g, count)
        out[min(count, upto + 1)] += 1
    return out


@kernel
def weigh(positions, starts, marks):
    """How many positions of each group are marked."""
    counts = np.zeros(starts.size - 1, np.int64)
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            counts[g] += marks[positions[i]] > 0
    return counts


@kernel
def row_of(total, n1, n2, n3, missing, slots, rows, n_rows):
    """The row of these statistics, appended where it is new: (row, number of rows)."""
    h = np.uint64(total) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ np.uint64(n1)) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(29)) ^ np.uint64(n2)) * np.uint64(0x94D049BB133111EB)
    h = (h ^ (h >> np.uint64(31)) ^ np.uint64(n3)) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30)) ^ np.uint64(missing)) * np.uint64(0xBF58476D1CE4E5B9)
    mask = slots.size - 1
    at = np.int64(h >> np.uint64(34)) & mask
    while slots[at] >= 0:
        r = slots[at]
        same = rows[r, 0] == total and rows[r, 1] == n1 and rows[r, 2] == n2 and rows[r, 3] == n3
        if same and rows[r, 4] == missing:
            return r, n_rows
        at = (at + 1) & mask
    slots[at] = n_rows
    rows[n_rows, 0], rows[n_rows, 1], rows[n_rows, 2], rows[n_rows, 3] = total, n1, n2, n3
    rows[n_rows, 4] = missing
    return n_rows, n_rows + 1


@kernel
def more_rows(slots, rows, n_rows):
    """(slots, rows) of twice the size, with the same rows."""
    bigger = np.zeros((2 * rows.shape[0], STATISTICS), np.int64)
    bigger[:n_rows] = rows[:n_rows]
    slots = np.full(2 * slots.size, -1, np.int64)
    again = 1
    for r in range(1, n_rows):
        row = bigger[r]
        _, again = row_of(row[0], row[1], row[2], row[3], row[4], slots, bigger, again)
    return slots, bigger


@kernel
def build_tables(words, counts, begins):
    """(grams, contexts, rows) of one pattern from the word and count of each gram, in order.

    The grams of context c are begins[c] to begins[c+1]. Rows are numbered as they are met, row 0 being
    all zeros, and `contexts` has no closing entry.
    """
    grams = np.empty(counts.size, np.int64)
    contexts = np.empty(begins.size - 1, np.int64)
    slots = np.full(1 << 12, -1, np.int64)
    rows = np.zeros((1 << 11, STATISTICS), np.int64)
    n_rows = 1
    small = np.full(SMALL, -1, np.int64)
    for c in range(begins.size - 1):
        total = np.int64(0)
        n1 = np.int64(0)
        n2 = np.int64(0)
        n3 = np.int64(0)
        for g in range(begins[c], begins[c + 1]):
            count = counts[g]
            grams[g] = np.int64(words[g]) << COUNT_BITS | count
            total += count
            if count == 1:
                n1 += 1
            elif count == 2:
                n2 += 1
            elif count > 2:
                n3 += 1
        row = np.int64(0)
        if total > 0:
            one = n1 + n2 + n3 == 1 and total < SMALL
            row = small[total] if one else np.int64(-1)
            if row < 0:
                if 2 * n_rows >= rows.shape[0]:
                    slots, rows = more_rows(slots, rows, n_rows)
                row, n_rows = row_of(total, n1, n2, n3, 0, slots, rows, n_rows)
                if one:
                    small[total] = row
        contexts[c] = np.int64(begins[c]) << ROW_BITS | row
    return grams, contexts, rows[:n_rows].copy()


@kernel
def place_contexts(contexts, first_gram, row_numbers, out, stride):
    """Copy contexts whose grams now start at `first_gram`, with their rows renumbered, a stride apart."""
    for c in range(contexts.size):
        begin = (contexts[c] >> ROW_BITS) + first_gram
        out[c * stride] = begin << ROW_BITS | row_numbers[contexts[c] & ROW_MASK]


@kernel
def row_numbers(rows, distinct):
    """The number of each row among distinct rows, which are sorted and hold it."""
    out = np.empty(rows.shape[0], np.int64)
    for r in range(rows.shape[0]):
        low, high = 0, distinct.shape[0] - 1
        while low < high:
            middle = (low + high) >> 1
            k = 0
            while k < STATISTICS - 1 and distinct[middle, k] == rows[r, k]:
                k += 1
            if distinct[middle, k] < rows[r, k]:
                low = middle + 1
            else:
                high = middle
        out[r] = low
    return out
