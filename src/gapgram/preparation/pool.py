"""Work on all cores: order kept, a bounded number of batches in flight."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from gapgram.errors import TextError, UsageError

Work = TypeVar("Work")
Result = TypeVar("Result")


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(function: Callable[[Work], Result], batches: Iterable[Work], processes: int | None) -> Iterator[Result]:
    """The results of a function for each batch, in the order of the batches.

    At most four batches a process are in flight, so memory does not grow with the input. The function and
    the batches must be picklable; with one process nothing is started.

    >>> list(in_order(abs, [-1, -2], 1))
    [1, 2]
    """
    processes = available_cores() if processes is None else processes
    if processes < 1:
        raise UsageError(f"processes {processes}: expected 1 or more")
    if processes == 1:
        yield from map(function, batches)
        return
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _start_worker)
    try:
        yield from _keep_busy(pool, function, batches, 4 * processes)
    except BrokenProcessPool:
        raise TextError("a worker process died, perhaps for lack of memory: try fewer processes") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _keep_busy(
    pool: ProcessPoolExecutor, function: Callable[[Work], Result], batches: Iterable[Work], limit: int
) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    for batch in batches:
        waiting.append(pool.submit(function, batch))
        if len(waiting) >= limit:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _start_worker() -> None:
    """Leave interrupts to the parent, and end when it is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
