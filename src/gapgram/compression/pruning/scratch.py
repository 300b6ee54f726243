"""Where pruning keeps what it works out of all grams: in memory, or in files, where memory is limited."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gapgram.counts.assemble import assemble
from gapgram.counts.counts import Counts, Piece
from gapgram.counts.streaming import table_streams
from gapgram.kernels.tables import N_GRAMS, Tables
from gapgram.pattern import Pattern
from gapgram.system import array_file as container
from gapgram.system.array_file import Unfinished, make_room
from gapgram.system.mapped_pages import Pages
from gapgram.system.memory import resident

SPAN = 1 << 16  # grams, or contexts, that are worked on at a time, at most
_FIRST, _FEWEST = 1 << 11, 1 << 8

Kind = TypeVar("Kind", bound=np.generic)


class PiecesInMemory(Protocol):
    """`Pieces` that are made when they are asked for."""

    def of(self, pattern: Pattern) -> Iterator[Piece]:
        """The pieces of a pattern."""
        ...


class Place(Protocol):
    """Keeps arrays, and puts tables together."""

    def empty(self, size: int, kind: type[Kind]) -> npt.NDArray[Kind]:
        """An array to be filled, of zeros or anything else."""
        ...

    def tables(self, patterns: tuple[Pattern, ...], pieces: PiecesInMemory, whole: Tables) -> Tables:
        """The tables of the pieces of all patterns, with the classes of `whole`."""
        ...

    def at_once(self, before: int) -> int:
        """How many grams, or contexts, to work on next; `before` are those done just now, 0 at the beginning."""
        ...

    def give_back(self) -> object:
        """Called between one part of the work and the next."""
        ...


class InMemory:
    """All in memory."""

    def empty(self, size: int, kind: type[Kind]) -> npt.NDArray[Kind]:
        """As `Place`."""
        return np.empty(size, kind)

    def tables(self, patterns: tuple[Pattern, ...], pieces: PiecesInMemory, whole: Tables) -> Tables:
        """As `Place`."""
        return assemble(patterns, {p: list(pieces.of(p)) for p in patterns}, whole.class_of, whole.word_counts)

    def at_once(self, before: int) -> int:
        """As `Place`."""
        return SPAN

    def give_back(self) -> None:
        """Nothing is given back."""


class InFiles:
    """All in files of a folder, mapped, that have no name any more; what one operation takes is in memory."""

    def __init__(self, folder: Path, pages: Pages) -> None:
        self._folder, self._pages, self._held = folder, pages, 0

    def empty(self, size: int, kind: type[Kind]) -> npt.NDArray[Kind]:
        """As `Place`: mapped from a file."""
        if not size:
            return np.empty(0, kind)
        handle, name = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "wb+") as file:
            os.unlink(name)
            make_room(file, 0, size * np.dtype(kind).itemsize)
            mapping = mmap.mmap(file.fileno(), 0)
        self._pages.add(mapping)
        return np.frombuffer(mapping, kind)

    def tables(self, patterns: tuple[Pattern, ...], pieces: PiecesInMemory, whole: Tables) -> Tables:
        """As `Place`."""
        file = Unfinished.new(self._folder / "tables", container.MODEL)
        try:
            for stream in table_streams(patterns, pieces, whole.class_of, whole.word_counts):
                file.add_stream(stream)
                self.give_back()
            mapped = file.mapped()
        finally:
            file.discard()
        self._pages.add(mapped.map)
        return Tables(**mapped.arrays)

    def at_once(self, before: int) -> int:
        """As `Place`: twice as many as before, unless, by what those have read, there is room for fewer."""
        read = max(1, resident() - self._held)
        room = self._pages.give_back(2 * read)
        self._held = resident()
        return min(max(before * room // read, _FEWEST), 2 * before, SPAN) if before else _FIRST

    def give_back(self) -> None:
        """Give pages back where there are too many."""
        self._pages.give_back()


IN_MEMORY = InMemory()


def spans(place: Place, size: int) -> Iterator[tuple[int, int]]:
    """Bounds of some grams, or contexts, at a time; after each there is room for what the next will read."""
    begin, n = 0, place.at_once(0)
    while begin < size:
        end = min(begin + n, size)
        yield begin, end
        begin, n = end, place.at_once(n)


def filled(
    place: Place, kind: type[Kind], size: int, make: Callable[[int, int], npt.NDArray[Any]]
) -> npt.NDArray[Kind]:
    """An array that is made some entries at a time."""
    out = place.empty(size, kind)
    for begin, end in spans(place, size):
        out[begin:end] = make(begin, end)
    return out


_GRAM_BYTES = 100  # of memory that pruning by loss takes for a gram if all is in memory


def place_for(counts: Counts, folder: Path | None) -> Place:
    """Memory, unless it is limited and would not do, and there is a folder."""
    n_grams = int(counts.tables.places[:, N_GRAMS].sum())
    if folder is None or counts.pages is None or n_grams * _GRAM_BYTES <= counts.pages.give_back():
        return IN_MEMORY
    return InFiles(folder, counts.pages)
