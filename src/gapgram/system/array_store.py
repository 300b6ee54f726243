"""Arrays that are filled in place, in memory or in a file: who fills them need not know where they are.

    ArrayStore      in memory
    InFolder        in files of a folder, mapped, for what is needed for a while
    InSections      in sections of an array file under way, for what the file is to hold
"""

from __future__ import annotations

import itertools
import mmap
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gapgram.system.array_file import MODEL, Stream, Unfinished, append_zeros
from gapgram.system.array_reading import Mapped
from gapgram.system.mapped_pages import PageBudget
from gapgram.system.memory import resident
from gapgram.system.section_rules import Arrays

MOST_ENTRIES = 1 << 16  # that are worked on at a time
UNPACKED_ENTRIES = 1 << 18  # grams, or contexts, of which tables are laid out anew at a time

Kind = TypeVar("Kind", bound=np.generic)


class ArrayStore:
    """New arrays in memory; other stores override where `array` and `put` keep them.

    pages: of what is read and written, given back where the process holds too many; None without a limit of memory.
    most_entries: that are worked on at a time. unpacked_entries: that are laid out anew at a time, a multiple of a
        block of contexts (`kernels.tables.compact_read`).
    """

    def __init__(
        self,
        pages: PageBudget | None = None,
        *,
        most_entries: int = MOST_ENTRIES,
        unpacked_entries: int = UNPACKED_ENTRIES,
    ) -> None:
        self._pages, self.most_entries, self.unpacked_entries = pages, most_entries, unpacked_entries

    def array(self, name: str, kind: type[Kind], shape: tuple[int, ...]) -> npt.NDArray[Kind]:
        """An array of zeros to be filled."""
        return np.zeros(shape, kind)

    def put(self, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Keep an array that is ready."""
        return array

    def release(self) -> None:
        """Give back memory where too much is held; called between one step of long work and the next."""
        if self._pages is not None:
            self._pages.release()

    def spans(self, size: int) -> Iterator[tuple[int, int]]:
        """Bounds of some entries at a time, as many as may be worked on.

        Under a limit of memory it begins with few; then there are twice as many as before, unless, by what those have
        read, that would be too many.
        """
        sizes = itertools.repeat(self.most_entries) if self._pages is None else self._paced(self._pages)
        begin = 0
        while begin < size:
            end = min(begin + next(sizes), size)
            yield begin, end
            begin = end

    def _paced(self, pages: PageBudget) -> Iterator[int]:
        n = max(1, self.most_entries // 32)
        pages.release()
        while True:
            held = resident()
            yield n
            read = max(1, resident() - held)
            may_read = pages.release(2 * read)
            n = min(max(n * may_read // read, self.most_entries // 256, 1), 2 * n, self.most_entries)

    def filled(
        self, name: str, kind: type[Kind], size: int, make: Callable[[int, int], npt.NDArray[Any]]
    ) -> npt.NDArray[Kind]:
        """An array whose entries begin … end-1 are make(begin, end), made some at a time."""
        out = self.array(name, kind, (size,))
        for begin, end in self.spans(size):
            out[begin:end] = make(begin, end)
        return out


IN_MEMORY = ArrayStore()


class InFolder(ArrayStore):
    """Arrays in files of a folder that have no name any more: they go with the last array."""

    def __init__(self, folder: Path, pages: PageBudget, *, most_entries: int = MOST_ENTRIES) -> None:
        super().__init__(pages, most_entries=most_entries)
        self._folder, self._mapped_pages = folder, pages

    def array(self, name: str, kind: type[Kind], shape: tuple[int, ...]) -> npt.NDArray[Kind]:
        size = int(np.prod(shape, dtype=np.int64))
        if not size:
            return np.zeros(shape, kind)
        handle, path = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "wb+") as file:
            os.unlink(path)
            append_zeros(file, 0, size * np.dtype(kind).itemsize)
            mapping = mmap.mmap(file.fileno(), 0)
        self._mapped_pages.add(mapping)
        return np.frombuffer(mapping, kind).reshape(shape)

    def streamed(self, streams: Iterable[Stream]) -> Arrays:
        """The arrays of streams, each read to its end before the next is asked for."""
        file = Unfinished(self._folder / "streams", MODEL)
        try:
            for stream in streams:
                file.add_stream(stream)
                self.release()
            mapped = Mapped(file.aside)
        finally:
            file.discard()
        self._mapped_pages.add(mapped.map)
        return mapped.arrays_of(file.sections)


class InSections(ArrayStore):
    """Arrays in sections of a file under way, by their names; all are filled before the file is finished."""

    def __init__(
        self, file: Unfinished, pages: PageBudget | None, *, unpacked_entries: int = UNPACKED_ENTRIES
    ) -> None:
        super().__init__(pages, unpacked_entries=unpacked_entries)
        self._file = file

    def array(self, name: str, kind: type[Kind], shape: tuple[int, ...]) -> npt.NDArray[Kind]:
        return self._file.reserve(name, kind, shape, self._pages)

    def put(self, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        self._file.add(name, array)
        return array
