"""Counting in bounded memory: windows and tables go through the files of a work folder.

The windows of the text are written to one file, those of each band of oldest words together; each band is then read,
counted and its tables written to a file of its own, as many bands side by side as there are threads and as the memory
allows. A word that is alone too frequent for the memory is cut further: the patterns fall into families by how far
their second word stands from the oldest, and for each family the windows are cut by that word. Two windows with a
gram of the family in common also share that word, so the parts know nothing of each other, as bands do.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.counting.band import Band
from gapgram.counting.local import BAND_POSITIONS, check_length, checked_threads, in_threads
from gapgram.counting.streaming import StoredPiece
from gapgram.counts import Piece
from gapgram.errors import UsageError
from gapgram.kernels import sorting
from gapgram.kernels.tables import COUNT_BITS, ROW_MASK, words_by_key
from gapgram.kernels.words import END, START
from gapgram.lattice import Lattice
from gapgram.memory import show_size
from gapgram.pattern import Pattern
from gapgram.progress import Progress
from gapgram.stored_text import StoredText
from gapgram.work_folder import WorkFolder

Ids = npt.NDArray[np.int32]
Integers = npt.NDArray[np.int64]


def window_bytes(order: int) -> int:
    """The memory that counting takes for each window at most.

    The window itself and, for each of its words, a byte of reach and a mark for each length; positions, starts and
    begins of a node for each level of the tree of patterns; and what sorting and the tables of one pattern take.
    """
    return (order + 1) * (order + 4) + 12 * order + 80


@dataclass(frozen=True)
class Job:
    """Windows that are counted at once: words `first` to `last` at place `second` (0: the oldest) of a band."""

    band: int
    second: int
    part: int
    first: int
    last: int
    begin: int
    windows: int

    @property
    def name(self) -> str:
        """The file of its pieces."""
        return f"pieces-{self.band}" if not self.second else f"pieces-{self.band}-{self.second}-{self.part}"


def cut_words(counts: Integers, most: int) -> list[int]:
    """Cut words into runs that occur at most so often together; a word more frequent than that is alone."""
    ends = np.cumsum(counts)
    cuts = [0]
    while cuts[-1] < counts.size:
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(int(np.searchsorted(ends, before + most, side="right")), cuts[-1] + 1))
    return cuts


class SpilledPieces:
    """The tables of all bands, in files."""

    def __init__(self, folder: Path, jobs: Sequence[Job], unigrams: dict[int, int]) -> None:
        self._bands: dict[int, list[Job]] = {band: [] for band in unigrams}
        for job in jobs:
            self._bands.setdefault(job.band, []).append(job)
        self._files = {job.name: _PieceFile(folder / job.name) for job in jobs}
        self._unigrams = unigrams  # of the words that are cut further, by band

    def of(self, pattern: Pattern) -> Iterator[StoredPiece]:
        """The pieces of a pattern, in the order of the bands."""
        second = second_of(pattern)
        for band, jobs in sorted(self._bands.items()):
            if band not in self._unigrams:
                yield self._files[jobs[0].name].piece(pattern)
            elif not pattern.mask:
                yield Piece(np.array([self._unigrams[band]]), np.empty(0, np.int64), np.zeros((1, 4), np.int64))
            else:
                parts = (self._files[job.name].piece(pattern) for job in jobs if job.second == second)
                if len(pattern) == 1:
                    yield merged(list(parts))
                else:
                    yield from parts


def second_of(pattern: Pattern) -> int:
    """How far the second word of a pattern's grams stands from the oldest."""
    offsets = (0, *pattern.offsets)
    return offsets[-1] - offsets[-2] if len(pattern) else 0


def merged(parts: Sequence[StoredPiece]) -> Piece:
    """The piece of a pattern of two words whose one context, the oldest word, spans several parts."""
    rows = np.zeros((2, 4), np.int64)
    for part in parts:
        rows[1] += part.rows[part.contexts[0] & ROW_MASK]
    grams = np.concatenate([np.empty(0, np.int64), *(part.grams for part in parts)])
    return Piece(grams, np.array([int(rows[1].any())]), rows if rows[1].any() else rows[:1])


class _PieceFile:
    """Pieces one after the other, then where each lies, as JSON, and the length of that."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            file.seek(-8, 2)
            length = int.from_bytes(file.read(8), "little")
            file.seek(-8 - length, 2)
            self._places: dict[str, list[int]] = json.loads(file.read(length))

    @staticmethod
    def write(folder: WorkFolder, name: str, pieces: Iterator[tuple[Pattern, Piece]]) -> None:
        places = {}
        with folder.written(name) as file:
            for pattern, piece in pieces:
                places[str(pattern)] = [file.tell(), piece.grams.size, piece.contexts.size, len(piece.rows)]
                for array in (piece.grams, piece.contexts, piece.rows):
                    file.write(np.ascontiguousarray(array, np.int64).reshape(-1).data)
            index = json.dumps(places).encode()
            file.write(index + len(index).to_bytes(8, "little"))

    def piece(self, pattern: Pattern) -> _PieceInFile:
        return _PieceInFile(self._path, *self._places[str(pattern)])


@dataclass(frozen=True)
class _PieceInFile:
    """A piece whose arrays are read when they are asked for."""

    path: Path
    at: int
    n_grams: int
    n_contexts: int
    n_rows: int

    @property
    def grams(self) -> Integers:
        return self._read(0, self.n_grams)

    @property
    def contexts(self) -> Integers:
        return self._read(self.n_grams, self.n_contexts)

    @property
    def rows(self) -> Integers:
        return self._read(self.n_grams + self.n_contexts, 4 * self.n_rows).reshape(-1, 4)

    def _read(self, skipped: int, n: int) -> Integers:
        return np.fromfile(self.path, np.int64, n, offset=self.at + 8 * skipped)


class _Room:
    """Memory that threads take a share of and give back; who does not find enough waits."""

    def __init__(self, size: int) -> None:
        self._free, self._size, self._changed = size, size, threading.Condition()

    @contextmanager
    def taken(self, n_bytes: int) -> Iterator[None]:
        n_bytes = min(n_bytes, self._size)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= n_bytes)
            self._free -= n_bytes
        try:
            yield
        finally:
            with self._changed:
                self._free += n_bytes
                self._changed.notify_all()


class SpilledCount:
    """One run of counting; `pieces` does it."""

    def __init__(
        self, text: StoredText, lattice: Lattice, folder: WorkFolder, *, memory: int, threads: int | None = None
    ) -> None:
        self.text, self.lattice, self.folder, self.memory = text, lattice, folder, memory
        self.threads = checked_threads(threads)
        self.order, self.width, self.n_words = lattice.order, lattice.order + 1, len(text.vocabulary)
        check_length(text.facts.longest, lattice.order)

    def pieces(self, *, shown: bool = False) -> SpilledPieces:
        """Count all bands that are not counted yet."""
        jobs, unigrams = self._jobs(shown)
        if not all(self._fits(job.windows) for job in jobs):  # an earlier run had more memory: cut them anew
            self.folder.forget("windows")
            self.folder.forget("split")
            for path in self.folder.path.glob("pieces*"):
                path.unlink()
            jobs, unigrams = self._jobs(shown)
        room = _Room(self.memory)

        def work(job: Job) -> None:
            if not (self.folder.path / job.name).exists():
                with room.taken(job.windows * window_bytes(self.order)):
                    _PieceFile.write(self.folder, job.name, self._count(job))

        with Progress("counting", total=len(jobs), unit="band", shown=shown) as bar:
            in_threads(work, jobs, self.threads, bar)
        for path in self.folder.path.glob("windows*"):
            path.unlink()
        return SpilledPieces(self.folder.path, jobs, unigrams)

    def _jobs(self, shown: bool) -> tuple[list[Job], dict[int, int]]:
        """What is to be counted, and the grams of the empty pattern of words that are cut further, by band."""
        cuts = self.folder.done("windows") or self._scatter(shown)
        unigrams: dict[int, int] = {}
        jobs: list[Job] = []
        for k, (first, last) in enumerate(pairwise(cuts)):
            band = Job(k, 0, 0, first, last, *self._place(first, last))
            is_split = self.folder.done(f"split-{k}") is not None
            if is_split or (last - first == 1 and not self._fits(band.windows)):
                parts, unigrams[k] = self._parts(band)
                jobs += parts
            else:
                jobs.append(band)
        return jobs, unigrams

    @property
    def _goal(self) -> int:
        """Windows of an ordinary band."""
        return max(1, min(BAND_POSITIONS, self.memory // self.threads // window_bytes(self.order)))

    @property
    def _chunk(self) -> int:
        """Ids, or windows, that are moved at a time."""
        return max(1 << 10, min(1 << 20, self.memory // (16 * self.width)))

    def _fits(self, windows: int) -> bool:
        return windows * window_bytes(self.order) <= self.memory and windows * self.width < 1 << 31

    def _place(self, first: int, last: int) -> tuple[int, int]:
        """Where the windows of words lie in the file, and how many there are."""
        counts = self.text.word_counts
        return int(counts[:first].sum()), int(counts[first:last].sum())

    def _scatter(self, shown: bool) -> list[int]:
        """Write the windows of the text, those of each band together, in the order of the text."""
        cuts = cut_words(self.text.word_counts, self._goal)
        ends = np.concatenate([[0], np.cumsum(self.text.word_counts)])
        numbers = np.repeat(np.arange(len(cuts) - 1, dtype=np.int32), np.diff(cuts))
        with (
            Progress("sorting", total=self.text.facts.positions, unit="word", shown=shown) as bar,
            _Scattered(self.folder.path / "windows", ends[cuts[:-1]], self.width, self.threads) as target,
        ):
            for ids in self.text.chunks(self._chunk):
                positions, starts = sorting.positions_by_word(numbers[ids], len(cuts) - 1)
                target.add(partial(sorting.windows_at, ids, positions, self.order), starts)
                bar.advance(ids.size)
        self.folder.note("windows", cuts)
        return cuts

    def _read(self, name: str, begin: int, windows: int) -> Ids:
        found = np.fromfile(self.folder.path / name, np.int32, windows * self.width, offset=4 * begin * self.width)
        return found.reshape(-1, self.width)

    def _count(self, job: Job) -> Iterator[tuple[Pattern, Piece]]:
        if job.second:
            word = job.first
            windows = self._read(f"windows-{job.band}-{job.second}", job.begin, job.windows)
            return Band(windows, word, word + 1, self.n_words, self.lattice).each(job.second)
        windows = self._read("windows", job.begin, job.windows)
        if job.last - job.first > 1:
            order, _ = sorting.positions_by_word(windows[:, 1] - np.int32(job.first), job.last - job.first)
            windows = windows[order]
        return Band(windows, job.first, job.last, self.n_words, self.lattice).each()

    def _parts(self, band: Job) -> tuple[list[Job], int]:
        """The jobs of a word that does not fit, and its gram of the empty pattern."""
        noted = self.folder.done(f"split-{band.band}") or self._split(band)
        jobs = []
        for second, sizes in noted["sizes"].items():
            begins = np.cumsum([0, *sizes]).tolist()
            jobs += [
                Job(band.band, int(second), part, band.first, band.last, begin, windows)
                for part, (begin, windows) in enumerate(zip(begins, sizes, strict=False))
            ]
        return jobs, noted["unigram"]

    def _split(self, band: Job) -> dict[str, Any]:
        """Write the windows of a word again for each family of patterns, cut by the second word of the family."""
        families = sorted({second_of(p) for p in self.lattice.stored if p.mask})
        sizes = {second: self._split_family(band, second) for second in families}
        left = np.zeros(self.n_words, np.bool_)
        for windows in self._windows_of(band):
            left[windows[windows[:, 0] >= 0, 0]] = True
        count = int(left.sum()) if self.order > 1 and left.any() else band.windows
        unigram = band.first << COUNT_BITS | (0 if band.first == START else count)
        self.folder.note(f"split-{band.band}", {"sizes": sizes, "unigram": unigram})
        noted: dict[str, Any] = self.folder.done(f"split-{band.band}")
        return noted

    def _split_family(self, band: Job, second: int) -> list[int]:
        """Write the windows that have a word at this place, cut by it; how many there are in each part."""
        counts = np.zeros(self.n_words, np.int64)
        for windows in self._windows_of(band, second):
            counts += np.bincount(windows[:, 1 + second], minlength=counts.size)
        self._check_fits(band, second, counts)
        by_key = words_by_key(self.n_words)  # the order of grams, but for their oldest words
        cuts = cut_words(counts[by_key], self._goal)
        sizes = np.add.reduceat(counts[by_key], cuts[:-1])
        numbers = np.empty(self.n_words, np.int32)
        numbers[by_key] = np.repeat(np.arange(sizes.size, dtype=np.int32), np.diff(cuts))
        begins = np.cumsum(sizes) - sizes
        with _Scattered(self.folder.path / f"windows-{band.band}-{second}", begins, self.width, 1) as target:
            for windows in self._windows_of(band, second):
                order, starts = sorting.positions_by_word(numbers[windows[:, 1 + second]], sizes.size)
                target.add(partial(_rows, windows, order), starts)
        kept: list[int] = sizes[sizes > 0].tolist()
        return kept

    def _windows_of(self, band: Job, second: int = 0) -> Iterator[Ids]:
        """The windows of a word, some at a time; of a family, those that have a word at its second place."""
        seen = np.zeros(self.n_words, np.bool_)
        for begin in range(0, band.windows, self._chunk):
            windows = self._read("windows", band.begin + begin, min(self._chunk, band.windows - begin))
            if second:
                windows = windows[windows[:, 1 + second] >= 0]
            if second == 1 and self.order > 2:
                windows = windows[first_of_ends(windows, seen)]
            yield windows

    def _check_fits(self, band: Job, second: int, counts: Integers) -> None:
        word = int(counts.argmax())
        if not self._fits(int(counts[word])):
            words = self.text.vocabulary
            gram = " ".join([words[band.first], *["_"] * (second - 1), words[word]])
            needed = int(counts[word]) * window_bytes(self.order)
            raise UsageError(
                f"{show_size(self.memory)} of memory are left for counting: {gram!r} occurs {int(counts[word]):,} "
                f"times, which takes {show_size(needed)} at once: allow {show_size(1.1 * (needed - self.memory))} more "
                "(--memory), or lower the order"
            )


def first_of_ends(windows: Ids, seen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which windows to keep: of those that end right after the oldest word only the first of each word before it.

    `seen` says of which words there was one before. Such windows have one gram, its count is the number of different
    words to its left, and they are many: a full stop is mostly the last word.
    """
    ending = np.flatnonzero((windows[:, 2] == END) & (windows[:, 0] >= 0))
    left, first = np.unique(windows[ending, 0], return_index=True)
    keep = np.ones(len(windows), np.bool_)
    keep[ending] = False
    keep[ending[first[~seen[left]]]] = True
    seen[left] = True
    return keep


class _Scattered:
    """A file of windows in several runs: each added chunk has some windows for every run, which follow its last."""

    def __init__(self, path: Path, begins: Integers, width: int, threads: int) -> None:
        self._path, self._fill, self._width = path, begins.copy(), width
        self._pool, self._free = ThreadPoolExecutor(threads), threading.Semaphore(threads + 1)
        self._futures: list[Future[None]] = []

    def __enter__(self) -> _Scattered:
        self._file = self._path.open("wb")
        return self

    def add(self, windows: Callable[[], Ids], starts: Integers) -> None:
        """Windows, to be worked out in another thread; run r gets those from starts[r] to starts[r+1]."""
        self._free.acquire()
        self._futures = [f for f in self._futures if not f.done() or f.result() is not None]
        self._futures.append(self._pool.submit(self._write, windows, starts, self._fill.copy()))
        self._fill += np.diff(starts)

    def _write(self, windows: Callable[[], Ids], starts: Integers, fill: Integers) -> None:
        try:
            data = windows()
            for run in np.flatnonzero(np.diff(starts)).tolist():
                part = data[starts[run] : starts[run + 1]]
                _write_at(self._file.fileno(), part, 4 * self._width * int(fill[run]))
        finally:
            self._free.release()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=kind is not None)
        try:
            if kind is None:
                for future in self._futures:
                    future.result()
                os.fsync(self._file.fileno())
        finally:
            self._file.close()


def _rows(windows: Ids, order: Ids) -> Ids:
    return windows[order]


def _write_at(handle: int, array: Ids, offset: int) -> None:
    data = np.ascontiguousarray(array).data.cast("B")
    while data.nbytes:
        written = os.pwrite(handle, data, offset)
        data, offset = data[written:], offset + written
