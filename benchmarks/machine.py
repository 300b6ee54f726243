"""How much more a machine does with more threads, whatever the program: what bounds figures of `cores.py`.

    python benchmarks/machine.py [--threads 1,2,4,8,16] [--times 3]

Each thread does the same work: it computes in an array of its own in the cache of a processor, reads at random from
128 MB that all share, or copies 64 MB of its own, all in calls of NumPy that let other threads run.
Printed is how many times as much is done as by one thread in the same time, the best of several tries.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

COPIED = 1 << 23  # numbers of 8 bytes
READ = 1 << 25  # numbers of 4 bytes
STEPS = 4_000_000  # places that a thread reads
PIECE = 1 << 14  # places at a time


def compute(numbers: Any, times: int) -> None:
    """Compute in an array that fits into the cache."""
    for _ in range(times):
        np.arctan(numbers, out=numbers)


def read_at_random(table: Any, places: Any) -> None:
    """Read from places all over an array; what is read is summed a piece at a time, so that nothing is written."""
    for first in range(0, places.size, PIECE):
        table[places[first : first + PIECE]].sum()


def copy(source: Any, target: Any) -> None:
    """Copy a large array, changed a little."""
    np.add(source, 1, out=target)


def seconds(work: Callable[[int], object], threads: int) -> float:
    """That so many threads take, each for work of its own."""
    running = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    begin = time.perf_counter()
    for each in running:
        each.start()
    for each in running:
        each.join()
    return time.perf_counter() - begin


def main() -> None:
    """Measure this machine."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    counts = [int(n) for n in options.threads.split(",")]
    draw, small = np.random.default_rng(1), [np.ones(1 << 14) for _ in range(max(counts))]
    table, places = np.ones(READ, np.int32), [draw.integers(0, READ, STEPS) for _ in range(max(counts))]
    large = [(np.ones(COPIED), np.ones(COPIED)) for _ in range(max(counts))]
    kinds: dict[str, Callable[[int], object]] = {
        "compute": lambda i: compute(small[i], 3_000),
        "read at random": lambda i: read_at_random(table, places[i]),
        "copy": lambda i: copy(*large[i]),
    }
    for name, work in kinds.items():
        work(0)
        taken = {n: min(seconds(work, n) for _ in range(options.times)) for n in [1, *counts]}
        print(f"{name:<16}" + "".join(f"{n:>6}: {n * taken[1] / s:5.2f} x" for n, s in taken.items()), flush=True)


if __name__ == "__main__":
    main()
