"""The tables of all patterns in flat arrays.

    grams           uint64: bits; gram g of a pattern is `key << code bits | code`, so many bits wide as `places` says.
                    The key is the word, scrambled (`kernels.tables.keys`); the code is the count, or all ones where the
                    count does not fit
    large_at        int64, rising: the numbers of the grams whose counts do not fit, counted over all patterns
    large_counts    int64: these counts
    contexts        int64: `begin << ROW_BITS | row`: the grams that follow the context start at `begin`, those of the
                    next context end them; `row` is the row of the pattern's statistics, 0 for a context never seen
    places          int64 [pattern, column]: where all that lies, and what the pattern is; the columns are below
    parts           int64 [pattern, n-1]: the stored patterns that skip one word more, without whose grams one was
                    never seen; 0 where there are none, and in pruned tables
    rows            int64 [row, STATISTICS], sorted for each pattern: the distinct statistics of its contexts: total,
                    N1, N2, N3+, and how much of the total is missing because its grams were pruned
    class_of        int32 [clustering, word], flat: the class of each word, where there are patterns of classes; these
                    are the patterns of other streams, one for each clustering, for which all that is said here of words
                    holds of the words' classes. Classes are counted over all clusterings, so that those of the second
                    follow those of the first; the grams of a clustering count its own, from 0
    word_counts     int64 [word]: how often each word is met in the text, where there are classes
    packed          uint64: the compact layout's own (`kernels.tables.compact_read`); None in the fast one, which is how
                    kernels are compiled for one layout alone (`LAYOUT`)
    packed_places   int64 [pattern, column]: where what lies in `packed`

Grams are sorted by context, then by key. A context has no key: it is a gram of another pattern, the tail, and its
number there is its number here. The contexts of all patterns with one tail lie side by side, a record for each gram of
the tail: what one lookup read is there for the next.

In the compact layout there are no `contexts`, grams are as narrow as their pattern allows, and codes stand for the
counts of a book (`kernels.tables.compact_read`).

Tables are put together from pieces (`gapgram.counts.assemble`), whose grams are `word << COUNT_BITS | count`.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import MODE, host_callable, inlined, kernel
from gapgram.kernels.tables.bits import read_bits

COUNT_BITS = 36
ROW_BITS = 24
COUNT_MASK = (1 << COUNT_BITS) - 1
ROW_MASK = (1 << ROW_BITS) - 1

STATISTICS = 5  # columns of `rows`
FAST_WIDTH = 32  # bits of a gram in the fast layout

# Columns of `places`: the number of the first gram among those of all patterns and how many there are, the bit at which
# they start, how many bits a gram and its code have; the first context, the step from one to the next, how many
# there are; the first row of statistics and how many there are; the tail, the nearest offset and the farthest; the bits
# of a key; of a pattern of classes the number of its clustering, from 1, and above CLUSTERING_BITS how many classes the
# clusterings before it have; 0 for a pattern of words.
FIRST_GRAM, N_GRAMS, GRAM_BIT, WIDTH, CODE_BITS = 0, 1, 2, 3, 4
FIRST_CONTEXT, STRIDE, N_CONTEXTS, FIRST_ROW, N_ROWS = 5, 6, 7, 8, 9
TAIL, NEAREST, REACH, KEY_BITS, OF_CLASSES = 10, 11, 12, 13, 14
N_COLUMNS = 15
CLUSTERING_BITS = 8
N_PACKED_COLUMNS = 16

_LITTLE_ENDIAN = sys.byteorder == "little"

NO_PLACES = np.empty((0, N_PACKED_COLUMNS), np.int64)
NO_CONTEXTS = np.empty(0, np.int64)
for _none in (NO_PLACES, NO_CONTEXTS):
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
    packed: np.ndarray | None = None
    packed_places: np.ndarray = NO_PLACES


def is_compact(tables: Tables) -> bool:
    """Whether tables are in the compact layout, not in the fast one."""
    return tables.packed is not None


class GramFormat(NamedTuple):
    """How the grams of one pattern lie: gram g is the number of `width` bits from bit `first_bit + g * width` on.

    Numbers alone: arrays, which are counted whenever they are handed on in a bundle, go beside it where grams are read
    one by one.
    """

    first_bit: int
    width: int
    code_bits: int
    key_bits: int
    n_grams: int
    n_contexts: int


@kernel
def format_of(places, p):
    """How the grams of pattern p lie."""
    return GramFormat(
        places[p, GRAM_BIT], places[p, WIDTH], places[p, CODE_BITS], places[p, KEY_BITS], places[p, N_GRAMS],
        places[p, N_CONTEXTS],
    )  # fmt: skip


@host_callable
def clustering_of(places, p):
    """The number of the clustering that pattern p is of, from 1; 0 for a pattern of words."""
    return places[p, OF_CLASSES] & ((1 << CLUSTERING_BITS) - 1)


@host_callable
def first_class(places, p):
    """How many classes the clusterings before that of pattern p have."""
    return places[p, OF_CLASSES] >> CLUSTERING_BITS


@inlined
def halves_of(tables):
    """The bits of all grams as uint32, each of them a gram; None in the compact layout."""
    return _halves(tables.grams, tables.packed)


def _halves(grams, packed):
    return grams.view(np.uint32) if packed is None and _LITTLE_ENDIAN else None


if MODE == "numba":
    from compiler.intrinsics import teach_halves

    teach_halves(_halves, little_endian=_LITTLE_ENDIAN)


@kernel
def gram_at(bits, halves, form, g):
    """Gram g of a pattern: `key << code bits | code`.

    bits: the grams of all patterns. halves: the same bits as uint32 (`halves_of`), or None.
    """
    if halves is None:
        return read_bits(bits, form.first_bit + g * form.width, form.width)
    return np.int64(halves[np.uint64((form.first_bit >> 5) + g)])


@kernel
def code_mask_of(form):
    """All ones of a code."""
    return (np.int64(1) << form.code_bits) - 1
