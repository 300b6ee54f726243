"""The tables of a text as streams, from pieces that are not all in memory: the same arrays as `assemble` gives.

Each pattern's pieces are read three times: for the sizes and the distinct rows, for the grams, and for the contexts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gapgram.arrays import BitWords, Ids, Integers
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


def table_streams(
    patterns: tuple[Pattern, ...], pieces: Pieces, class_of: Ids = NO_CLASSES, word_counts: Integers = NO_COUNTS,
    *, whole: bool = True,
) -> Iterator[Stream]:
    """The arrays of `Tables`, in its order; each is to be read to its end before the next is asked for.

    pieces: those of a pattern are asked for three times. whole: nothing was left out of them.
    """
    streamed = _Streamed(patterns, pieces)
    yield Stream("grams", np.uint64, (-(-sum(streamed.sizes) * FAST_WIDTH // 64),), read_ahead(streamed.grams()))
    for i, name in enumerate(("large_at", "large_counts")):
        yield _whole(name, np.concatenate([pair[i] for pair in streamed.large]))
    yield Stream("contexts", np.int64, (n_contexts(streamed.places),), read_ahead(streamed.contexts()))
    yield _whole("places", streamed.places)
    yield _whole("parts", structure.parts_of(numbers_of(patterns)) * whole)  # else a gram may lack its parts
    yield _whole("rows", np.concatenate(streamed.rows))
    yield _whole("class_of", class_of)
    yield _whole("word_counts", word_counts)


def _whole(name: str, array: npt.NDArray[Any]) -> Stream:
    return Stream(name, array.dtype, array.shape, (array,))


class _Streamed:
    """What all streams need to know: sizes, rows, places."""

    def __init__(self, patterns: tuple[Pattern, ...], pieces: Pieces) -> None:
        self.patterns, self.pieces = patterns, pieces
        self.empty = {p: all_words([piece.grams for piece in pieces(p)]) for p in patterns if not p.mask}
        self.large: list[tuple[Integers, Integers]] = []
        self.sizes: list[int] = []
        self.rows: list[Integers] = []
        for pattern in patterns:
            size, rows = _size_and_rows(self._of(pattern))
            self.sizes.append(size)
            self.rows.append(check_rows(rows))
        self.places = places_of(patterns, self.sizes, list(map(len, self.rows)))

    def _of(self, pattern: Pattern) -> Iterator[StoredPiece]:
        return self.pieces(pattern) if pattern.mask else iter([self.empty[pattern]])

    def grams(self) -> Iterator[BitWords]:
        """The packed grams; collects those whose counts are too large."""
        bits, rest = 0, np.zeros(1, np.uint64)
        done = 0
        for p, pattern in enumerate(self.patterns):
            code_bits, key_bits = map(int, self.places[p, [kernels.CODE_BITS, kernels.KEY_BITS]])
            for piece in self._of(pattern):
                grams = piece.grams
                end = bits + grams.size * FAST_WIDTH
                packed = np.zeros(end // 64 + 1, np.uint64)
                packed[0] = rest[0]
                large_grams, counts = build_tables.pack_grams(grams, packed, bits, code_bits, key_bits)
                self.large.append((large_grams + done, counts))
                done += grams.size
                yield packed[:-1]
                bits, rest = end % 64, packed[-1:].copy()
        if bits:
            yield rest

    def contexts(self) -> Iterator[Integers]:
        """The contexts, those of all patterns with one tail side by side."""
        for group in side_by_side(self.patterns):
            yield from self._records(group)

    def _records(self, heads: list[int]) -> Iterator[Integers]:
        done = np.zeros(len(heads), np.int64)
        for band in zip(*(self._of(self.patterns[p]) for p in heads), strict=True):
            out = np.empty(0, np.int64)
            for i, (p, piece) in enumerate(zip(heads, band, strict=True)):
                contexts = piece.contexts
                out = out if i else np.empty(contexts.size * len(heads), np.int64)
                if contexts.size * len(heads) != out.size:
                    raise ValueError(f"bands of pattern {self.patterns[p]} are not those of the others with its tail")
                numbers = row_numbers(piece.rows, self.rows[p])
                build_tables.place_contexts(contexts, done[i], numbers, out[i:], len(heads))
                done[i] += piece.n_grams
            yield out
        yield done << ROW_BITS


def _size_and_rows(pieces: Iterator[StoredPiece]) -> tuple[int, Integers]:
    """How many grams there are, and the sorted distinct rows."""
    size, n_rows = 0, 0
    tables: list[Integers] = []
    for piece in pieces:
        size += piece.n_grams
        tables.append(piece.rows)
        n_rows += len(tables[-1])
        if n_rows > _ROWS:
            tables = [numbered(np.concatenate(tables))[0]]
            n_rows = len(tables[0])
    rows: Integers = numbered(np.concatenate(tables))[0]
    return size, rows

