"""Cores that two kinds of work share."""

from __future__ import annotations

from concurrent.futures import CancelledError

import pytest

from gapgram.system.parallel import SharedCores


def take(cores: SharedCores) -> int:
    with cores.one():
        return cores.rest


def test_what_is_kept_is_free_once_the_first_work_ends() -> None:
    cores, seen = SharedCores(3, kept=2), list[int]()
    with cores.one():
        with cores.beside(lambda: seen.append(take(cores))):
            assert cores.rest == 2 and not seen
        assert seen == [1]
    assert cores.rest == 3


def test_work_that_waits_ends_where_the_first_fails() -> None:
    cores, ended = SharedCores(2, kept=2), list[bool]()

    def other() -> None:
        with pytest.raises(CancelledError):
            take(cores)
        ended.append(True)

    with pytest.raises(ValueError, match="the first"), cores.beside(other):
        raise ValueError("the first")
    assert ended == [True]


def test_an_error_of_the_other_work_is_told() -> None:
    def other() -> None:
        raise ValueError("the other")

    with pytest.raises(ValueError, match="the other"), SharedCores(2, kept=1).beside(other):
        pass
