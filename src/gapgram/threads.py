"""Work on all cores, its results in order: kernels release the lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """`work` of each item, a few of them at a time; no thread is started for one item.

    >>> list(in_order(lambda x: x * x, range(5), threads=2))
    [0, 1, 4, 9, 16]
    """
    source = iter(items)
    first = list(islice(source, 2 if threads > 1 else 0))
    if len(first) < 2:
        yield from map(work, chain(first, source))
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in chain(first, source):
            waiting.append(pool.submit(work, item))
            if len(waiting) > 4 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
