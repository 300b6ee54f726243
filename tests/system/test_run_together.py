"""Threads that run a kernel together."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.sample_kernels import Samples

from gapgram.arrays import Integers
from gapgram.kernels import compiled
from gapgram.system.parallel import run_together


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_nobody_goes_on_before_all_have_come(samples: Samples, threads: int) -> None:
    numbers, sums = np.zeros(threads, np.int64), np.zeros(threads, np.int64)
    n = len(run_together(samples.handed_round, threads, 200, numbers, sums))
    assert sums[:n].tolist() == [sum(i + j for i in range(200) for j in range(n))] * n


@pytest.mark.parametrize("threads", [1, 4])
def test_each_piece_is_taken_once(samples: Samples, threads: int) -> None:
    taken = np.zeros(10_000, np.int64)
    run_together(samples.shared_out, threads, taken)
    assert set(taken.tolist()) == {2}


@pytest.mark.skipif(compiled.AS_PYTHON, reason="one thread alone where kernels run as plain Python")
def test_who_waits_goes_on_where_another_fails(samples: Samples) -> None:
    def work(me: int, threads: int, barrier: Integers) -> None:
        if me == 1:
            raise ValueError("thread 1 failed")
        numbers = np.zeros(threads, np.int64)
        samples.handed_round(me, threads, barrier, 3, numbers, numbers)

    with pytest.raises(ValueError, match="thread 1 failed"):
        run_together(work, 3)
