"""How much more a machine does with more threads, whatever the program: what bounds figures of `cores.py`.

    python benchmarks/machine.py [--threads 1,2,4,8,16] [--times 3]

Each thread does the same work: it computes in an array of its own in the cache of a processor, reads at random from
128 MB that all share, each place known from the last, or copies 64 MB of its own. Printed is how many times as much is
done as by one thread in the same time, the best of several tries.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

COPIED = 1 << 23  # numbers of 8 bytes
CHASED = 1 << 25  # numbers of 4 bytes
STEPS = 1_000_000  # from place to place


@njit(nogil=True)  # type: ignore[untyped-decorator]
def compute(numbers: Any, times: int) -> None:
    """Multiply and add, in an array that fits into the cache."""
    for _ in range(times):
        for i in range(numbers.size):
            numbers[i] = numbers[i] * np.float32(0.999) + np.float32(0.1)


@njit(nogil=True)  # type: ignore[untyped-decorator]
def read_at_random(following: Any, steps: int) -> int:
    """Go from place to place."""
    place = 0
    for _ in range(steps):
        place = following[place]
    return place


@njit(nogil=True)  # type: ignore[untyped-decorator]
def copy(source: Any, target: Any) -> None:
    """Copy a large array, changed a little."""
    for i in range(source.size):
        target[i] = source[i] + 1


def seconds(work: Callable[[int], object], threads: int) -> float:
    """That so many threads take, each for work of its own."""
    running = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    begin = time.perf_counter()
    for each in running:
        each.start()
    for each in running:
        each.join()
    return time.perf_counter() - begin


def one_circle(n: int) -> Any:
    """The place that follows each of n, all in one circle, at random."""
    order = np.random.default_rng(1).permutation(n).astype(np.int32)
    following = np.empty(n, np.int32)
    following[order] = np.roll(order, -1)
    return following


def main() -> None:
    """Measure this machine."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    counts = [int(n) for n in options.threads.split(",")]
    following, small = one_circle(CHASED), [np.ones(4096, np.float32) for _ in range(max(counts))]
    large = [(np.ones(COPIED), np.ones(COPIED)) for _ in range(max(counts))]
    kinds: dict[str, Callable[[int], object]] = {
        "compute": lambda i: compute(small[i], 60_000),
        "read at random": lambda i: read_at_random(following, STEPS),
        "copy": lambda i: copy(*large[i]),
    }
    for name, work in kinds.items():
        work(0)
        taken = {n: min(seconds(work, n) for _ in range(options.times)) for n in [1, *counts]}
        print(f"{name:<16}" + "".join(f"{n:>6}: {n * taken[1] / s:5.2f} x" for n, s in taken.items()), flush=True)


if __name__ == "__main__":
    main()
