"""A layer that lets the n-th operation on files fail: writes, syncs, renames, and what else changes a disk.

    for fault in each_fault(monkeypatch):
        with fault:                 # the first operation fails, then the second, … until none does
            save(path)
        assert path.read_bytes() in (old, new)

An operation fails as a full disk would have it, or as the test says, for example by ending the process; where the fault
is lasting, so do all operations after it. A write that fails has written half of its bytes. Files are watched that
Python opens for writing in this process; what other processes write, and what is written through a mapping or by
`ndarray.tofile`, is not.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import pytest

from gapgram.errors import GapgramError

_CALLS = ("fsync", "replace", "rename", "truncate", "posix_fallocate", "pwrite", "mkdir", "chmod", "chown")


def no_space() -> None:
    """What a full disk says."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Fault:
    """Lets the n-th operation fail inside a `with` block. An error of ours ends the block; any other is a defect."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, n: int, fail: Callable[[], None] = no_space, *, lasting: bool = False
    ) -> None:
        self._monkeypatch, self._left, self._fail, self._lasting = monkeypatch, n, fail, lasting
        self.met = ""  # the operation that failed; none did where this stays empty
        self.error: GapgramError | None = None

    def __enter__(self) -> Fault:
        self._patched = self._monkeypatch.context()
        patch = self._patched.__enter__()
        for name in _CALLS:
            if hasattr(os, name):
                patch.setattr(os, name, self._watched(name, getattr(os, name)))
        for module in (io, builtins):
            patch.setattr(module, "open", self._opened)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._patched.__exit__(None, None, None)
        self.error = error if isinstance(error, GapgramError) else None
        return self.error is not None

    def due(self, name: str) -> bool:
        """Count an operation; whether it is one to fail."""
        self._left -= 1
        if self._left == 0:
            self.met = name
        return self._left == 0 or (self._lasting and self._left < 0)

    def fail(self) -> None:
        """Fail as the test says."""
        self._fail()

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            if self.due(name):
                self.fail()
            return call(*arguments, **options)

        return watched

    def _opened(self, file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if "b" not in mode or not set(mode) & set("wax+"):
            return _open(file, mode, *arguments, **options)
        raw = _WatchedFile(file, mode.replace("b", ""))
        raw.fault = self
        return io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)


_open = io.open


class _WatchedFile(io.FileIO):
    """A file that asks before each write."""

    fault: Fault

    def write(self, data: Any) -> int:
        if self.fault.due("write"):
            view = memoryview(data).cast("B")
            super().write(view[: len(view) // 2])
            self.fault.fail()
        return super().write(data)


def each_fault(
    monkeypatch: pytest.MonkeyPatch, fail: Callable[[], None] = no_space, *, lasting: bool = False
) -> Iterator[Fault]:
    """Faults at the first operation, the second, … until one is not met any more."""
    n = 0
    while True:
        n += 1
        fault = Fault(monkeypatch, n, fail, lasting=lasting)
        yield fault
        if not fault.met:
            assert n > 1, "nothing was written, so that nothing was tried"
            return
