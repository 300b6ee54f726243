"""Threads: how many there are to use, work done ahead of who needs it, work on all cores in order or together."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from itertools import chain, islice
from typing import Any, TypeVar

from gapgram.arguments import checked_whole
from gapgram.errors import UsageError
from gapgram.kernels.jit import AS_PYTHON
from gapgram.kernels.meeting import new_meeting, stop
from gapgram.system.progress import progress_bar

Item = TypeVar("Item")
Result = TypeVar("Result")

_END: Any = object()


def checked_threads(threads: int | None) -> int:
    """The number of threads to use: all cores unless said otherwise."""
    if threads is not None and checked_whole("threads", threads) < 1:
        raise UsageError(f"threads {threads}: expected 1 or more")
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return threads


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items; while one is used, another thread makes the next.

    >>> list(read_ahead(n * n for n in range(4)))
    [0, 1, 4, 9]
    """
    source = iter(items)
    try:
        with ThreadPoolExecutor(1) as pool:
            following = pool.submit(next, source, _END)
            while (item := following.result()) is not _END:
                following = pool.submit(next, source, _END)
                yield item
    finally:
        if isinstance(source, Generator):
            source.close()


def map_in_order(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """What `work` makes of each item, in their order; at most a few results wait to be taken.

    >>> list(map_in_order(lambda n: n * n, range(4), threads=2))
    [0, 1, 4, 9]
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def parallel_map(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """As `map_in_order`, for work that may be little: no thread is started for a single item.

    >>> list(parallel_map(lambda n: n * n, range(4), threads=2)), list(parallel_map(abs, [-1], threads=2))
    ([0, 1, 4, 9], [1])
    """
    source = iter(items)
    first = list(islice(source, 2 if threads > 1 else 0))
    if len(first) < 2:
        return map(work, chain(first, source))
    return map_in_order(work, chain(first, source), threads)


def all_in_threads(
    work: Callable[[Item], Result], items: Sequence[Item], threads: int, *, title: str, unit: str, progress: bool
) -> list[Result]:
    """The results in the order of the items; the first error, or Ctrl-C, cancels what has not begun."""
    pool = ThreadPoolExecutor(threads)
    try:
        with progress_bar(title, total=len(items), unit=unit, progress=progress) as advance:
            futures = [pool.submit(work, item) for item in items]
            for future in futures:
                future.add_done_callback(lambda _: advance(1))
            wait(futures, return_when=FIRST_EXCEPTION)
            return [future.result() for future in futures]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class Team:
    """Threads that run a kernel together, and wait for each other inside it (`kernels.meeting`).

    >>> with Team(1) as team:
    ...     team.run(lambda me, threads: (me, threads))
    [(0, 1)]
    """

    def __init__(self, threads: int) -> None:
        self.threads = 1 if AS_PYTHON else threads
        self.meeting = new_meeting()
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def run(self, work: Callable[[int, int], Result]) -> list[Result]:
        """What `work` gives for the number of each thread, and how many there are, all of them at the same time."""
        if self._pool is None:
            return [work(0, 1)]
        futures = [self._pool.submit(work, me, self.threads) for me in range(self.threads)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            if any(future.done() and future.exception() is not None for future in futures):
                stop(self.meeting)
            return [future.result() for future in futures]
        except BaseException:
            stop(self.meeting)
            raise
