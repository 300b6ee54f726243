"""Threads: how many there are to use, work done ahead of who needs it, work on all cores in order or together."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from gapgram.arguments import checked_whole
from gapgram.errors import UsageError
from gapgram.kernels.barrier import BARRIER_NUMBERS, STOPPED
from gapgram.kernels.compiled import AS_PYTHON
from gapgram.system.progress import progress_bar

Item = TypeVar("Item")
Result = TypeVar("Result")

SMALLER = 4  # the last pieces of some work are so much smaller than the others
_SHARES = 64  # a piece is at most this share of what is left
_END: Any = object()


def checked_threads(threads: int | None) -> int:
    """The number of threads to use: all cores unless said otherwise."""
    if threads is not None and checked_whole("threads", threads) < 1:
        raise UsageError(f"threads {threads}: expected 1 or more")
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return threads


def piece_size(left: int, most: int) -> int:
    """How much of what is left of some work a thread takes next: less at the end, so that all end at about one time.

    >>> [piece_size(left, 100) for left in (9000, 5000, 1000, 10)]
    [100, 78, 25, 25]
    """
    return max(1, min(most, max(most // SMALLER, left // _SHARES)))


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


def parallel_map(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int | None = None,
    *,
    ahead: int = 1,
    always_beside: bool = False,
) -> Iterator[Result]:
    """What `work` makes of each item, in their order; at most a few results wait to be taken.

    threads: all cores unless said otherwise.
    ahead: how many results for each thread; with few, all wait for one that takes long.
    always_beside: work in other threads also for a single item, or in a single thread, beside who takes the results.

    >>> list(parallel_map(lambda n: n * n, range(4), threads=2)), list(parallel_map(abs, [-1], threads=2))
    ([0, 1, 4, 9], [1])
    """
    threads = checked_threads(threads)
    return _mapped(work, iter(items), threads, ahead * threads, always_beside)


def _mapped(
    work: Callable[[Item], Result], source: Iterator[Item], threads: int, most_waiting: int, always_beside: bool
) -> Iterator[Result]:
    first = list[Item]()
    if not always_beside:
        first += islice(source, 2 if threads > 1 else 0)
        if len(first) < 2:
            yield from map(work, chain(first, source))
            return
    with ThreadPoolExecutor(threads) as pool:
        yield from results_in_order(pool, work, chain(first, source), most_waiting)


def results_in_order(
    pool: Executor, work: Callable[[Item], Result], items: Iterable[Item], most_waiting: int
) -> Iterator[Result]:
    """What `work` makes of each item in a pool, in their order; so many results wait to be taken at most."""
    waiting = deque[Future[Result]]()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > most_waiting:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


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


def run_together(kernel: Callable[..., Result], threads: int, *arguments: Any) -> list[Result]:
    """What a kernel gives in threads that run at the same time, and wait for each other inside it (`kernels.barrier`).

    It is called with the number of the thread, how many there are, where they meet, and the arguments.

    >>> run_together(lambda me, threads, barrier, word: (me, threads, word), 1, "here")
    [(0, 1, 'here')]
    """
    barrier = np.zeros(BARRIER_NUMBERS, np.int64)
    if threads == 1 or AS_PYTHON:
        return [kernel(0, 1, barrier, *arguments)]
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(kernel, me, threads, barrier, *arguments) for me in range(threads)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            barrier[STOPPED] = 1  # nobody is to wait for one that failed
    return [future.result() for future in futures]


_busy = list[None]()  # an entry for each thread that keeps a core busy beside those that run together


@contextlib.contextmanager
def busy_beside() -> Iterator[None]:
    """While a thread is in here, it takes a core from those that `cores_left` speaks of."""
    _busy.append(None)
    try:
        yield
    finally:
        _busy.pop()


def cores_left(threads: int, cores: int | None = None) -> int:
    """How many of some threads are to run together now: where one had to share its core, all would wait for it.

    cores: that there are; by default, those of this machine.

    >>> with busy_beside():
    ...     cores_left(4, cores=4), cores_left(4, cores=16), cores_left(1, cores=1)
    (3, 4, 1)
    """
    return max(1, min(threads, checked_threads(cores) - len(_busy)))


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

    @contextlib.contextmanager
    def beside(self, work: Callable[[], object]) -> Iterator[None]:
        """The first kind of work, while the other is done in a thread of its own; the other is awaited at the end.

        Where the first fails, the other ends as soon as it asks for a core.
        """
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(work)
            try:
                yield
            except BaseException:
                self._is_stopped = True
                raise
            finally:
                with self._changed:
                    self.kept = 0
                    self._changed.notify_all()
            other.result()
