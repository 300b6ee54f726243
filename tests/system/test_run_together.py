"""Threads that run a kernel together."""

from __future__ import annotations

import numpy as np
import pytest

from gapgram.arrays import Integers
from gapgram.kernels import jit
from gapgram.kernels.jit import kernel
from gapgram.kernels.meeting import meet, next_piece, share_out_again
from gapgram.system.parallel import run_together


@kernel
def handed_round(me, threads, meeting, rounds, numbers, sums):  # type: ignore[no-untyped-def]
    """In every round each thread writes its number, and adds up what all wrote once all have."""
    for i in range(rounds):
        numbers[me] = i + me
        meet(meeting, threads)
        for j in range(threads):
            sums[me] += numbers[j]
        meet(meeting, threads)


@kernel
def shared_out(me, threads, meeting, taken):  # type: ignore[no-untyped-def]
    """Threads take pieces until there are none; twice."""
    for _ in range(2):
        at = next_piece(meeting, 3)
        while at < taken.size:
            taken[at : at + 3] += 1
            at = next_piece(meeting, 3)
        meet(meeting, threads)
        if me == 0:
            share_out_again(meeting)
        meet(meeting, threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_nobody_goes_on_before_all_have_come(threads: int) -> None:
    numbers, sums = np.zeros(threads, np.int64), np.zeros(threads, np.int64)
    n = len(run_together(handed_round, threads, 200, numbers, sums))
    assert sums[:n].tolist() == [sum(i + j for i in range(200) for j in range(n))] * n


@pytest.mark.parametrize("threads", [1, 4])
def test_each_piece_is_taken_once(threads: int) -> None:
    taken = np.zeros(10_000, np.int64)
    run_together(shared_out, threads, taken)
    assert set(taken.tolist()) == {2}


@pytest.mark.skipif(jit.AS_PYTHON, reason="one thread alone where kernels run as plain Python")
def test_who_waits_goes_on_where_another_fails() -> None:
    def work(me: int, threads: int, meeting: Integers) -> None:
        if me == 1:
            raise ValueError("thread 1 failed")
        numbers = np.zeros(threads, np.int64)
        handed_round(me, threads, meeting, 3, numbers, numbers)

    with pytest.raises(ValueError, match="thread 1 failed"):
        run_together(work, 3)
