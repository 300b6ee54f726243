"""Computing beside the network: a bounded pool of threads, a bounded queue, a time limit.

Kernels release the interpreter's lock, so that the service goes on listening while they run. A request that has
waited too long is answered without having been started, and a long job looks at its deadline between steps, so that
no thread is held for long after its request was given up.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass


class Overloaded(Exception):
    """Too many requests wait already."""


class TooSlow(Exception):
    """The time limit of a request has passed."""


@dataclass(frozen=True)
class Deadline:
    """A moment on the monotonic clock after which nobody waits for the answer.

    >>> Deadline.after(60).check()
    """

    moment: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The moment so many seconds from now."""
        return cls(time.monotonic() + seconds)

    @classmethod
    def never(cls) -> Deadline:
        """For work that no request waits for, such as that of the start."""
        return cls(math.inf)

    def check(self) -> None:
        """Stop a job that has lost its reader."""
        if time.monotonic() > self.moment:
            raise TooSlow


Job = Callable[[Deadline], bytes]


class Workshop:
    """Runs jobs in threads, as many at a time as there are cores."""

    def __init__(self, *, seconds: float, waiting: int, threads: int | None = None) -> None:
        self._seconds, self._waiting = seconds, waiting
        self._pool = ThreadPoolExecutor(threads or max(2, os.cpu_count() or 1), "gapgram")
        self._pending = 0

    async def run(self, job: Job) -> bytes:
        """What the job returns; raises `Overloaded` or `TooSlow`. To be called from one event loop only."""
        if self._pending >= self._waiting:
            raise Overloaded
        deadline = Deadline.after(self._seconds)
        self._pending += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, _started, job, deadline)
        future.add_done_callback(self._finished)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except asyncio.TimeoutError:
            raise TooSlow from None

    def _finished(self, future: asyncio.Future[bytes]) -> None:
        self._pending -= 1
        if not future.cancelled():
            future.exception()  # looked at, or asyncio complains of an error nobody has seen

    def close(self) -> None:
        """Let go of the threads; jobs not begun are dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _started(job: Job, deadline: Deadline) -> bytes:
    deadline.check()
    return job(deadline)
