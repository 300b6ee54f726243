"""The two layouts of the same tables: `fast` (`kernels.tables.arrays`) and `compact` (`kernels.tables.compact_read`).

Both hold the same grams, counts and statistics in the same order, so that every query gives the same bits, and
either can be made from the other. One pattern is read at a time, its grams some at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.counts.assemble import frozen
from gapgram.counts.compact import LARGE_COUNT_BITS, compacted, put_rest
from gapgram.counts.counts import Counts
from gapgram.errors import UsageError
from gapgram.kernels.tables import arrays as kernels
from gapgram.kernels.tables import compact_read
from gapgram.kernels.tables.arrays import FAST_WIDTH, NO_PLACES, ROW_BITS, Tables, is_compact
from gapgram.kernels.tables.build import pack_grams
from gapgram.kernels.tables.read import unpack_contexts, unpack_grams
from gapgram.system.array_store import IN_MEMORY, ArrayStore

FAST, COMPACT = "fast", "compact"
LAYOUTS = (FAST, COMPACT)

_ROW_BYTES = 8 * (kernels.STATISTICS + 4)  # of a row of distinct statistics, and of the numbers that follow from it


class Parts(NamedTuple):
    """The bits that the tables of a pattern take, by what they hold."""

    keys: int
    counts: int
    contexts: int
    rows: int


def bits_of(tables: Tables, p: int) -> Parts:
    """What the tables of a pattern take; its distinct statistics and what follows from them are among its rows."""
    at, rows = tables.places[p], int(tables.places[p, kernels.N_ROWS]) * _ROW_BYTES * 8
    n_grams, first = int(at[kernels.N_GRAMS]), int(at[kernels.FIRST_GRAM])
    keys, codes = n_grams * int(at[kernels.KEY_BITS]), n_grams * int(at[kernels.WIDTH] - at[kernels.KEY_BITS])
    large = LARGE_COUNT_BITS * int(np.subtract(*np.searchsorted(tables.large_at, [first + n_grams, first])))
    if not is_compact(tables):
        entries = int(at[kernels.N_CONTEXTS]) + 1
        return Parts(keys, codes + large, entries * (64 - ROW_BITS), entries * ROW_BITS + rows)
    packed = tables.packed_places[p]
    listed = int(packed[compact_read.VECTOR] - packed[compact_read.BOOK]) * 64
    few = int(packed[compact_read.END] * 64 - packed[compact_read.LISTED])
    contexts = int(packed[compact_read.LISTED] - packed[compact_read.VECTOR] * 64)
    return Parts(keys, codes + large + listed, contexts, few + rows)


def layout_of(tables: Tables) -> str:
    """`fast` or `compact`."""
    return COMPACT if is_compact(tables) else FAST


def check_layout(layout: str) -> None:
    """Refuse a layout that there is not."""
    if layout not in LAYOUTS:
        raise UsageError(f"layout {layout!r}: expected {' or '.join(LAYOUTS)}")


def in_layout(counts: Counts, layout: str, store: ArrayStore = IN_MEMORY) -> Tables:
    """The tables of counts in a layout; new ones are kept in `store`."""
    check_layout(layout)
    if layout == layout_of(counts.tables):
        return counts.tables
    return compacted(counts, store=store) if layout == COMPACT else _fast(counts, store)


def _fast(counts: Counts, store: ArrayStore) -> Tables:
    """The tables in the fast layout."""
    tables, places = counts.tables, counts.tables.places.copy()
    places[:, kernels.GRAM_BIT] = places[:, kernels.FIRST_GRAM] * FAST_WIDTH
    places[:, kernels.WIDTH] = FAST_WIDTH
    places[:, kernels.CODE_BITS] = FAST_WIDTH - places[:, kernels.KEY_BITS]
    grams = store.array("grams", np.uint64, (-(-int(places[:, kernels.N_GRAMS].sum()) * FAST_WIDTH // 64),))
    large, chunk = [], store.unpacked_entries
    for p, at in enumerate(places):
        n_grams, code_bits, key_bits = map(int, at[[kernels.N_GRAMS, kernels.CODE_BITS, kernels.KEY_BITS]])
        for first in range(0, n_grams, chunk):
            some = unpack_grams(tables, p, first, min(first + chunk, n_grams))
            bit = int(at[kernels.GRAM_BIT]) + first * FAST_WIDTH
            numbers, counts_of = pack_grams(some, grams, bit, code_bits, key_bits)
            large.append((numbers + at[kernels.FIRST_GRAM] + first, counts_of))
            store.release()
    large_at, large_counts = (np.concatenate(arrays) for arrays in zip(*large, strict=True))
    made = tables._replace(grams=grams, large_at=large_at, large_counts=large_counts, places=places)
    made = put_rest(store, made, first="large_at", last="large_counts")
    contexts = store.array("contexts", np.int64, (int((places[:, kernels.N_CONTEXTS] + 1).sum()),))
    for p, at in enumerate(places):
        begin, step, n_contexts = map(int, at[[kernels.FIRST_CONTEXT, kernels.STRIDE, kernels.N_CONTEXTS]])
        for first in range(0, n_contexts, chunk):
            last = min(first + chunk, n_contexts)
            some = unpack_contexts(tables, p, first, last)
            contexts[begin + first * step : begin + last * step : step] = some
            store.release()
        contexts[begin + n_contexts * step] = at[kernels.N_GRAMS] << ROW_BITS
    made = put_rest(store, made, first="places", last="word_counts")
    return frozen(made._replace(contexts=contexts, packed=None, packed_places=NO_PLACES))
