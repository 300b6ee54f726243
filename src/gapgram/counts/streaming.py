"""The tables of a text as streams, from pieces that are not all in memory: the same arrays as `assemble` gives.

Each pattern's pieces are read three times: for the sizes and the distinct rows, for the grams, and for the contexts.
What is made of the pieces of some bands depends on those before them by nothing but how many grams these have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Ids, Integers
from gapgram.counts.assemble import (
    NO_CLASSES,
    NO_COUNTS,
    all_words,
    check_rows,
    n_contexts,
    numbers_of,
    places_of,
    side_by_side,
)
from gapgram.counts.counts import NONE_SEEN
from gapgram.kernels.counting.distinct_rows import numbered, row_numbers
from gapgram.kernels.tables import arrays as kernels
from gapgram.kernels.tables import build as build_tables
from gapgram.kernels.tables import structure
from gapgram.kernels.tables.arrays import FAST_WIDTH, ROW_BITS
from gapgram.pattern import Pattern
from gapgram.system.array_file import Stream
from gapgram.system.parallel import read_ahead

_ROWS = 1 << 20  # rows that are collected before repeated ones are dropped
Halves = npt.NDArray[np.uint32]  # half words of bits: a gram in the fast layout has one
Large = list[tuple[Integers, Integers]]  # numbers of grams and their counts, piece by piece


class StoredPiece(Protocol):
    """A `Piece` that may read an array only when it is asked for it."""

    @property
    def n_grams(self) -> int: ...
    @property
    def grams(self) -> Integers: ...
    @property
    def contexts(self) -> Integers: ...
    @property
    def rows(self) -> Integers: ...
    @property
    def seen(self) -> Integers: ...


# Of a text that was counted, wherever that is, the pieces of a pattern in the order of the bands. The bands are the
# same for all patterns: the contexts of a piece are the grams of the tail's piece.
Pieces = Callable[[Pattern], Iterator[StoredPiece]]


def words_and_classes(words: Pieces, *classes: Pieces) -> Pieces:
    """The pieces of several streams: of words, and of their classes in each clustering as if they were words."""
    streams = words, *classes
    return lambda pattern: streams[pattern.classes](pattern.of_words)


def seen_of(cut: Iterable[Pattern], pieces: Pieces) -> dict[Pattern, Integers]:
    """How many grams of patterns that were cut while they were counted had a count of 1, 2, 3 and 4."""
    return {pattern: np.sum([NONE_SEEN, *(piece.seen for piece in pieces(pattern))], axis=0) for pattern in cut}


class Measured(NamedTuple):
    """What is to be known of the pieces of a pattern before they are laid out. rows: distinct; seen: `Piece.seen`."""

    n_grams: int
    rows: Integers
    seen: Integers


class InTurn:
    """Lays out the tables of all patterns, piece after piece."""

    def __init__(self, patterns: tuple[Pattern, ...], pieces: Pieces) -> None:
        self.patterns, self.pieces = patterns, pieces
        self.seen: dict[Pattern, Integers] = {}

    def streams(
        self, class_of: Ids = NO_CLASSES, word_counts: Integers = NO_COUNTS, *, whole: bool = True
    ) -> Iterator[Stream]:
        """The arrays of `Tables`, in its order; each is to be read to its end before the next is asked for.

        whole: nothing was left out of the pieces.
        """
        found = self._measured()
        self.seen = {pattern: own.seen for pattern, own in zip(self.patterns, found, strict=True)}
        sizes, rows = [own.n_grams for own in found], [check_rows(own.rows) for own in found]
        places = places_of(self.patterns, sizes, list(map(len, rows)))
        self._place(places, rows)
        yield Stream("grams", np.uint64, (-(-sum(sizes) * FAST_WIDTH // 64),), read_ahead(self._all_grams(sum(sizes))))
        for name in ("large_at", "large_counts"):
            yield Stream(name, np.int64, (self._n_large(),), self._large(name))
        yield Stream("contexts", np.int64, (n_contexts(places),), read_ahead(self._all_contexts(sizes)))
        yield _whole("places", places)
        yield _whole("parts", structure.parts_of(numbers_of(self.patterns)) * whole)  # else a gram may lack its parts
        yield _whole("rows", np.concatenate(rows))
        yield _whole("class_of", class_of)
        yield _whole("word_counts", word_counts)

    def _all_grams(self, total: int) -> Iterator[Halves]:
        for p in range(len(self.patterns)):
            yield from self._grams(p)
        yield np.zeros(total % 2, np.uint32)

    def _all_contexts(self, sizes: list[int]) -> Iterator[Integers]:
        """The contexts, those of all patterns with one tail side by side."""
        for heads in side_by_side(self.patterns):
            yield from self._contexts(heads)
            yield np.array([sizes[p] << ROW_BITS for p in heads])

    def _of(self, pattern: Pattern) -> Iterator[StoredPiece]:
        return self.pieces(pattern) if pattern.mask else iter([self._empty[pattern]])

    def _measured(self) -> list[Measured]:
        """What is to be known of all patterns."""
        roots = (pattern for pattern in self.patterns if not pattern.mask)
        self._empty = {root: all_words([piece.grams for piece in self.pieces(root)]) for root in roots}
        return [measured(self._of(pattern)) for pattern in self.patterns]

    def _place(self, places: Integers, rows: list[Integers]) -> None:
        """Be told where all lies, and the distinct rows of all patterns."""
        self._places, self._rows = places, rows
        self._too_large: Large = []

    def _grams(self, p: int) -> Iterator[Halves]:
        return packed_grams(self._of(self.patterns[p]), self._places[p], self._too_large)

    def _n_large(self) -> int:
        return sum(at.size for at, _ in self._too_large)

    def _large(self, name: str) -> Iterator[Integers]:
        return (pair[name == "large_counts"] for pair in self._too_large)

    def _contexts(self, heads: list[int]) -> Iterator[Integers]:
        """The contexts of patterns with one tail."""
        bands = zip(*(self._of(self.patterns[p]) for p in heads), strict=True)
        return placed_contexts(bands, [self._rows[p] for p in heads], np.zeros(len(heads), np.int64))


def _whole(name: str, array: npt.NDArray[Any]) -> Stream:
    return Stream(name, array.dtype, array.shape, (array,))


def measured(pieces: Iterable[StoredPiece]) -> Measured:
    """How many grams there are, and the sorted distinct rows."""
    size, n_rows, seen = 0, 0, NONE_SEEN
    tables: list[Integers] = []
    for piece in pieces:
        size, seen = size + piece.n_grams, seen + piece.seen
        tables.append(piece.rows)
        n_rows += len(tables[-1])
        if n_rows > _ROWS:
            tables = [numbered(np.concatenate(tables))[0]]
            n_rows = len(tables[0])
    return Measured(size, numbered(np.concatenate(tables))[0], seen)


def packed_grams(pieces: Iterable[StoredPiece], place: Integers, large: Large, done: int = 0) -> Iterator[Halves]:
    """The grams of pieces as a file has them; adds the numbers and counts of those too large to `large`.

    place: the row of `places` of their pattern; done: so many of its grams come before them.
    """
    for piece in pieces:
        grams = piece.grams
        packed = np.zeros(grams.size // 2 + 1, np.uint64)
        at, counts = build_tables.pack_grams(grams, packed, 0, place[kernels.CODE_BITS], place[kernels.KEY_BITS])
        large.append((at + (place[kernels.FIRST_GRAM] + done), counts))
        yield packed.view(np.uint32)[: grams.size]
        done += grams.size


def placed_contexts(
    bands: Iterable[Sequence[StoredPiece]], rows: list[Integers], done: Integers
) -> Iterator[Integers]:
    """The contexts of patterns with one tail, side by side as a file has them.

    bands: the pieces of these patterns in each band. rows: the distinct ones of each; done: so many of its grams come
    before.
    """
    for pieces in bands:
        out = np.empty(0, np.int64)
        for i, piece in enumerate(pieces):
            contexts = piece.contexts
            out = out if i else np.empty(contexts.size * len(pieces), np.int64)
            if contexts.size * len(pieces) != out.size:
                raise ValueError(f"{contexts.size} contexts of a band, with the same tail {out.size // len(pieces)}")
            build_tables.place_contexts(contexts, done[i], row_numbers(piece.rows, rows[i]), out[i:], len(pieces))
            done[i] += piece.n_grams
        yield out
