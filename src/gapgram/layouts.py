"""The two layouts of the same tables: `fast` (`kernels.tables`) and `compact` (`kernels.compact`).

Both hold the same grams, counts and statistics in the same order, so that every query gives the same bits, and
either can be made from the other. One pattern is read at a time, its grams some at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gapgram.counts import Counts
from gapgram.errors import UsageError
from gapgram.kernels import bits, compact, compacting
from gapgram.kernels import tables as kernels
from gapgram.kernels.tables import (
    COUNT_BITS,
    COUNT_MASK,
    FAST_WIDTH,
    NO_CONTEXTS,
    NO_PLACES,
    NO_WORDS,
    ROW_BITS,
    ROW_MASK,
    Tables,
)

Array = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

FAST, COMPACT = "fast", "compact"
LAYOUTS = (FAST, COMPACT)

_CHUNK = 1 << 20  # grams that are unpacked at a time
_COUNTED = 1 << 12  # counts below this are told apart when codes are chosen
_MOST_CODE_BITS = 8
_ROW_BYTES = 8 * (kernels.STATISTICS + 4)  # of a row of distinct statistics, and of the numbers that follow from it
_LISTED_COST = 4  # bits that are paid, for each time a gram was counted, to find its count in no list
_MISSING = 4  # the statistic of what was pruned
_LARGE_BITS = 128  # of a count among the large ones


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
    large = _LARGE_BITS * int(np.subtract(*np.searchsorted(tables.large_at, [first + n_grams, first])))
    if tables.contexts.size:
        entries = int(at[kernels.N_CONTEXTS]) + 1
        return Parts(keys, codes + large, entries * (64 - ROW_BITS), entries * ROW_BITS + rows)
    packed = tables.packed_places[p]
    listed = int(packed[compact.VECTOR] - packed[compact.BOOK]) * 64
    few = int(packed[compact.END] * 64 - packed[compact.LISTED])
    contexts = int(packed[compact.LISTED] - packed[compact.VECTOR] * 64)
    return Parts(keys, codes + large + listed, contexts, few + rows)


def layout_of(tables: Tables) -> str:
    """`fast` or `compact`."""
    return FAST if tables.contexts.size else COMPACT


def check_layout(layout: str) -> None:
    """Refuse a layout that there is not."""
    if layout not in LAYOUTS:
        raise UsageError(f"layout {layout!r}: expected {' or '.join(LAYOUTS)}")


def in_layout(counts: Counts, layout: str) -> Tables:
    """The tables of counts in a layout."""
    check_layout(layout)
    if layout == layout_of(counts.tables):
        return counts.tables
    return compacted(counts) if layout == COMPACT else _fast(counts)


class Codes(NamedTuple):
    """How a pattern's counts are written.

    bits: of a code; book: the count of each code, the last -1 where some are listed; value_width and bucket_bits: of
    listed counts (`kernels.compact`); of: the code of each count below _COUNTED, and of all others, -1 where listed.
    """

    bits: int
    book: Array
    value_width: int
    bucket_bits: int
    of: Array


def choose_codes(numbers: Array) -> Codes:
    """The codes that take the fewest bits; listed counts, slow to read, are charged for more bits than they have.

    numbers[count] grams have each count, the last of them or a larger one.
    """
    counts = np.argsort(-numbers[:-1], kind="stable")
    counts = counts[numbers[counts] > 0]
    n, best = int(numbers.sum()), None
    for width in range(1, _MOST_CODE_BITS + 1):
        whole = counts.size <= 1 << width and not numbers[-1]
        book = counts[: (1 << width) - (not whole)]
        listed = numbers.copy()
        listed[book] = 0
        n_listed, slowness = int(listed.sum()), _LISTED_COST * int(listed @ np.arange(numbers.size))
        bucket_bits = bits.width_of(8 * n // max(n_listed, 1)) - 1  # eight listed counts a bucket
        buckets = (n >> bucket_bits) * bits.width_of(n_listed)
        for value_width in range(2, 13):
            large = int(listed[(1 << value_width) - 1 :].sum())
            size = n * width + n_listed * (value_width + bucket_bits) + buckets + large * _LARGE_BITS + slowness
            if best is None or size < best[0]:
                best = size, width, book, value_width, bucket_bits, whole
    assert best is not None
    _, width, book, value_width, bucket_bits, whole = best
    of = np.full(numbers.size, -1, np.int64)
    of[book] = np.arange(book.size)
    filled = np.full(1 << width, -1, np.int64)
    filled[: book.size] = book
    return Codes(width, filled, value_width, bucket_bits, of)


def compacted(counts: Counts, replaced: Mapping[int, Array] = MappingProxyType({})) -> Tables:
    """The tables in the compact layout.

    replaced: of some patterns, by their numbers, what takes the place of each count, the last being for all larger
    ones; the statistics of contexts become those of the new counts.
    """
    places = counts.tables.places.copy()
    packers = [_Packer(counts, p, replaced.get(p)) for p in range(len(places))]
    places[:, kernels.WIDTH] = [packer.width for packer in packers]
    places[:, kernels.CODE_BITS] = [packer.codes.bits for packer in packers]
    sizes = places[:, kernels.N_GRAMS] * places[:, kernels.WIDTH]
    places[:, kernels.GRAM_BIT] = np.cumsum(sizes) - sizes
    grams = np.zeros(-(-int(sizes.sum()) // 64), np.uint64)
    packed_places = np.zeros((len(places), compact.N_PACKED_COLUMNS), np.int64)
    packed: list[Words] = []
    large = []
    for packer, at, packed_at in zip(packers, places, packed_places, strict=True):
        listed, listed_counts = packer.write_grams(grams, int(at[kernels.GRAM_BIT]))
        first_word = sum(part.size for part in packed)
        packed.append(packer.packed(grams, int(at[kernels.GRAM_BIT]), listed, listed_counts, first_word, packed_at))
        is_large = listed_counts >= (1 << packer.codes.value_width) - 1
        large.append((listed[is_large] + at[kernels.FIRST_GRAM], listed_counts[is_large]))
    places[:, kernels.N_ROWS] = [len(packer.rows) for packer in packers]
    places[:, kernels.FIRST_ROW] = np.cumsum(places[:, kernels.N_ROWS]) - places[:, kernels.N_ROWS]
    large_at, large_counts = (np.concatenate(part) for part in zip(*large, strict=True))
    return _frozen(counts.tables._replace(
        grams=grams, large_at=large_at, large_counts=large_counts, contexts=NO_CONTEXTS, places=places,
        rows=np.concatenate([packer.rows for packer in packers]), packed=np.concatenate(packed),
        packed_places=packed_places,
    ))  # fmt: skip


def _frozen(tables: Tables) -> Tables:
    for array in tables:
        array.flags.writeable = False
    return tables


class _Packer:
    """One pattern on its way into the compact layout."""

    def __init__(self, counts: Counts, p: int, replaced: Array | None) -> None:
        self.tables, self.p, self.replaced = counts.tables, p, replaced
        self.n_grams = int(counts.tables.places[p, kernels.N_GRAMS])
        self.key_bits = int(counts.tables.places[p, kernels.KEY_BITS])
        self.counts, self.pattern = counts, counts.patterns[p]
        self.rows = counts.rows(self.pattern)
        numbers = np.zeros(_COUNTED + 1, np.int64)
        for _, grams in self._unpacked():
            compacting.add_counts(grams, numbers)
        self.codes = choose_codes(numbers)
        self.width = self.key_bits + self.codes.bits

    def _unpacked(self) -> Iterator[tuple[int, Array]]:
        for first in range(0, self.n_grams, _CHUNK):
            grams = kernels.unpack_grams(self.tables, self.p, first, min(first + _CHUNK, self.n_grams))
            if self.replaced is not None:
                compacting.replace_counts(grams, self.replaced)
            yield first, grams

    def _with_new_rows(self, contexts: Array) -> Array:
        """The contexts with rows of the statistics that they have after counts were replaced."""
        grams = np.concatenate([np.empty(0, np.int64), *[some for _, some in self._unpacked()]])
        _, found, rows = kernels.build_tables(grams >> COUNT_BITS, grams & COUNT_MASK, contexts >> ROW_BITS)
        missing = self.rows[contexts[:-1] & ROW_MASK, _MISSING]  # of pruned tables; stays what it was
        pairs, which = np.unique(np.append(0, (found & ROW_MASK) << 40 | missing), return_inverse=True)
        made = rows[pairs >> 40]
        made[:, _MISSING] = pairs & ((1 << 40) - 1)
        made[:, 0] += made[:, _MISSING]
        self.rows, numbers = np.unique(made, axis=0, return_inverse=True)
        found = found - (found & ROW_MASK) + numbers.reshape(-1)[which.reshape(-1)[1:]]
        return np.append(found, contexts[-1])

    def write_grams(self, out: Words, bit: int) -> tuple[Array, Array]:
        """Write the grams from a bit on; returns the numbers and counts of those whose counts are listed."""
        codes, none = self.codes, np.empty(0, np.int64)
        found = [
            compacting.pack_grams(grams, first, codes.of, out, bit, self.width, codes.bits, self.key_bits)
            for first, grams in self._unpacked()
        ]
        listed, counts = (np.concatenate(part) for part in zip((none, none), *found, strict=True))
        return listed, counts

    def packed(
        self, grams: Words, bit: int, listed: Array, counts: Array, first_word: int, at: Array
    ) -> Words:
        """All that is not grams, to lie at a word; fills `at`, the pattern's columns."""
        codes, contexts = self.codes, np.ascontiguousarray(self.counts.contexts(self.pattern))
        if self.replaced is not None:
            contexts = self._with_new_rows(contexts)
        few, n_listed, n_far = compacting.measure_contexts(contexts, grams, bit, self.width, codes.bits)
        n_buckets = (self.n_grams >> codes.bucket_bits) + 1
        bucket_width, row_width = int(bits.width_of(listed.size)), int(bits.width_of(len(self.rows) - 1))
        n_records = ((contexts.size - 1) >> compact.BLOCK_BITS) + 1
        if n_listed > int(compact.RANK_MASK) or self.n_grams + contexts.size >= 1 << (63 - compact.RANK_BITS):
            raise UsageError(f"{self.n_grams:,} grams of one pattern are too many for the compact layout")
        sizes = {
            compact.BOOK: 64 * codes.book.size,
            compact.MORE: listed.size * (codes.value_width + codes.bucket_bits),
            compact.BUCKETS: (n_buckets + 1) * bucket_width,
            compact.VECTOR: self.n_grams + contexts.size,
            compact.RECORDS: n_records * compact.RECORD * 64,
            compact.FAR: n_far * (compact.BLOCK + 1) * compact.FAR_WIDTH,
            compact.LISTED: n_listed * row_width,
            compact.FEW: compact.FEW_SIZE * row_width,
        }
        ends = np.cumsum([-(-size // 64) for size in sizes.values()])
        word = dict(zip(sizes, [0, *ends[:-1].tolist()], strict=True))
        out = np.zeros(ends[-1], np.uint64)
        out[: codes.book.size] = codes.book.view(np.uint64)
        compacting.pack_counts(
            listed, counts, n_buckets, out, word[compact.MORE] * 64, codes.value_width, codes.bucket_bits,
            word[compact.BUCKETS] * 64, bucket_width,
        )  # fmt: skip
        compacting.pack_contexts(
            contexts, few, grams, bit, self.width, codes.bits, out, word[compact.VECTOR], word[compact.RECORDS],
            word[compact.FAR] * 64, word[compact.LISTED] * 64, row_width,
        )  # fmt: skip
        compacting.pack_rows(few, out, word[compact.FEW] * 64, row_width)
        for column in (compact.BOOK, compact.VECTOR, compact.RECORDS):
            at[column] = first_word + word[column]
        for column in (compact.MORE, compact.BUCKETS, compact.FAR, compact.LISTED, compact.FEW):
            at[column] = (first_word + word[column]) * 64
        at[compact.N_MORE], at[compact.N_LISTED], at[compact.N_FAR] = listed.size, n_listed, n_far
        at[compact.VALUE_WIDTH], at[compact.BUCKET_BITS] = codes.value_width, codes.bucket_bits
        at[compact.BUCKET_WIDTH], at[compact.ROW_WIDTH] = bucket_width, row_width
        at[compact.END] = first_word + out.size
        return out


def _fast(counts: Counts) -> Tables:
    """The tables in the fast layout."""
    tables, places = counts.tables, counts.tables.places.copy()
    places[:, kernels.GRAM_BIT] = places[:, kernels.FIRST_GRAM] * FAST_WIDTH
    places[:, kernels.WIDTH] = FAST_WIDTH
    places[:, kernels.CODE_BITS] = FAST_WIDTH - places[:, kernels.KEY_BITS]
    grams = np.zeros(-(-int(places[:, kernels.N_GRAMS].sum()) * FAST_WIDTH // 64), np.uint64)
    contexts = np.empty(int((places[:, kernels.N_CONTEXTS] + 1).sum()), np.int64)
    large = []
    for p, at in enumerate(places):
        code_bits, key_bits = int(at[kernels.CODE_BITS]), int(at[kernels.KEY_BITS])
        n_grams, n_contexts = int(at[kernels.N_GRAMS]), int(at[kernels.N_CONTEXTS])
        for first in range(0, n_grams, _CHUNK):
            some = kernels.unpack_grams(tables, p, first, min(first + _CHUNK, n_grams))
            bit = int(at[kernels.GRAM_BIT]) + first * FAST_WIDTH
            found, found_counts = kernels.pack_grams(some, grams, bit, code_bits, key_bits)
            large.append((found + at[kernels.FIRST_GRAM] + first, found_counts))
        first, step = int(at[kernels.FIRST_CONTEXT]), int(at[kernels.STRIDE])
        contexts[first : first + n_contexts * step : step] = kernels.unpack_contexts(tables, p, 0, n_contexts)
        contexts[first + n_contexts * step] = n_grams << ROW_BITS
    large_at, large_counts = (np.concatenate(part) for part in zip(*large, strict=True))
    return _frozen(tables._replace(
        grams=grams, large_at=large_at, large_counts=large_counts, contexts=contexts, places=places,
        packed=NO_WORDS, packed_places=NO_PLACES,
    ))  # fmt: skip
