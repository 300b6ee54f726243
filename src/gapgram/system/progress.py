"""Progress of long work: a bar on a terminal, silence when piped or when asked for."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class Progress:
    """A bar with a unit; use it as a context manager.

    >>> with Progress("counting", total=3, progress=False) as bar:
    ...     bar.advance(3)
    """

    def __init__(self, title: str, *, total: float | None = None, unit: str = "", progress: bool = False) -> None:
        self._bar: Any = None
        if progress and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                desc=title, total=total, unit=unit, unit_scale=True, file=sys.stderr, leave=False, delay=0.3
            )

    def advance(self, amount: float = 1) -> None:
        """Say that this much more is done."""
        if self._bar is not None:
            self._bar.update(amount)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
