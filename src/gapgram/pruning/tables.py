"""The tables of one pattern taken apart, and put together with fewer grams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gapgram.counting.assemble import assemble, frozen
from gapgram.counts import Counts, Piece
from gapgram.kernels import pruning as kernels
from gapgram.kernels.tables import COUNT_BITS, COUNT_MASK, KEY_BITS, ROW_BITS, ROW_MASK, Tables
from gapgram.pattern import Pattern

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Unpacked:
    """The tables of one pattern; context c is followed by grams begins[c] to begins[c+1]."""

    piece: Piece
    key_bits: int

    @cached_property
    def words(self) -> npt.NDArray[np.int32]:
        """The last word of each gram."""
        return (self.piece.grams >> COUNT_BITS).astype(np.int32)

    @cached_property
    def keys(self) -> Integers:
        """The key of the last word of each gram, by which the grams of a context are sorted."""
        keys: Integers = kernels.keys_of(self.words, self.key_bits)
        return keys

    @cached_property
    def counts(self) -> Integers:
        """The count of each gram."""
        return self.piece.grams & COUNT_MASK

    @cached_property
    def begins(self) -> Integers:
        """Where the grams of each context begin, and the end of the last."""
        return np.append(self.piece.contexts >> ROW_BITS, self.piece.grams.size)

    @cached_property
    def rows(self) -> Integers:
        """The row of statistics of each context."""
        return self.piece.contexts & ROW_MASK

    @cached_property
    def contexts(self) -> npt.NDArray[np.int32]:
        """The context of each gram."""
        n = np.diff(self.begins)
        return np.repeat(np.arange(n.size, dtype=np.int32), n)

    def histories(self, occurrences: Integers) -> Integers:
        """How often each context occurs, given how often its grams do; what is missing counts as it was counted."""
        sums = np.append(0, np.cumsum(occurrences))[self.begins]
        histories: Integers = np.diff(sums) + self.piece.rows[self.rows, 4]
        return histories

    def __len__(self) -> int:
        return len(self.piece.grams)


def unpack(counts: Counts) -> dict[Pattern, Unpacked]:
    """The tables of all patterns."""
    bits = counts.tables.places[:, KEY_BITS]
    return {pattern: Unpacked(counts.piece(pattern), int(bits[p])) for p, pattern in enumerate(counts.patterns)}


def keep_needed(tables: Mapping[Pattern, Unpacked], kept: dict[Pattern, Mask]) -> None:
    """Keep also every gram that another pattern needs as a context; and all words, or classes."""
    for pattern in sorted(tables, key=lambda p: -p.mask):  # a tail's mask is smaller
        if pattern.mask:
            kernels.needed(kept[pattern], tables[pattern].begins, kept[pattern.tail])
        else:
            kept[pattern][:] = True


def without(whole: Tables, tables: Mapping[Pattern, Unpacked], kept: Mapping[Pattern, Mask]) -> Tables:
    """The tables `whole`, taken apart, with only the grams that are kept."""
    pieces = {}
    for pattern, table in tables.items():
        if pattern.mask:
            piece = table.piece
            pruned = kernels.pruned_tables(piece.grams, piece.contexts, piece.rows, kept[pattern], kept[pattern.tail])
            pieces[pattern] = [Piece(*pruned)]
        else:
            pieces[pattern] = [table.piece]
    made = assemble(tuple(tables), pieces, whole.class_of, whole.word_counts)
    return frozen(made._replace(parts=np.zeros_like(made.parts)))  # a gram may be there without its parts
