"""Progress of long work: a bar on a terminal or in a notebook, one line when piped, silence when asked for."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

_PATIENCE = 20.0  # seconds after which a script is told, once, what takes long
_told: set[str] = set()  # the work that it was told of


@contextlib.contextmanager
def progress_bar(
    title: str, *, total: float | None = None, unit: str = "", progress: bool = False
) -> Iterator[Callable[[float], Any]]:
    """A bar that is there while work is under way; gives a function that says how much more is done.

    >>> with progress_bar("counting", total=3, progress=False) as advance:
    ...     advance(3)
    """
    if not progress:
        yield lambda _: None
        return
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):  # which runs notebooks
        yield _one_line(title)
        return
    from tqdm import tqdm

    with tqdm(
        desc=title, total=total, unit=unit, unit_scale=True, file=sys.stderr, leave=False, delay=0.3
    ) as bar:
        yield bar.update


def _one_line(title: str) -> Callable[[float], None]:
    """Tells a script, once in a process, that work takes long."""
    began = time.monotonic()

    def advance(_: float) -> None:
        if not _told and time.monotonic() - began > _PATIENCE:
            _told.add(title)
            sys.stderr.write(f"gapgram: {title} takes long, and goes on (-q hides this)\n")

    return advance
