"""The decorator of every kernel, and word of when one is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import event


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use, cache on disk, release the lock; no fast-math, so results never vary."""
    if numba.config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)  # hashes overflow on purpose
    return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]


class _OnFirstCompilation(event.Listener):  # type: ignore[misc]
    def __init__(self, tell: Callable[[], None]) -> None:
        self.tell: Callable[[], None] | None = tell

    def on_start(self, event: object) -> None:
        if self.tell is not None:
            self.tell()
            self.tell = None

    def on_end(self, event: object) -> None:
        pass


def on_first_compilation(tell: Callable[[], None]) -> None:
    """Call `tell` once, when a kernel is really compiled rather than taken from the cache."""
    event.register("numba:compile", _OnFirstCompilation(tell))
