"""Threads: how many there are to use, work done ahead of who needs it, work on all cores in order or together."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, ThreadPoolExecutor, wait
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


class SharedCores:
    """Cores that two kinds of work share: one takes all that are free at a time, the other, meanwhile, one at a time.

    Some of them are kept for the first until it leaves.

    >>> cores = SharedCores(5, kept=3)
    >>> with cores.one(), cores.one():
    ...     cores.rest
    3
    """

    def __init__(self, threads: int, *, kept: int) -> None:
        self.threads, self.kept, self._taken, self._is_stopped = threads, kept, 0, False
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """One core, as soon as there is one that is not kept."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped or self._taken < self.threads - self.kept)
            if self._is_stopped:
                raise CancelledError
            self._taken += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken -= 1
                self._changed.notify_all()

    @property
    def rest(self) -> int:
        """How many cores there are that the other work has not taken."""
        with self._changed:
            return max(1, self.threads - self._taken)

    def leave(self, *, stop: bool = False) -> None:
        """Keep no core any longer; if `stop`, let work that waits for one end."""
        with self._changed:
            self.kept, self._is_stopped = 0, stop
            self._changed.notify_all()


class Team:
    """Threads that run a kernel together, and wait for each other inside it (`kernels.meeting`).

    >>> with Team(1) as team:
    ...     team.run(lambda me, threads: (me, threads))
    [(0, 1)]
    """

    def __init__(self, threads: int, cores: SharedCores | None = None) -> None:
        """cores: that other work takes some of; the others are the team's."""
        self.threads, self._cores = 1 if AS_PYTHON else threads, cores
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
        threads = min(self.threads, self._cores.rest) if self._cores is not None else self.threads
        futures = [self._pool.submit(work, me, threads) for me in range(threads)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            if any(future.done() and future.exception() is not None for future in futures):
                stop(self.meeting)
            return [future.result() for future in futures]
        except BaseException:
            stop(self.meeting)
            raise
