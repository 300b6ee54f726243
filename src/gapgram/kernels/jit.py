"""The decorator of every kernel, and word of when one is compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import event


def _cache_folder() -> str:
    """A folder beside the sources that changes with them: a cached kernel does not notice changes of what it calls."""
    folder = Path(__file__).parent
    sources = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.rglob("*.py"))))
    return str(folder / "__pycache__" / sources.hexdigest()[:12])


_CACHE = _cache_folder()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use, cache on disk, release the lock; no fast-math, so results never vary."""
    if numba.config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)  # hashes overflow on purpose
    chosen = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = chosen or _CACHE
    try:
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = chosen


def entry(compiled: Callable[..., Any], *arguments: object) -> Callable[..., Any]:
    """A kernel for arguments of just these types: calling it does not look at types again, which takes microseconds."""
    if numba.config.DISABLE_JIT:
        return compiled
    types = tuple(numba.typeof(argument) for argument in arguments)
    compiled.compile(types)  # type: ignore[attr-defined]
    return compiled.overloads[types].entry_point  # type: ignore[attr-defined,no-any-return]


def bound_kernel(compiled: Callable[..., Any], examples: Callable[[Any], tuple[object, ...]]) -> Any:
    """An attribute of a class: the `entry` of a kernel for arguments like the examples that each object gives."""
    return cached_property(lambda owner: entry(compiled, *examples(owner)))


class _OnFirstCompilation(event.Listener):  # type: ignore[misc]
    tell: Callable[[], None] | None = None

    def on_start(self, event: object) -> None:
        if self.tell is not None:
            tell, self.tell = self.tell, None
            tell()

    def on_end(self, event: object) -> None:
        pass


_LISTENER = _OnFirstCompilation()
event.register("numba:compile", _LISTENER)


def on_first_compilation(tell: Callable[[], None]) -> None:
    """Call `tell` once, when a kernel is compiled rather than taken from the cache; the last who asks is told."""
    _LISTENER.tell = tell
