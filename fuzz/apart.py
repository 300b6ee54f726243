"""Many inputs in a process of their own, which may crash or hang: it is watched, and another goes on after it."""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import resource
import signal
import struct
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gapgram.errors import GapgramError

MOST_SECONDS = 1.0 if "FUZZ_LIBRARY" not in os.environ else 5.0  # of processor time for an input; sanitizers are slow
MOST_BYTES = 200 << 20  # of memory beside what the process holds before the first
HANGING_SECONDS = 20  # of processor time, after which a process is ended
_STATE = struct.Struct("<qqqq")  # the number of the input, how many were refused, answered; microseconds of the slowest


@dataclass
class Outcome:
    """What came of many inputs: how many, how many were refused or answered, and each failure by its number."""

    tried: int = 0
    refused: int = 0
    answered: int = 0
    slowest: float = 0.0
    failures: list[tuple[int, str]] = field(default_factory=list)

    def by_kind(self) -> Counter[str]:
        """How many failures there are of each kind."""
        return Counter(what.partition(":")[0] for _, what in self.failures)


def try_all(numbers: range, attempt: Callable[[int], None], folder: Path) -> Outcome:
    """Try every input, given by its number, in processes that are started anew after each crash."""
    outcome, said = Outcome(len(numbers)), folder / f"failures.{os.getpid()}"
    shared = mmap.mmap(-1, _STATE.size)
    said.write_text("", "utf-8")
    left = numbers
    while left:
        _STATE.pack_into(shared, 0, left[0], outcome.refused, outcome.answered, int(outcome.slowest * 1e6))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads: the child needs none
            child = os.fork()
        if child == 0:
            _child(left, attempt, shared, said)
        _, status = os.waitpid(child, 0)
        number, outcome.refused, outcome.answered, slowest = _STATE.unpack_from(shared)
        outcome.slowest = slowest / 1e6
        if status == 0:
            break
        outcome.failures.append((number, _end_of(status)))
        left = left[left.index(number) + 1 :]
    outcome.failures += _read(said)
    said.unlink()
    return outcome


def _read(said: Path) -> Iterator[tuple[int, str]]:
    for line in said.read_text("utf-8").splitlines():
        number, what = json.loads(line)
        yield number, what


def _end_of(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "hang" if number in (signal.SIGPROF, signal.SIGALRM) else f"crash: {signal.Signals(number).name}"
    return f"crash: exit code {os.WEXITSTATUS(status)}"


def _child(numbers: range, attempt: Callable[[int], None], shared: mmap.mmap, said: Path) -> None:
    """Try inputs until all are done; never returns."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MOST_BYTES, held + MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    faulthandler.disable()
    _, refused, answered, slowest = _STATE.unpack_from(shared)
    with said.open("a", encoding="utf-8") as failures:
        for number in numbers:
            _STATE.pack_into(shared, 0, number, refused, answered, slowest)
            signal.setitimer(signal.ITIMER_PROF, HANGING_SECONDS)
            signal.setitimer(signal.ITIMER_REAL, 30 * HANGING_SECONDS)
            begun, what = time.process_time(), ""
            try:
                attempt(number)
                answered += 1
            except GapgramError:
                refused += 1
            except BaseException as error:
                what = f"{type(error).__name__}: {error!s:.300}"
            took = time.process_time() - begun
            slowest = max(slowest, int(took * 1e6))
            if took > MOST_SECONDS and not what:
                what = f"slow: {took:.1f} seconds"
            if what:
                failures.write(json.dumps([number, what]) + "\n")
                failures.flush()
        _STATE.pack_into(shared, 0, numbers[-1], refused, answered, slowest)
    os._exit(0)
