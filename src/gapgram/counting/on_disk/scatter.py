"""A file of windows in several runs, written by several threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from gapgram.arrays import Ids, Integers


class Scattered:
    """A file of windows in several runs: each added chunk has some windows for every run, which follow its last."""

    def __init__(self, path: Path, begins: Integers, width: int, threads: int) -> None:
        self._path, self._fill, self._width = path, begins.copy(), width
        self._pool, self._free = ThreadPoolExecutor(threads), threading.Semaphore(threads + 1)
        self._futures: list[Future[None]] = []

    def __enter__(self) -> Scattered:
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


def _write_at(handle: int, array: Ids, offset: int) -> None:
    data = np.ascontiguousarray(array).data.cast("B")
    while data.nbytes:
        written = os.pwrite(handle, data, offset)
        data, offset = data[written:], offset + written
