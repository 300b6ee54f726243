"""Progress of long work: a bar on a terminal or in a notebook, silence when piped or when asked for."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

NO_BAR: contextlib.AbstractContextManager[Callable[[float], Any]] = contextlib.nullcontext(lambda n: None)


@contextlib.contextmanager
def progress_bar(
    title: str, *, total: float | None = None, unit: str = "", progress: bool = False
) -> Iterator[Callable[[float], Any]]:
    """A bar that is there while work is under way; gives a function that says how much more is done.

    >>> with progress_bar("counting", total=3, progress=False) as advance:
    ...     advance(3)
    """
    if not progress or not (sys.stderr.isatty() or "ipykernel" in sys.modules):  # which runs notebooks
        yield lambda _: None
        return
    from tqdm import tqdm

    with tqdm(
        desc=title, total=total, unit=unit, unit_scale=True, file=sys.stderr, leave=False, delay=0.3
    ) as bar:
        yield bar.update
