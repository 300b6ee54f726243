"""Tables on their way into the compact layout (`kernels.tables.compact_read`).

One pattern is read at a time, some of its grams or contexts at a time, and what is made of them is written straight to
where it stays, in memory or in a file (`system.array_store`). Next to nothing is held beside the two layouts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gapgram.arrays import BitWords, Integers
from gapgram.counts.assemble import frozen
from gapgram.counts.counts import Counts
from gapgram.errors import UsageError
from gapgram.kernels.counting import distinct_rows
from gapgram.kernels.tables import arrays as kernels
from gapgram.kernels.tables import bits, compact_write
from gapgram.kernels.tables import compact_read as columns
from gapgram.kernels.tables.arrays import COUNT_MASK, NO_CONTEXTS, ROW_BITS, ROW_MASK, GramFormat, Tables
from gapgram.kernels.tables.read import unpack_contexts, unpack_grams
from gapgram.kernels.tables.structure import packed_columns
from gapgram.system.array_store import IN_MEMORY, ArrayStore

LARGE_COUNT_BITS = 128  # its place and its value

_COUNTED = 1 << 12  # counts below this are told apart when codes are chosen
_MOST_CODE_BITS = 8
_LISTED_COST = 4  # bits that are paid, for each time a gram was counted, to find its count in no list
_MISSING = 4  # the statistic of what was pruned


def put_rest(store: ArrayStore, tables: Tables, *, first: str, last: str) -> Tables:
    """Put some of the tables, those named and all between."""
    names = Tables._fields[Tables._fields.index(first) : Tables._fields.index(last) + 1]
    return tables._replace(**{name: store.put(name, getattr(tables, name)) for name in names})


class Codes(NamedTuple):
    """How a pattern's counts are written.

    bits: of a code; book: the count of each code, the last -1 where some are listed; value_width and bucket_bits: of
    listed counts (`kernels.tables.compact_read`); of: the code of each count below _COUNTED, and of all others, -1
    where listed.
    """

    bits: int
    book: Integers
    value_width: int
    bucket_bits: int
    of: Integers


def choose_codes(numbers: Integers) -> Codes:
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
            size = n * width + n_listed * (value_width + bucket_bits) + buckets + large * LARGE_COUNT_BITS + slowness
            if best is None or size < best[0]:
                best = size, width, book, value_width, bucket_bits, whole
    assert best is not None
    _, width, book, value_width, bucket_bits, whole = best
    of = np.full(numbers.size, -1, np.int64)
    of[book] = np.arange(book.size)
    filled = np.full(1 << width, -1, np.int64)
    filled[: book.size] = book
    return Codes(width, filled, value_width, bucket_bits, of)


class NewCounts(NamedTuple):
    """What takes the place of counts: those from firsts[i] to before firsts[i+1] become means[i]; firsts[0] is 0."""

    firsts: Integers
    means: Integers

    def put_into(self, grams: Integers) -> Integers:
        """Grams `word << COUNT_BITS | count` with the new counts."""
        counts = grams & COUNT_MASK
        new: Integers = grams - counts + self.means[np.searchsorted(self.firsts, counts, side="right") - 1]
        return new


def compacted(
    counts: Counts, replaced: Mapping[int, NewCounts] = MappingProxyType({}), store: ArrayStore = IN_MEMORY
) -> Tables:
    """The tables in the compact layout.

    replaced: of some patterns, by their numbers, what takes the place of counts; the statistics of contexts become
    those of the new ones.
    """
    places = counts.tables.places.copy()
    packers = [_Packer(counts, p, replaced.get(p), store) for p in range(len(places))]
    places[:, kernels.WIDTH] = [packer.width for packer in packers]
    places[:, kernels.CODE_BITS] = [packer.codes.bits for packer in packers]
    sizes = places[:, kernels.N_GRAMS] * places[:, kernels.WIDTH]
    places[:, kernels.GRAM_BIT] = np.cumsum(sizes) - sizes
    places[:, kernels.N_ROWS] = [len(packer.rows) for packer in packers]
    places[:, kernels.FIRST_ROW] = np.cumsum(places[:, kernels.N_ROWS]) - places[:, kernels.N_ROWS]
    grams = store.array("grams", np.uint64, (-(-int(sizes.sum()) // 64),))
    large = [packer.write_grams(grams, int(at[kernels.GRAM_BIT])) for packer, at in zip(packers, places, strict=True)]
    large_at = np.concatenate([at + first for (at, _), first in zip(large, places[:, kernels.FIRST_GRAM], strict=True)])
    made = counts.tables._replace(
        grams=grams, large_at=large_at, large_counts=np.concatenate([counted for _, counted in large]),
        contexts=NO_CONTEXTS, places=places, rows=np.concatenate([packer.rows for packer in packers]),
    )  # fmt: skip
    made = put_rest(store, made, first="large_at", last="word_counts")
    packed_places = np.zeros((len(places), kernels.N_PACKED_COLUMNS), np.int64)
    used = 0
    for packer, packed_at in zip(packers, packed_places, strict=True):
        used = packer.lay_out(used, packed_at)
    packed = store.array("packed", np.uint64, (used,))
    for packer, packed_at in zip(packers, packed_places, strict=True):
        packer.write_rest(packed, packed_at)
    return frozen(made._replace(packed=packed, packed_places=store.put("packed_places", packed_places)))


class _Packer:
    """One pattern on its way into the compact layout."""

    def __init__(self, counts: Counts, p: int, replaced: NewCounts | None, store: ArrayStore) -> None:
        self.tables, self.p, self.replaced, self.store = counts.tables, p, replaced, store
        self.n_grams, self.n_contexts, self.key_bits = map(
            int, self.tables.places[p, [kernels.N_GRAMS, kernels.N_CONTEXTS, kernels.KEY_BITS]]
        )
        self.old_rows = self.rows = counts.rows(counts.lattice.stored[p])
        if replaced is not None:
            found_rows = [distinct_rows.numbered(statistics)[0] for _, _, statistics in self._new_statistics()]
            self.rows = np.unique(np.concatenate(found_rows), axis=0)
        numbers = np.zeros(_COUNTED + 1, np.int64)
        for _, grams in self._grams():
            numbers += np.bincount(np.minimum(grams & COUNT_MASK, _COUNTED), minlength=numbers.size)
        self.codes = choose_codes(numbers)
        self.width = self.key_bits + self.codes.bits
        self.n_more = int(numbers[self.codes.of < 0].sum())
        self.few = np.zeros(columns.FEW_SIZE, np.int64)

    def _grams(self, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, Integers]]:
        """Some of the grams at a time, and the number of their first."""
        end, step = self.n_grams if end is None else end, self.store.unpacked_entries
        for first in range(begin, end, step):
            grams = unpack_grams(self.tables, self.p, first, min(first + step, end))
            if self.replaced is not None:
                grams = self.replaced.put_into(grams)
            yield first, grams
            self.store.release()

    def _contexts(self) -> Iterator[tuple[int, Integers]]:
        """Some of the contexts at a time, with the one that follows them, and the number of their first."""
        if self.replaced is None:
            yield from self._old_contexts()
            return
        for first, contexts, statistics in self._new_statistics():
            contexts[:-1] += distinct_rows.row_numbers(statistics, self.rows) - (contexts[:-1] & ROW_MASK)
            yield first, contexts

    def _old_contexts(self) -> Iterator[tuple[int, Integers]]:
        for first in range(0, self.n_contexts, self.store.unpacked_entries):
            last = min(first + self.store.unpacked_entries, self.n_contexts)
            contexts = unpack_contexts(self.tables, self.p, first, min(last + 1, self.n_contexts))
            yield first, contexts if last < self.n_contexts else np.append(contexts, self.n_grams << ROW_BITS)
            self.store.release()

    def _new_statistics(self) -> Iterator[tuple[int, Integers, Integers]]:
        """Some of the contexts at a time, and the statistics that they have after counts were replaced."""
        for first, contexts in self._old_contexts():
            begins = contexts >> ROW_BITS
            statistics = np.zeros((contexts.size - 1, kernels.STATISTICS), np.int64)
            for begin, grams in self._grams(int(begins[0]), int(begins[-1])):
                compact_write.add_statistics(grams, begin, begins, statistics)
            missing = self.old_rows[contexts[:-1] & ROW_MASK, _MISSING]  # of pruned tables; stays what it was
            statistics[:, _MISSING] = missing
            statistics[:, 0] += missing
            yield first, contexts, statistics

    def write_grams(self, out: BitWords, bit: int) -> tuple[Integers, Integers]:
        """Write the grams from a bit on; returns the numbers and counts of those whose counts are large."""
        codes, none = self.codes, np.empty(0, np.int64)
        self.bits = out
        self.form = GramFormat(bit, self.width, codes.bits, self.key_bits, self.n_grams, self.n_contexts)
        large = [(none, none)]
        for first, grams in self._grams():
            compact_write.pack_grams(grams, first, codes.of, out, self.form)
            listed, counts = compact_write.listed_counts(grams, first, codes.of)
            is_large = counts >= (1 << codes.value_width) - 1
            large.append((listed[is_large], counts[is_large]))
        numbers, counts = (np.concatenate(arrays) for arrays in zip(*large, strict=True))
        return numbers, counts

    def lay_out(self, first_word: int, at: Integers) -> int:
        """Where all that is not grams will lie, from a word on, into `at`, the pattern's columns; returns the end."""
        codes, votes = self.codes, np.zeros(columns.FEW_SIZE, np.int64)
        for _, contexts in self._contexts():
            compact_write.vote_rows(contexts, self.bits, self.form, self.few, votes)
        measured = [
            compact_write.measure_contexts(contexts, self.bits, self.form, self.few)
            for _, contexts in self._contexts()
        ]
        n_listed, n_far = sum(listed for listed, _ in measured), sum(far for _, far in measured)
        if n_listed > int(columns.RANK_MASK) or self.n_grams + self.n_contexts + 1 >= 1 << (63 - columns.RANK_BITS):
            raise UsageError(f"{self.n_grams:,} grams of one pattern are too many for the compact layout")
        at[columns.N_MORE], at[columns.N_LISTED], at[columns.N_FAR] = self.n_more, n_listed, n_far
        at[columns.VALUE_WIDTH], at[columns.BUCKET_BITS] = codes.value_width, codes.bucket_bits
        own = np.zeros(kernels.N_COLUMNS, np.int64)
        own[kernels.N_GRAMS], own[kernels.N_CONTEXTS] = self.n_grams, self.n_contexts
        own[kernels.N_ROWS], own[kernels.CODE_BITS] = len(self.rows), codes.bits
        at[:] = packed_columns(first_word, own, at)
        return int(at[columns.END])

    @property
    def _n_buckets(self) -> int:
        return (self.n_grams >> self.codes.bucket_bits) + 1

    def write_rest(self, out: BitWords, at: Integers) -> None:
        """Write all that is not grams to where it was laid out."""
        codes = self.codes
        out[at[columns.BOOK] : at[columns.BOOK] + codes.book.size] = codes.book.view(np.uint64)
        done = bucket = 0
        for first, some in self._grams():
            listed, counts = compact_write.listed_counts(some, first, codes.of)
            compact_write.pack_counts(listed, counts, done, out, at)
            if listed.size:
                bucket = compact_write.pack_buckets(listed, done, bucket, self._n_buckets, out, at)
            done += listed.size
        compact_write.pack_buckets(np.empty(0, np.int64), done, bucket, self._n_buckets, out, at)
        pattern = columns.PackedPattern(out, at, self.bits, self.form)
        n_listed = n_far = 0
        for first, contexts in self._contexts():
            n_listed, n_far = compact_write.pack_contexts(contexts, first, self.few, pattern, n_listed, n_far)
        compact_write.pack_rows(self.few, out, at[columns.FEW], at[columns.ROW_WIDTH])
