"""Work that other threads do ahead of who needs its results, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_END: Any = object()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items; while one is used, another thread makes the next.

    >>> list(ahead(n * n for n in range(4)))
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


def in_order(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """What `work` makes of each item, in their order; at most a few results wait to be taken.

    >>> list(in_order(lambda n: n * n, range(4), threads=2))
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


def on_all_cores(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """As `in_order`, for work that may be little: no thread is started for a single item.

    >>> list(on_all_cores(lambda n: n * n, range(4), threads=2)), list(on_all_cores(abs, [-1], threads=2))
    ([0, 1, 4, 9], [1])
    """
    source = iter(items)
    first = list(islice(source, 2 if threads > 1 else 0))
    if len(first) < 2:
        return map(work, chain(first, source))
    return in_order(work, chain(first, source), threads)
