"""A file of windows in several runs, written by several threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from gapgram.arrays import Ids, Integers

_ODD = np.uint64(0x9E3779B97F4A7C15)
_CHUNK_BYTES = 1 << 22
_PIECE = 1 << 17  # windows that are worked out at a time, however long a sentence is


class Scattered:
    """A file of windows in several runs: each added chunk has some windows for every run, which follow its last.

    checksum: of all that was written, once the file is closed. It is a sum of what each number is worth at its place,
    so that it does not depend on the order in which they are written.
    """

    def __init__(self, path: Path, begins: Integers, width: int, threads: int, *, piece: int = _PIECE) -> None:
        self._path, self._fill, self._width, self._piece = path, begins.copy(), width, piece
        self._pool, self._free = ThreadPoolExecutor(threads), threading.Semaphore(threads + 1)
        self._futures: list[Future[int]] = []
        self.checksum = 0

    def __enter__(self) -> Scattered:
        self._file = self._path.open("wb")
        return self

    def add(self, windows: Callable[[slice], Ids], starts: Integers) -> None:
        """Windows, to be worked out in another thread, piece by piece; run r gets those of starts[r] to starts[r+1]."""
        self._free.acquire()
        done = [f for f in self._futures if f.done()]
        self._futures = [f for f in self._futures if f not in done]
        self._add(done)
        self._futures.append(self._pool.submit(self._write, windows, starts, self._fill.copy()))
        self._fill += np.diff(starts)

    def _add(self, futures: list[Future[int]]) -> None:
        self.checksum = (self.checksum + sum(future.result() for future in futures)) & (1 << 64) - 1

    def _write(self, windows: Callable[[slice], Ids], starts: Integers, fill: Integers) -> int:
        """Write windows; returns what they are worth."""
        worth = 0
        try:
            n = int(starts[-1])
            for begin in range(0, n, self._piece):
                end = min(begin + self._piece, n)
                data = windows(slice(begin, end))
                first, last = np.maximum(starts[:-1], begin), np.minimum(starts[1:], end)
                for run in np.flatnonzero(first < last).tolist():
                    run_data = data[first[run] - begin : last[run] - begin]
                    place = self._width * int(fill[run] + first[run] - starts[run])
                    worth += _worth(run_data.reshape(-1), place)
                    _write_at(self._file.fileno(), run_data, 4 * place)
            return worth
        finally:
            self._free.release()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=kind is not None)
        try:
            if kind is None:
                self._add(self._futures)
                os.fsync(self._file.fileno())
        finally:
            self._file.close()


def _write_at(handle: int, array: Ids, offset: int) -> None:
    data = np.ascontiguousarray(array).data.cast("B")
    while data.nbytes:
        written = os.pwrite(handle, data, offset)
        data, offset = data[written:], offset + written


def checksum_of(path: Path) -> int | None:
    """The checksum that a file of windows has by now; None where it cannot be read."""
    total, at = 0, 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                run_data = np.frombuffer(chunk[: len(chunk) // 4 * 4], np.int32)
                total, at = total + _worth(run_data, at), at + run_data.size
    except OSError:
        return None
    return total & (1 << 64) - 1


def _worth(numbers: Ids, first: int) -> int:
    """A sum over numbers, each times an odd one that tells its place among all, modulo 2**64."""
    ranks = np.arange(first, first + numbers.size, dtype=np.uint64)
    return int(((numbers.astype(np.int64) + 1).view(np.uint64) * ((ranks * _ODD) | np.uint64(1))).sum(dtype=np.uint64))
