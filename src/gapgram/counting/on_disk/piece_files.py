"""The tables of bands of a text in files: which windows each file is of, and its pieces.

How windows are cut into jobs, and what becomes of the grams that a cut goes across, is told in
`counting.on_disk.count`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import xxhash

from gapgram.arrays import Integers
from gapgram.counting.plan import merged, word_steps
from gapgram.counts.counts import Piece
from gapgram.counts.streaming import StoredPiece
from gapgram.kernels.tables.arrays import COUNT_MASK, STATISTICS
from gapgram.pattern import Pattern
from gapgram.system.work_folder import WorkFolder

_END_BYTES = 16  # the length of the index, and the checksum
_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class Job:
    """Windows that are counted at once: those of a band of oldest words, or some of one.

    name: of the file of its pieces. steps: how far behind the oldest the words stand that all windows share, but for
    the last, which is one of several (or `word`, unless that is negative). begin: in its file of windows.
    """

    name: str
    steps: tuple[int, ...]
    first: int
    last: int
    source: str
    begin: int
    windows: int
    word: int


@dataclass(frozen=True)
class Split:
    """A job that is too large, cut by the next word: jobs by the step to that word, and the gram that all share."""

    job: Job
    gram: int
    jobs_by_step: dict[int, list[Job | Split]]

    def jobs(self) -> Iterator[Job]:
        """The jobs that are counted at once."""
        yield from jobs_of(job for jobs in self.jobs_by_step.values() for job in jobs)


def jobs_of(bands: Iterable[Job | Split]) -> Iterator[Job]:
    """The jobs of bands."""
    for band in bands:
        yield from [band] if isinstance(band, Job) else band.jobs()


class SpilledPieces:
    """The tables of all bands, in files."""

    def __init__(self, folder: Path, bands: Sequence[Job | Split]) -> None:
        self._bands = bands
        self._files = {job.name: PieceFile(folder / job.name) for job in jobs_of(bands)}

    def of(self, pattern: Pattern) -> Iterator[StoredPiece]:
        """The pieces of a pattern, in the order of the bands."""
        for band in self._bands:
            yield from self._pieces(band, pattern, word_steps(pattern))

    def _pieces(self, band: Job | Split, pattern: Pattern, rest: tuple[int, ...]) -> Iterator[StoredPiece]:
        """The pieces of a pattern in a band; `rest` are the steps to its words that the band does not share."""
        if isinstance(band, Job):
            yield self._files[band.name].piece(pattern)
        elif not rest:
            yield _piece_of(band.gram)
        else:
            pieces = (p for job in band.jobs_by_step[rest[0]] for p in self._pieces(job, pattern, rest[1:]))
            if len(rest) == 1:
                yield merged(list(pieces))
            else:
                yield from pieces


def _piece_of(gram: int) -> Piece:
    """The piece of one gram."""
    count = gram & COUNT_MASK
    row = [count, int(count == 1), int(count == 2), int(count > 2), 0]
    return Piece(np.array([gram]), np.array([int(count > 0)]), np.array([[0] * STATISTICS, row][: 2 if count else 1]))


class PieceFile:
    """Pieces one after the other, then where each lies, as JSON, the length of that, and a checksum of all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            file.seek(-_END_BYTES, 2)
            length = int.from_bytes(file.read(8), "little")
            file.seek(-_END_BYTES - length, 2)
            index: dict[str, list[int]] = json.loads(file.read(length))
        self._rows = _rows_of(tuple(index))  # the same for many files
        self._entries = np.array(list(index.values()), np.int64)

    @staticmethod
    def is_whole(path: Path) -> bool:
        """Whether a file is there and as it was written: it is not synced, which would take long; so it may not be."""
        checksum = xxhash.xxh3_64()
        try:
            with path.open("rb") as file:
                left = file.seek(0, 2) - 8
                file.seek(0)
                while left > 0:
                    chunk = file.read(min(_CHUNK_BYTES, left))
                    if not chunk:
                        return False
                    checksum.update(chunk)
                    left -= len(chunk)
                return left == 0 and file.read() == checksum.intdigest().to_bytes(8, "little")
        except OSError:
            return False

    @staticmethod
    def write(folder: WorkFolder, name: str, pieces: Iterator[tuple[Pattern, Piece]]) -> None:
        entries, checksum = {}, xxhash.xxh3_64()
        with folder.written(name, synced=False) as file:
            for pattern, piece in pieces:
                entries[str(pattern)] = [file.tell(), piece.grams.size, piece.contexts.size, len(piece.rows)]
                for array in (piece.grams, piece.contexts, piece.rows):
                    data = np.ascontiguousarray(array, np.int64).reshape(-1).view(np.uint8).data
                    checksum.update(data)
                    file.write(data)
            index = json.dumps(entries).encode()
            end = index + len(index).to_bytes(8, "little")
            checksum.update(end)
            file.write(end + checksum.intdigest().to_bytes(8, "little"))

    def piece(self, pattern: Pattern) -> _PieceInFile:
        return _PieceInFile(self._path, *self._entries[self._rows[str(pattern)]].tolist())


@lru_cache
def _rows_of(patterns: tuple[str, ...]) -> dict[str, int]:
    return {pattern: row for row, pattern in enumerate(patterns)}


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
