"""Cores that two kinds of work share."""

from __future__ import annotations

from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from gapgram.system.parallel import SharedCores


def take(cores: SharedCores) -> int:
    with cores.one():
        return cores.rest


def test_what_is_kept_is_free_once_the_first_work_leaves() -> None:
    cores = SharedCores(3, kept=2)
    with ThreadPoolExecutor(1) as pool:
        with cores.one():
            assert cores.rest == 2
            second = pool.submit(take, cores)
            assert not second.done()
            cores.leave()
            assert second.result() == 1
        assert cores.rest == 3


def test_work_that_waits_ends_where_the_first_fails() -> None:
    cores = SharedCores(2, kept=2)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(take, cores)
        cores.leave(stop=True)
        with pytest.raises(CancelledError):
            waiting.result()
