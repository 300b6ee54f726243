"""The grams of a word under every pattern, found by the threads of a block together.

Patterns come in the order of their lengths, and a pattern's context is a gram of a shorter one that ends some words
earlier: it was found by a neighbour. So the threads of a block, a thread a position, find the grams of one pattern,
leave them in the memory that they share, and go on to the next pattern.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from gapgram.cuda.card import THREADS, for_card
from gapgram.errors import DeviceError
from gapgram.kernels.probability.query import fallback_of
from gapgram.kernels.tables.arrays import (
    CLUSTERING_BITS,
    CODE_BITS,
    FIRST_CONTEXT,
    FIRST_GRAM,
    FIRST_ROW,
    GRAM_BIT,
    KEY_BITS,
    N_COLUMNS,
    N_CONTEXTS,
    N_GRAMS,
    N_ROWS,
    NEAREST,
    OF_CLASSES,
    REACH,
    ROW_BITS,
    ROW_MASK,
    STRIDE,
    TAIL,
    WIDTH,
    GramFormat,
)
from gapgram.kernels.tables.keys import key_of
from gapgram.kernels.tables.model_arrays import BACKOFF, SCALE
from gapgram.kernels.tables.search import find_key, first_at_least, first_guess

SHARED_BYTES = 48 << 10  # that a block may use without asking for more
_ROW_COLUMNS = 4


class Shape(NamedTuple):
    """What a kernel is compiled for.

    chains: every pattern falls back on one other, so that probabilities add up from the shortest pattern on.
    single: every prediction starts from one pattern. gated: there is a learned gate. clusterings: of the words, whose
    classes some patterns are of.
    """

    n_patterns: int
    order: int
    chains: bool
    single: bool
    gated: bool
    clusterings: int

    @property
    def threads(self) -> int:
        """How many threads a block has: as many as have room for what they found."""
        for threads in (THREADS, THREADS // 2, THREADS // 4):
            if threads * self.n_patterns * 4 <= SHARED_BYTES:
                return threads
        raise DeviceError(f"device cuda: a model of {self.n_patterns} patterns is too large for a card; use the CPU")


@cuda.jit(device=True)
def place_of(model, p, column):
    """A column of `kernels.tables.arrays` places for pattern p."""
    return model.places[p * N_COLUMNS + column]


@cuda.jit(device=True)
def clustering_on_card(model, p):
    """`kernels.tables.arrays.clustering_of` of flat places."""
    return place_of(model, p, OF_CLASSES) & ((1 << CLUSTERING_BITS) - 1)


@cuda.jit(device=True)
def first_class_on_card(model, p):
    """`kernels.tables.arrays.first_class` of flat places."""
    return place_of(model, p, OF_CLASSES) >> CLUSTERING_BITS


@cache
def giving(shape: Shape) -> Any:
    """A function for kernels: the probability of a word given what pattern p counts: itself, or its class."""
    clusterings = shape.clusterings

    @cuda.jit(device=True)
    def given_of(model, p, word):
        if not clusterings or clustering_on_card(model, p) == 0:
            return 1.0
        n_words = model.given_class.size // clusterings
        if word >= n_words:
            return 0.0
        return model.given_class[(clustering_on_card(model, p) - 1) * n_words + word]

    return given_of


@cuda.jit(device=True)
def format_on_card(model, p):
    """`kernels.tables.arrays.format_of` of flat places."""
    return GramFormat(
        place_of(model, p, GRAM_BIT), place_of(model, p, WIDTH), place_of(model, p, CODE_BITS),
        place_of(model, p, KEY_BITS), place_of(model, p, N_GRAMS), place_of(model, p, N_CONTEXTS),
    )  # fmt: skip


@cuda.jit(device=True)
def code_mask(form):
    """All ones of a code."""
    return (np.int64(1) << form.code_bits) - 1


@cuda.jit(device=True)
def span_of(model, p, context):
    """(begin, number of grams, row): what follows a context of pattern p, and the row of its statistics."""
    stride, n_grams, first_row = place_of(model, p, STRIDE), place_of(model, p, N_GRAMS), place_of(model, p, FIRST_ROW)
    record = place_of(model, p, FIRST_CONTEXT) + min(context, place_of(model, p, N_CONTEXTS) - 1) * stride
    this, following = model.contexts[record], model.contexts[record + stride]
    begin = min(this >> ROW_BITS, n_grams)
    row = min(first_row + (this & ROW_MASK), first_row + place_of(model, p, N_ROWS) - 1)
    return begin, max(min(following >> ROW_BITS, n_grams) - begin, 0), row


@cuda.jit(device=True)
def row_value(model, row, column):
    """A column of `kernels.tables.model_arrays` row values."""
    return model.row_values[row * _ROW_COLUMNS + column]


@cuda.jit(device=True)
def discount_of(model, p, count):
    """What is taken from a count of pattern p."""
    return model.discounts[4 * p + min(count, 3)]


def count_reader() -> Any:
    """A function for kernels: the count of gram g of pattern p by its code."""
    listed = for_card(first_at_least)

    @cuda.jit(device=True)
    def count_of(model, p, form, g, code):
        if g < 0 or code < code_mask(form):
            return code
        i = listed(model.large_at, 0, model.large_at.size, place_of(model, p, FIRST_GRAM) + g)
        return max(model.large_counts[i], 0) if i < model.large_at.size else np.int64(1)

    return count_of


@cache
def _searching(shape: Shape) -> tuple[Any, Any]:
    """Two functions for kernels: the search of a key among the grams of a context, and whether it can be there."""
    find, guessed, threads, n_parts = for_card(find_key), for_card(first_guess), shape.threads, shape.order - 1

    @cuda.jit(device=True)
    def searched(model, p, form, key, begin, spread):
        """(gram or -1, its code) of a key among the grams of a context."""
        g, gram = find(model.grams, model.grams, form, key, begin, spread, guessed(key, begin, spread, form.key_bits))
        return g, gram & code_mask(form)

    @cuda.jit(device=True)
    def parts_seen(model, p, root, column, entries):
        """Whether each gram that skips one word more was seen: otherwise there is nothing to search."""
        for k in range(n_parts):
            part = model.parts[p * n_parts + k]
            if part > root and entries[part * threads + column] < 0:
                return False
        return True

    return searched, parts_seen


@cache
def locating(shape: Shape) -> Any:
    """A function for kernels that every thread of a block calls for its word.

    locate(model, word, known, column, entries, rows, results, stride, at): `known` words before it are seen; `column`
    is the thread's, and the words before it are those of the threads before. For pattern p, rows[p * stride + at]
    receives the row of its context (-1: the sentence is too short), results[p * stride + at] the word's probability
    under it where there are `chains`, else the count of its gram.
    """
    n_patterns, threads, chains, clusterings = shape.n_patterns, shape.threads, shape.chains, shape.clusterings
    keyed, count_of, (searched, parts_seen) = for_card(key_of), count_reader(), _searching(shape)
    given_of, falls_back_on = giving(shape), for_card(fallback_of)

    @cuda.jit(device=True)
    def locate(model, word, known, column, entries, rows, results, stride, at):
        root, key, given = 0, np.int64(0), 1.0
        for p in range(n_patterns):
            form, reach = format_on_card(model, p), place_of(model, p, REACH)
            entry, code, row = np.int64(-1), np.int64(0), np.int64(-1)
            if reach == 0:
                # The word itself, or its class; the patterns up to the next such one have its key.
                root, entry, given = p, word, given_of(model, p, word)
                if clusterings and clustering_on_card(model, p) > 0:
                    n_words = model.given_class.size // clusterings
                    if word < n_words:
                        entry = np.int64(model.class_of[(clustering_on_card(model, p) - 1) * n_words + word])
                        entry -= first_class_on_card(model, p)
                entry = entry if 0 <= entry < form.n_grams else np.int64(0)
                key = keyed(entry, form.key_bits)
                code = np.int64(model.grams[(form.first_bit >> 5) + entry]) & code_mask(form)
                _, _, row = span_of(model, p, 0)
            elif known >= reach:
                row = place_of(model, p, FIRST_ROW)
                # The context is the tail's gram that ends some words before.
                before = column - place_of(model, p, NEAREST)
                context = np.int64(-1)
                if before >= 0:
                    context = np.int64(entries[place_of(model, p, TAIL) * threads + before])
                if context >= 0:
                    begin, spread, row = span_of(model, p, context)
                    if spread > 0 and parts_seen(model, p, root, column, entries):
                        entry, code = searched(model, p, form, key, begin, spread)
            entries[p * threads + column] = entry
            rows[p * stride + at] = row
            count = count_of(model, p, form, entry, code)
            if chains:
                # Equations (8), (15) and (24): shorter patterns come first, so what this one falls back on is known.
                below = 1.0 / (place_of(model, 0, N_GRAMS) - 1)
                if p > 0:
                    below = results[falls_back_on(model.edge_base, model.edge_to, p) * stride + at]
                if row >= 0:
                    kept = (count - discount_of(model, p, count)) * row_value(model, row, SCALE)
                    below = below * row_value(model, row, BACKOFF) + kept * given
                results[p * stride + at] = below
            else:
                results[p * stride + at] = count
            cuda.syncthreads()

    return locate
