"""Where tables lie, as it follows from the patterns and the numbers of grams; whether those of a file lie so.

No kernel is led outside of arrays by what says where things lie: it is checked whenever a file is opened, by Python and
by the library for C alike.

    patterns    int64 [pattern, 2]: the mask and the clustering of each pattern that is stored, in their order
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.tables import arrays as columns
from gapgram.kernels.tables import compact_read as compact
from gapgram.kernels.tables.bits import width_of
from gapgram.kernels.tables.keys import key_bits_of
from gapgram.kernels.text.special_words import END_ID

MOST_GRAMS = 1 << 40
MOST_CODE_BITS = 8
_MOST_RANK, _MOST_KEY_BITS = int(compact.RANK_MASK), columns.FAST_WIDTH - 2  # two bits at least are left for the count

# What is wrong with tables; the first is nothing.
FAULTS = (
    "",
    "{found} patterns, expected {expected}",
    "{expected} names of classes, and patterns of the classes of {found} clusterings",
    "{found} classes of words, expected {expected}",
    "{found} counts of words, expected {expected}",
    "{found} grams of a pattern in {expected} bytes",
    "{found} rows of a pattern, expected 1 to {expected}",
    "{found} rows, expected {expected}",
    "{found} grams of the words alone, expected {expected}",
    "{found} different words, expected {expected} at most",
    "codes of {found} bits, expected 1 to {expected}",
    "places of pattern {pattern}: {found} in column {column}, expected {expected}",
    "{found} words of grams, expected {expected}",
    "{found} contexts, expected {expected}",
    "parts of patterns that skip other words",
    "packed places of {found} patterns, expected {expected}",
    "packed places of pattern {pattern}: {found} in column {column}, expected {expected}",
    "{found} packed words, expected {expected}",
    "a code of pattern {pattern} for {found} times, expected {expected} at most",
)
(
    NO_FAULT, PATTERNS, NAMES, CLASSES, WORD_COUNTS, GRAMS_OF_ONE, ROWS_OF_ONE, ROWS, WORDS, TOO_MANY_WORDS, CODES,
    PLACES, GRAM_WORDS, CONTEXTS, PARTS, PACKED_PATTERNS, PACKED_PLACES, PACKED_WORDS, BOOKS,
) = range(len(FAULTS))  # fmt: skip


class Fault(NamedTuple):
    """What is wrong: a number of FAULTS, and what that sentence names."""

    number: int
    pattern: int
    column: int
    found: int
    expected: int


@kernel
def _fault_at(number, p, column, found, expected):
    return Fault(np.int64(number), np.int64(p), np.int64(column), np.int64(found), np.int64(expected))


@kernel
def _fault(number, found, expected):
    return _fault_at(number, 0, 0, found, expected)


@kernel
def _number_of(patterns, mask, classes):
    """The number of a pattern; -1 where it is not stored."""
    for p in range(patterns.shape[0]):
        if patterns[p, 0] == mask and patterns[p, 1] == classes:
            return np.int64(p)
    return np.int64(-1)


@kernel
def _nearest_of(mask):
    """The nearest offset of a pattern; 0 for the empty one."""
    nearest = 0
    while mask > 0 and (mask << 1) >> nearest & 1 == 0:
        nearest += 1
    return nearest


@kernel
def parts_of(patterns):
    """[pattern, n-1]: the numbers of the stored patterns that skip one word more, 0 where there are none."""
    span = 0
    for p in range(patterns.shape[0]):
        while patterns[p, 0] >> span > 0:
            span += 1
    parts = np.zeros((patterns.shape[0], span), np.int64)
    for p in range(patterns.shape[0]):
        n = 0
        for offset in range(span - 1, -1, -1):  # the farthest word first
            if patterns[p, 0] >> offset & 1:
                parts[p, n] = max(_number_of(patterns, patterns[p, 0] & ~(np.int64(1) << offset), patterns[p, 1]), 0)
                n += 1
    return parts


@kernel
def places_of(patterns, sizes, n_rows):
    """Where tables with so many grams and rows lie (`kernels.tables.arrays`), the contexts of one tail side by side.

    Every tail of a pattern is among the patterns.
    """
    n = patterns.shape[0]
    places = np.zeros((n, columns.N_COLUMNS), np.int64)
    grams, rows, classes, root = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for p in range(n):
        mask, place = patterns[p, 0], places[p]
        if mask == 0:
            root = np.int64(p)
            place[columns.OF_CLASSES] = classes << columns.CLUSTERING_BITS | patterns[p, 1] if patterns[p, 1] > 0 else 0
            classes += sizes[p] if patterns[p, 1] > 0 else 0
        place[columns.OF_CLASSES] = places[root, columns.OF_CLASSES]
        place[columns.N_GRAMS], place[columns.FIRST_GRAM] = sizes[p], grams
        place[columns.GRAM_BIT] = grams * columns.FAST_WIDTH
        place[columns.WIDTH], place[columns.KEY_BITS] = columns.FAST_WIDTH, key_bits_of(sizes[root])
        place[columns.CODE_BITS] = columns.FAST_WIDTH - place[columns.KEY_BITS]
        place[columns.N_ROWS], place[columns.FIRST_ROW] = n_rows[p], rows
        place[columns.NEAREST] = _nearest_of(mask)
        place[columns.TAIL] = max(_number_of(patterns, mask >> place[columns.NEAREST], patterns[p, 1]), 0)
        while mask >> place[columns.REACH] > 0:
            place[columns.REACH] += 1
        place[columns.N_CONTEXTS] = sizes[place[columns.TAIL]] if mask > 0 else 1
        grams += sizes[p]
        rows += n_rows[p]
    used = np.int64(0)
    for p in range(n):
        if patterns[p, 0] == 0:
            places[p, columns.FIRST_CONTEXT], places[p, columns.STRIDE] = used, 1
            used += 2
        # The contexts of all patterns whose tail this one is
        group = 0
        for q in range(n):
            group += patterns[q, 0] > 0 and places[q, columns.TAIL] == p
        i = 0
        for q in range(n):
            if patterns[q, 0] > 0 and places[q, columns.TAIL] == p:
                places[q, columns.FIRST_CONTEXT], places[q, columns.STRIDE] = used + i, group
                i += 1
        used += group * (sizes[p] + 1)
    return places


@kernel
def packed_columns(first_word, own, numbers):
    """The columns of `packed_places` of a pattern whose packed words begin at a word.

    own: its columns of `places`; numbers: its packed columns, of which those that say how many there are, and how
    wide listed counts and buckets are, are taken as they are.
    """
    at = numbers.copy()
    n_grams, n_contexts, bucket_bits = own[columns.N_GRAMS], own[columns.N_CONTEXTS], at[compact.BUCKET_BITS]
    at[compact.BUCKET_WIDTH], at[compact.ROW_WIDTH] = width_of(at[compact.N_MORE]), width_of(own[columns.N_ROWS] - 1)
    word = np.int64(first_word)
    at[compact.BOOK] = word
    word += np.int64(1) << own[columns.CODE_BITS]
    at[compact.MORE] = word << 6
    word += (at[compact.N_MORE] * (at[compact.VALUE_WIDTH] + bucket_bits) + 63) >> 6
    at[compact.BUCKETS] = word << 6
    word += (((n_grams >> bucket_bits) + 2) * at[compact.BUCKET_WIDTH] + 63) >> 6
    at[compact.VECTOR] = word
    word += (n_grams + n_contexts + 64) >> 6
    at[compact.RECORDS] = word
    word += ((n_contexts >> compact.BLOCK_BITS) + 1) * compact.RECORD
    at[compact.FAR] = word << 6
    word += (at[compact.N_FAR] * (compact.BLOCK + 1) * compact.FAR_WIDTH + 63) >> 6
    at[compact.LISTED] = word << 6
    word += (at[compact.N_LISTED] * at[compact.ROW_WIDTH] + 63) >> 6
    at[compact.FEW] = word << 6
    at[compact.END] = word + (compact.FEW_SIZE * at[compact.ROW_WIDTH] >> 6)
    return at


@kernel
def _fault_of_sizes(patterns, tables, n_words, n_classes):
    """What is wrong with the numbers of grams, rows and classes."""
    places, clusterings = tables.places, patterns[-1, 1]
    if (clusterings > 0) != (n_classes > 0):
        return _fault(NAMES, clusterings, n_classes)
    if tables.class_of.size != clusterings * n_words:
        return _fault(CLASSES, tables.class_of.size, clusterings * n_words)
    if tables.word_counts.size != (n_words if clusterings > 0 else 0):
        return _fault(WORD_COUNTS, tables.word_counts.size, n_words if clusterings > 0 else 0)
    grams, rows, roots = np.int64(0), np.int64(0), np.int64(0)
    for p in range(places.shape[0]):
        size, n_rows = places[p, columns.N_GRAMS], places[p, columns.N_ROWS]
        grams += min(size, MOST_GRAMS)
        if size > MOST_GRAMS or grams > 64 * tables.grams.size:
            return _fault(GRAMS_OF_ONE, size, 8 * tables.grams.size)
        if n_rows < 1 or n_rows > columns.ROW_MASK:
            return _fault(ROWS_OF_ONE, n_rows, columns.ROW_MASK)
        rows += n_rows
        if patterns[p, 0] == 0:
            roots += size
            if key_bits_of(size) > _MOST_KEY_BITS:
                return _fault(TOO_MANY_WORDS, size, 1 << _MOST_KEY_BITS)
            if size <= END_ID:
                return _fault(CLASSES if p > 0 else WORDS, size, n_classes if p > 0 else n_words)
    if tables.rows.shape[0] != rows:
        return _fault(ROWS, tables.rows.shape[0], rows)
    if places[0, columns.N_GRAMS] != n_words:
        return _fault(WORDS, places[0, columns.N_GRAMS], n_words)
    if roots != n_words + n_classes:
        return _fault(CLASSES, roots - n_words, n_classes)
    return _fault(NO_FAULT, 0, 0)


@kernel
def _fault_of_packed(tables, packed):
    """What is wrong with the places in the packed words: tables have others."""
    if packed is None:
        return _fault(NO_FAULT, 0, 0)
    places, own, word = tables.places, tables.packed_places, np.int64(0)
    if own.shape[0] != places.shape[0]:
        return _fault(PACKED_PATTERNS, own.shape[0], places.shape[0])
    for p in range(places.shape[0]):
        n_contexts = places[p, columns.N_CONTEXTS]
        given = np.array([compact.N_MORE, compact.N_LISTED, compact.N_FAR, compact.VALUE_WIDTH, compact.BUCKET_BITS])
        most_far = (n_contexts >> compact.BLOCK_BITS) + 1
        most = np.array([places[p, columns.N_GRAMS], min(n_contexts, _MOST_RANK), most_far, 16, 44])
        for i in range(given.size):
            found = own[p, given[i]]
            if found < (given[i] == compact.VALUE_WIDTH) or found > most[i]:
                return _fault_at(PACKED_PLACES, p, given[i], found, most[i])
        expected = packed_columns(word, places[p], own[p])
        for column in range(columns.N_PACKED_COLUMNS):
            if own[p, column] != expected[column]:
                return _fault_at(PACKED_PLACES, p, column, own[p, column], expected[column])
        word = expected[compact.END]
    if packed.size != word:
        return _fault(PACKED_WORDS, packed.size, word)
    for p in range(places.shape[0]):
        for i in range(np.int64(1) << places[p, columns.CODE_BITS]):
            count = np.int64(packed[own[p, compact.BOOK] + i])
            if count < compact.IN_LIST or count > columns.COUNT_MASK:
                return _fault_at(BOOKS, p, 0, count, columns.COUNT_MASK)
    return _fault(NO_FAULT, 0, 0)


@kernel
def _is_there(packed):
    return packed is not None


@kernel
def fault_of_structure(patterns, tables, n_words, n_classes):
    """What is wrong with tables of these patterns, of so many words, and classes of all clusterings; a `Fault`."""
    places, n = tables.places, patterns.shape[0]
    if places.shape[0] != n:
        return _fault(PATTERNS, places.shape[0], n)
    fault = _fault_of_sizes(patterns, tables, n_words, n_classes)
    if fault.number != NO_FAULT:
        return fault
    is_compact, gram_bit, n_contexts = _is_there(tables.packed), np.int64(0), np.int64(0)
    expected = places_of(patterns, places[:, columns.N_GRAMS].copy(), places[:, columns.N_ROWS].copy())
    for p in range(n):
        if is_compact:  # which has its own widths
            code_bits = places[p, columns.CODE_BITS]
            if code_bits < 1 or code_bits > MOST_CODE_BITS:
                return _fault(CODES, code_bits, MOST_CODE_BITS)
            expected[p, columns.CODE_BITS] = code_bits
            expected[p, columns.WIDTH] = places[p, columns.KEY_BITS] + code_bits
            expected[p, columns.GRAM_BIT] = gram_bit
        for column in range(columns.N_COLUMNS):
            if places[p, column] != expected[p, column]:
                return _fault_at(PLACES, p, column, places[p, column], expected[p, column])
        gram_bit += places[p, columns.N_GRAMS] * places[p, columns.WIDTH]
        n_contexts += 0 if is_compact else places[p, columns.N_CONTEXTS] + 1
    if tables.grams.size != gram_bit + 63 >> 6:
        return _fault(GRAM_WORDS, tables.grams.size, gram_bit + 63 >> 6)
    if tables.contexts.size != n_contexts:
        return _fault(CONTEXTS, tables.contexts.size, n_contexts)
    parts, differs, some = parts_of(patterns), tables.parts.shape[0] != n, False
    for p in range(n if not differs else 0):
        differs = differs or tables.parts.shape[1] != parts.shape[1]
        for k in range(parts.shape[1] if not differs else 0):
            some = some or tables.parts[p, k] != 0
    for p in range(n if some else 0):
        for k in range(parts.shape[1]):
            differs = differs or tables.parts[p, k] != parts[p, k]
    if differs:
        return _fault(PARTS, 0, 0)
    return _fault_of_packed(tables, tables.packed)
