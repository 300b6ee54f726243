"""The tables of one pattern taken apart, and put together with fewer grams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gapgram.counting.assemble import frozen
from gapgram.counts import Counts, Piece
from gapgram.kernels import pruning as kernels
from gapgram.kernels.tables import COUNT_BITS, COUNT_MASK, KEY_BITS, N_GRAMS, ROW_BITS, ROW_MASK, Tables
from gapgram.pattern import Pattern
from gapgram.pruning.places import IN_MEMORY, Place

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Unpacked:
    """The tables of one pattern; context c is followed by grams begins[c] to begins[c+1]."""

    whole: Counts
    pattern: Pattern
    place: Place

    @property
    def piece(self) -> Piece:
        """All of it, unpacked anew."""
        return self.whole.piece(self.pattern)

    @property
    def words(self) -> npt.NDArray[np.int32]:
        """The last word of each gram."""
        return (self.whole.grams(self.pattern) >> COUNT_BITS).astype(np.int32)

    @cached_property
    def keys(self) -> npt.NDArray[np.int32]:
        """The key of the last word of each gram, by which the grams of a context are sorted."""
        bits = int(self.whole.tables.places[self.whole.index(self.pattern), KEY_BITS])
        keys: npt.NDArray[np.int32] = kernels.keys_of(self.words, bits)
        return self.place.keep(keys)

    @cached_property
    def counts(self) -> Integers:
        """The count of each gram."""
        return self.place.keep(self.whole.grams(self.pattern) & COUNT_MASK)

    @cached_property
    def begins(self) -> Integers:
        """Where the grams of each context begin, and the end of the last."""
        return self.place.keep(self.whole.contexts(self.pattern) >> ROW_BITS)

    @cached_property
    def rows(self) -> npt.NDArray[np.int32]:
        """The row of statistics of each context."""
        return self.place.keep((self.whole.contexts(self.pattern)[:-1] & ROW_MASK).astype(np.int32))

    @cached_property
    def contexts(self) -> npt.NDArray[np.int32]:
        """The context of each gram."""
        n = np.diff(self.begins)
        return self.place.keep(np.repeat(np.arange(n.size, dtype=np.int32), n))

    def histories(self, occurrences: Integers) -> Integers:
        """How often each context occurs, given how often its grams do; what is missing counts as it was counted."""
        sums = np.append(0, np.cumsum(occurrences))[self.begins]
        histories: Integers = np.diff(sums) + self.whole.rows(self.pattern)[self.rows, 4]
        return histories

    def __len__(self) -> int:
        return int(self.whole.tables.places[self.whole.index(self.pattern), N_GRAMS])


def unpack(counts: Counts, place: Place = IN_MEMORY) -> dict[Pattern, Unpacked]:
    """The tables of all patterns."""
    return {pattern: Unpacked(counts, pattern, place) for pattern in counts.patterns}


def keep_needed(tables: Mapping[Pattern, Unpacked], kept: dict[Pattern, Mask]) -> None:
    """Keep also every gram that another pattern needs as a context; and all words, or classes."""
    for pattern in sorted(tables, key=lambda p: -p.mask):  # a tail's mask is smaller
        if pattern.mask:
            kernels.needed(kept[pattern], tables[pattern].begins, kept[pattern.tail])
            tables[pattern].place.give_back()
        else:
            kept[pattern][:] = True


@dataclass(frozen=True)
class _Rest:
    """The pieces of all patterns, one each, with only the grams that are kept."""

    tables: Mapping[Pattern, Unpacked]
    kept: Mapping[Pattern, Mask]

    def of(self, pattern: Pattern) -> Iterator[Piece]:
        """As `gapgram.counting.streaming.Pieces`."""
        piece = self.tables[pattern].piece
        if pattern.mask:
            made = kernels.pruned_tables(
                piece.grams, piece.contexts, piece.rows, self.kept[pattern], self.kept[pattern.tail]
            )
            piece = Piece(*made)
        self.tables[pattern].place.give_back()
        yield piece


def without(whole: Tables, tables: Mapping[Pattern, Unpacked], kept: Mapping[Pattern, Mask]) -> Tables:
    """The tables `whole`, taken apart, with only the grams that are kept."""
    place = next(iter(tables.values())).place
    made = place.tables(tuple(tables), _Rest(tables, kept), whole)
    return frozen(made._replace(parts=np.zeros_like(made.parts)))  # a gram may be there without its parts
