"""The tables of one pattern taken apart, and put together with fewer grams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Ids, Integers, Mask
from gapgram.counts.assemble import assemble, frozen
from gapgram.counts.counts import Counts, Piece
from gapgram.counts.streaming import InTurn
from gapgram.kernels.pruning import tables as kernels
from gapgram.kernels.tables.arrays import (
    COUNT_BITS,
    COUNT_MASK,
    KEY_BITS,
    N_CONTEXTS,
    N_GRAMS,
    ROW_BITS,
    ROW_MASK,
    Tables,
)
from gapgram.kernels.tables.keys import keys_of
from gapgram.kernels.tables.read import unpack_contexts, unpack_grams
from gapgram.pattern import Pattern
from gapgram.system.array_store import IN_MEMORY, ArrayStore, InFolder, Kind


@dataclass(frozen=True)
class Unpacked:
    """The tables of one pattern; context c is followed by grams begins[c] to begins[c+1]."""

    whole: Counts
    pattern: Pattern
    store: ArrayStore

    @cached_property
    def number(self) -> int:
        """The number of the pattern's tables."""
        return self.whole.index(self.pattern)

    def grams(self, begin: int, end: int) -> Integers:
        """Some grams as `word << COUNT_BITS | count`."""
        grams: Integers = unpack_grams(self.whole.tables, self.number, begin, end)
        return grams

    @cached_property
    def keys(self) -> Ids:
        """The key of the last word of each gram, by which the grams of a context are sorted."""
        bits = int(self.whole.tables.places[self.number, KEY_BITS])
        return self.each_gram("keys", np.int32, lambda a, b: keys_of(self.grams(a, b) >> COUNT_BITS, bits))

    @cached_property
    def counts(self) -> Integers:
        """The count of each gram."""
        return self.each_gram("counts", np.int64, lambda a, b: self.grams(a, b) & COUNT_MASK)

    @cached_property
    def begins(self) -> Integers:
        """Where the grams of each context begin, and the end of the last."""
        n = self._n_contexts + 1
        return self.store.filled("begins", np.int64, n, lambda a, b: self.context_records(a, b) >> ROW_BITS)

    @cached_property
    def rows(self) -> Ids:
        """The row of statistics of each context."""
        n = self._n_contexts
        return self.store.filled("rows", np.int32, n, lambda a, b: self.context_records(a, b) & ROW_MASK)

    @cached_property
    def contexts(self) -> Ids:
        """The context of each gram."""
        out = self.store.array("contexts", np.int32, (len(self),))
        for first, last in self.store.spans(self.begins.size - 1):
            begins = self.begins[first : last + 1]
            out[begins[0] : begins[-1]] = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(begins))
        return out

    @property
    def _n_contexts(self) -> int:
        return int(self.whole.tables.places[self.number, N_CONTEXTS])

    def context_records(self, begin: int, end: int) -> Integers:
        """Some contexts as `begin << ROW_BITS | row`; after the last there is one that closes them."""
        records: Integers = unpack_contexts(self.whole.tables, self.number, begin, min(end, self._n_contexts))
        return records if end <= self._n_contexts else np.append(records, len(self) << ROW_BITS)

    def each_gram(
        self, name: str, kind: type[Kind], make: Callable[[int, int], npt.NDArray[Any]]
    ) -> npt.NDArray[Kind]:
        """An array of an entry a gram, those of grams begin … end-1 being make(begin, end)."""
        return self.store.filled(name, kind, len(self), make)

    def context_spans(self) -> Iterator[tuple[slice, slice]]:
        """Some contexts at a time, and their grams."""
        first, n_contexts, most = 0, self.begins.size - 1, self.store.most_entries
        while first < n_contexts:
            last = int(np.searchsorted(self.begins, self.begins[first] + most, side="right")) - 1
            last = min(max(last, first + 1), first + most, n_contexts)
            yield slice(first, last), slice(int(self.begins[first]), int(self.begins[last]))
            self.store.release()
            first = last

    def histories(self, occurrences: Integers) -> Integers:
        """How often each context occurs, given how often its grams do; what is missing counts as it was counted."""
        missing = self.whole.rows(self.pattern)[:, 4]
        out = self.store.array("histories", np.int64, (self.begins.size - 1,))
        for contexts, grams in self.context_spans():
            begins = self.begins[contexts.start : contexts.stop + 1] - grams.start
            out[contexts] = np.diff(np.append(0, np.cumsum(occurrences[grams]))[begins]) + missing[self.rows[contexts]]
        return out

    def __len__(self) -> int:
        return int(self.whole.tables.places[self.number, N_GRAMS])


def unpack(counts: Counts, store: ArrayStore = IN_MEMORY) -> dict[Pattern, Unpacked]:
    """The tables of all patterns."""
    return {pattern: Unpacked(counts, pattern, store) for pattern in counts.lattice.stored}


def keep_needed(tables: Mapping[Pattern, Unpacked], kept: dict[Pattern, Mask]) -> None:
    """Keep also every gram that another pattern needs as a context; and all words, or classes."""
    for pattern in sorted(tables, key=lambda p: -p.mask):  # a tail's mask is smaller
        if pattern.mask:
            for first, last in tables[pattern].store.spans(len(kept[pattern.tail])):
                kernels.needed(kept[pattern], tables[pattern].begins[first : last + 1], kept[pattern.tail][first:last])
        else:
            kept[pattern][:] = True


@dataclass(frozen=True)
class _Rest:
    """The pieces of all patterns with only the grams that are kept."""

    tables: Mapping[Pattern, Unpacked]
    kept: Mapping[Pattern, Mask]

    def of(self, pattern: Pattern) -> Iterator[Piece]:
        """As `gapgram.counts.streaming.Pieces`."""
        table = self.tables[pattern]
        if not pattern.mask:
            yield table.whole.piece(pattern)
            return
        rows = table.whole.rows(pattern)
        for first, last in pairwise(self._cuts(pattern.tail)):
            begin, end = int(table.begins[first]), int(table.begins[last])
            contexts = table.context_records(first, last) - (begin << ROW_BITS)
            kept = self.kept[pattern][begin:end], self.kept[pattern.tail][first:last]
            yield Piece(*kernels.pruned_tables(table.grams(begin, end), contexts, rows, *kept))
            table.store.release()

    def _cuts(self, tail: Pattern) -> list[int]:
        """Where the contexts of the patterns with a tail are cut, so that each has some grams at a time."""
        begins = [table.begins for p, table in self.tables.items() if p.mask and p.tail == tail]
        cuts, n_contexts, most = [0], len(self.tables[tail]), 4 * self.tables[tail].store.most_entries
        while cuts[-1] < n_contexts:
            ends = [int(np.searchsorted(b, b[cuts[-1]] + most, side="right")) - 1 for b in begins]
            cuts.append(min(max(cuts[-1] + 1, min(ends)), cuts[-1] + most, n_contexts))
        return cuts


def without(whole: Tables, tables: Mapping[Pattern, Unpacked], kept: Mapping[Pattern, Mask]) -> Tables:
    """The tables `whole`, taken apart, with only the grams that are kept."""
    patterns, pieces, store = tuple(tables), _Rest(tables, kept).of, next(iter(tables.values())).store
    if isinstance(store, InFolder):
        made = Tables(**store.streamed(InTurn(patterns, pieces).streams(whole.class_of, whole.word_counts)))
    else:
        made = assemble(patterns, {p: list(pieces(p)) for p in patterns}, whole.class_of, whole.word_counts)
    return frozen(made._replace(parts=np.zeros_like(made.parts)))  # a gram may be there without its parts


class Relations:
    """Numbers of grams within grams.

    A gram of a pattern holds one gram of every smaller pattern: the same words, fewer of them.
    """

    def __init__(self, tables: Mapping[Pattern, Unpacked]) -> None:
        self.tables = tables

    def subgrams(self, whole: Pattern, inner: Pattern, begin: int, end: int) -> Integers:
        """For some grams of `whole` the numbers of the grams of `inner`, which keeps fewer offsets; -1 for one gone."""
        table = self.tables[whole]
        if whole == inner:
            return np.arange(begin, end)
        if not inner.mask:
            return table.grams(begin, end) >> COUNT_BITS
        contexts, smaller = self.subgram_contexts(whole, inner, begin, end), self.tables[inner]
        numbers: Integers = kernels.find_grams(contexts, table.keys[begin:end], smaller.begins, smaller.keys)
        return numbers

    def subgram_contexts(self, whole: Pattern, inner: Pattern, begin: int, end: int) -> Integers:
        """For some grams of `whole` the numbers of their contexts under `inner`; -1 for one gone."""
        numbers, above = self.tables[whole].contexts[begin:end].astype(np.int64), whole.tail
        passed = whole.nearest
        while passed < inner.nearest:  # words that `inner` skips
            numbers = self.tables[above].contexts[numbers].astype(np.int64)
            passed += above.nearest
            above = above.tail
        first, last = (int(numbers[0]), int(numbers[-1]) + 1) if numbers.size else (0, 0)  # the order stays
        return self.subgrams(above, inner.tail, first, last)[numbers - first]

    def occurrences(self) -> dict[Pattern, Integers]:
        """How often each gram occurs in the text; after pruning, how often at least.

        A count is a number of different words to the left or fillings of gaps, and each of them is a longer
        or fuller gram: what that one occurs more than once is added.
        """
        out = {p: t.each_gram("occurrences", np.int64, partial(_counts, t)) for p, t in self.tables.items()}
        for classes in {pattern.classes for pattern in self.tables}:
            patterns = [p for p in self.tables if p.classes == classes]
            for reach in range(max(p.reach for p in patterns), -1, -1):
                chain = Pattern.contiguous(reach, classes)
                longer = Pattern.contiguous(reach + 1, classes)
                if longer in out:
                    self._add(longer, longer.without(longer.reach), out)
                for pattern in patterns:
                    if pattern.reach == reach and pattern != chain:
                        self._add(chain, pattern, out)
        return out

    def _add(self, whole: Pattern, inner: Pattern, occurrences: Mapping[Pattern, Integers]) -> None:
        """Add what the grams of `whole` occur more often than once to those of `inner` that they hold."""
        for begin, end in self.tables[whole].store.spans(len(self.tables[whole])):
            numbers = self.subgrams(whole, inner, begin, end)
            kernels.add_occurrences(numbers, occurrences[whole][begin:end], occurrences[inner])


def _counts(table: Unpacked, begin: int, end: int) -> Integers:
    return table.grams(begin, end) & COUNT_MASK
