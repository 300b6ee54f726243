"""Counting in bounded memory: windows and tables go through the files of a work folder.

The windows of the text are written to one file, those of each band of oldest words together; each band is then read,
counted and its tables written to a file of its own, as many bands side by side as there are threads and as the memory
allows.

A word that alone is too frequent for the memory is cut further. The patterns fall into families by where their second
word stands, and for each family the windows are written again, cut by that word: two windows with a gram of the
family in common also share it, so that these parts know nothing of each other, as bands do. A part of one word that
is still too large is cut by the third word, and so on. Only one gram goes across such a cut, that of the words which
all its windows share: its count is found by reading the windows through, and what follows it in the parts is added
up.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gapgram.counting.band import Band
from gapgram.counting.local import BAND_POSITIONS, check_length, checked_threads, in_threads
from gapgram.counting.streaming import StoredPiece
from gapgram.counts import Piece
from gapgram.kernels import sorting
from gapgram.kernels.tables import COUNT_BITS, COUNT_MASK, ROW_MASK, STATISTICS, words_by_key
from gapgram.kernels.words import START
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.progress import Progress
from gapgram.stored_text import StoredClasses, StoredText
from gapgram.work_folder import WorkFolder

Ids = npt.NDArray[np.int32]
Integers = npt.NDArray[np.int64]

_MIX = np.array([0x9E3779B97F4A7C1 | 1, 0xBF58476D1CE4E5B, 0x94D049BB133111E | 1, 0xD1B54A32D192ED0 | 1] * 4)


def window_bytes(order: int) -> int:
    """The memory that counting takes for each window at most.

    The window itself and, for each of its words, a byte of reach and a mark for each length; positions, starts and
    begins of a node for each level of the tree of patterns; and what sorting and the tables of one pattern take.
    """
    return (order + 1) * (order + 4) + 12 * order + 80


@dataclass(frozen=True)
class Job:
    """Windows that are counted at once: those of a band of oldest words, or a part of one.

    name: of the file of its pieces. places: where the words stand, after the oldest, that the windows of a part share,
    but for the last, which is one of several (or `word`, unless that is negative). begin: in its file of windows.
    """

    name: str
    places: tuple[int, ...]
    first: int
    last: int
    source: str
    begin: int
    windows: int
    word: int


@dataclass(frozen=True)
class Split:
    """A job that is too large, cut by the next word: its parts, by where that stands, and the gram that all share."""

    job: Job
    gram: int
    parts: dict[int, list[Job | Split]]

    def jobs(self) -> Iterator[Job]:
        """The parts that are counted at once."""
        yield from _jobs_of(part for parts in self.parts.values() for part in parts)


def _jobs_of(bands: Iterable[Job | Split]) -> Iterator[Job]:
    for band in bands:
        yield from [band] if isinstance(band, Job) else band.jobs()


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

    def __init__(self, folder: Path, bands: Sequence[Job | Split]) -> None:
        self._bands = bands
        self._files = {job.name: _PieceFile(folder / job.name) for job in _jobs_of(bands)}

    def of(self, pattern: Pattern) -> Iterator[StoredPiece]:
        """The pieces of a pattern, in the order of the bands."""
        for band in self._bands:
            yield from self._pieces(band, pattern, _places(pattern))

    def _pieces(self, band: Job | Split, pattern: Pattern, rest: tuple[int, ...]) -> Iterator[StoredPiece]:
        """The pieces of a pattern in a band; `rest` are the places of its words that the band does not share."""
        if isinstance(band, Job):
            yield self._files[band.name].piece(pattern)
        elif not rest:
            yield _piece_of(band.gram)
        else:
            parts = (p for part in band.parts[rest[0]] for p in self._pieces(part, pattern, rest[1:]))
            if len(rest) == 1:
                yield merged(list(parts))
            else:
                yield from parts


def _places(pattern: Pattern) -> tuple[int, ...]:
    """Where the words of a pattern's grams stand after the oldest.

    >>> _places(Pattern.parse("11011"))
    (1, 3, 4)
    """
    return tuple(pattern.reach - offset for offset in (*reversed(pattern.offsets), 0))[1:] if pattern.mask else ()


def _piece_of(gram: int) -> Piece:
    """The piece of one gram."""
    count = gram & COUNT_MASK
    row = [count, int(count == 1), int(count == 2), int(count > 2), 0]
    return Piece(np.array([gram]), np.array([int(count > 0)]), np.array([[0] * STATISTICS, row][: 2 if count else 1]))


def merged(parts: Sequence[StoredPiece]) -> Piece:
    """One piece of parts whose one context is the same."""
    row = np.zeros(STATISTICS, np.int64)
    for part in parts:
        row += part.rows[part.contexts[0] & ROW_MASK]
    grams = np.concatenate([np.empty(0, np.int64), *(part.grams for part in parts)])
    rows = np.array([np.zeros(STATISTICS, np.int64), row])
    return Piece(grams, np.array([int(row.any())]), rows if row.any() else rows[:1])


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
    def is_whole(path: Path) -> bool:
        """Whether a file is there and has its end: it is not synced, which would take long, so it might not."""
        try:
            _PieceFile(path)
        except (OSError, ValueError):
            return False
        return True

    @staticmethod
    def write(folder: WorkFolder, name: str, pieces: Iterator[tuple[Pattern, Piece]]) -> None:
        places = {}
        with folder.written(name, synced=False) as file:
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
        return self._read(self.n_grams + self.n_contexts, STATISTICS * self.n_rows).reshape(-1, STATISTICS)

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
        self,
        text: StoredText | StoredClasses,
        lattice: Lattice,
        folder: WorkFolder,
        *,
        memory: int,
        threads: int | None = None,
    ) -> None:
        self.text, self.lattice, self.folder, self.memory = text, lattice, folder, memory
        self.threads = checked_threads(threads)
        self.order, self.width, self.n_words = lattice.order, lattice.order + 1, len(text.vocabulary)
        check_length(text.facts.longest, lattice.order)

    def pieces(self, *, shown: bool = False) -> SpilledPieces:
        """Count all bands that are not counted yet."""
        bands = self._cut(shown)
        if not all(self._fits(job.windows) for job in _jobs_of(bands)):  # an earlier run had more memory
            self.folder.forget("windows")
            self.folder.forget("split")
            for path in self.folder.path.glob("pieces*"):
                path.unlink()
            bands = self._cut(shown)
        room = _Room(self.memory)

        def work(job: Job) -> None:
            if not _PieceFile.is_whole(self.folder.path / job.name):
                with room.taken(job.windows * window_bytes(self.order)):
                    _PieceFile.write(self.folder, job.name, self._count(job))

        jobs = list(_jobs_of(bands))
        with Progress("counting", total=len(jobs), unit="band", shown=shown) as bar:
            in_threads(work, jobs, self.threads, bar)
        for path in self.folder.path.glob("windows*"):
            path.unlink()
        return SpilledPieces(self.folder.path, bands)

    def _cut(self, shown: bool) -> list[Job | Split]:
        """The bands, those too large for the memory cut further."""
        cuts = self.folder.done("windows") or self._scatter(shown)
        begins = np.concatenate([[0], np.cumsum(self.text.word_counts)])[cuts].tolist()
        bands: list[Job | Split] = []
        for k, (first, last) in enumerate(pairwise(cuts)):
            word = first if last - first == 1 else -1
            band = Job(f"pieces-{k}", (), first, last, "windows", begins[k], begins[k + 1] - begins[k], word)
            bands.append(self._cut_further(band))
        return bands

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
        windows = self._read(job.source, job.begin, job.windows)
        if job.last - job.first > 1:
            order, _ = sorting.positions_by_word(windows[:, 1] - np.int32(job.first), job.last - job.first)
            windows = windows[order]
        return Band(windows, job.first, job.last, self.n_words, self.lattice).each(job.places)

    def _cut_further(self, job: Job) -> Job | Split:
        """A job that fits into memory as it is; another is cut."""
        stage = f"split-{job.name}"
        noted = self.folder.done(stage)
        if noted is None:
            if job.word < 0 or self._fits(job.windows):
                return job
            n = len(job.places)
            nexts = sorted({p[n] for p in map(_places, self.lattice.stored) if p[:n] == job.places and len(p) > n})
            noted = {"gram": self._gram(job), "parts": [[place, self._split(job, place)] for place in nexts]}
            self.folder.note(stage, noted)
        parts: dict[int, list[Job | Split]] = {}
        for place, sizes in noted["parts"]:
            begin, parts[place] = 0, []
            for k, (windows, word) in enumerate(sizes):
                name, source = f"{job.name}-{place}.{k}", _source(job, place)
                part = Job(name, (*job.places, place), job.first, job.last, source, begin, windows, word)
                parts[place].append(self._cut_further(part))
                begin += windows
        return Split(job, noted["gram"], parts)

    def _split(self, job: Job, place: int) -> list[tuple[int, int]]:
        """Write the windows with a word at a place, cut by it; the size of each part, and its word if it is one."""
        counts = np.zeros(self.n_words, np.int64)
        for windows in self._windows_of(job, place):
            counts += np.bincount(windows[:, 1 + place], minlength=counts.size)
        by_key = words_by_key(self.n_words)  # the order of grams, but for their oldest words
        by_key = by_key[counts[by_key] > 0]
        cuts = cut_words(counts[by_key], self._goal)
        numbers = np.zeros(self.n_words, np.int32)
        numbers[by_key] = np.repeat(np.arange(len(cuts) - 1, dtype=np.int32), np.diff(cuts))
        sizes = np.diff(np.concatenate([[0], np.cumsum(counts[by_key])])[cuts])
        begins = np.cumsum(sizes) - sizes
        with _Scattered(self.folder.path / _source(job, place), begins, self.width, 1) as target:
            for windows in self._windows_of(job, place):
                order, starts = sorting.positions_by_word(numbers[windows[:, 1 + place]], sizes.size)
                target.add(partial(_rows, windows, order), starts)
        words = [int(by_key[a]) if b - a == 1 else -1 for a, b in pairwise(cuts)]
        return list(zip(sizes.tolist(), words, strict=True))

    def _windows_of(self, job: Job, place: int = 0) -> Iterator[Ids]:
        """The windows of a job that have a word at a place, some at a time."""
        for begin in range(0, job.windows, self._chunk):
            windows = self._read(job.source, job.begin + begin, min(self._chunk, job.windows - begin))
            yield windows[windows[:, 1 + place] >= 0]

    def _gram(self, job: Job) -> int:
        """The gram of the words that all windows of a job share, and its count (DESIGN, section 2)."""
        reach = job.places[-1] if job.places else 0
        gaps = [1 + place for place in range(1, reach) if place not in job.places]
        if not job.places and job.first == START:
            count = 0
        elif gaps:
            count = self._different(job, gaps)
        elif reach < self.order - 1 and job.first != START:
            count = self._different(job, [0])
        else:
            count = job.windows
        return job.word << COUNT_BITS | count

    def _different(self, job: Job, columns: list[int]) -> int:
        """How many different words the windows of a job have in these columns, taken together."""
        if len(columns) == 1:
            seen = np.zeros(self.n_words, np.bool_)
            for windows in self._windows_of(job):
                seen[windows[:, columns[0]]] = True
            return int(seen.sum())
        n_parts, total = 1 + 32 * len(columns) * job.windows // self.memory, 0
        for part in range(n_parts):
            found = np.empty((0, len(columns)), np.int32)
            for windows in self._windows_of(job):
                words = windows[:, columns]
                mixed = (words.astype(np.int64) @ _MIX[: len(columns)]) >> 20
                found = np.unique(np.concatenate([found, words[mixed % n_parts == part]]), axis=0)
            total += len(found)
        return total


def _source(job: Job, place: int) -> str:
    """The file of windows of a job that were cut by the word at a place."""
    return f"windows-{job.name.removeprefix('pieces-')}-{place}"


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
