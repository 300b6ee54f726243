"""Functions written for LLVM in fewer instructions: the same results, and memory is given back once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gapgram.errors import CacheWarning
from gapgram.kernels import jit
from gapgram.kernels.jit import kernel

pytestmark = [
    pytest.mark.skipif(not jit.AS_MACHINE_CODE or jit.AS_PYTHON, reason="kernels are not compiled here"),
    pytest.mark.usefixtures("own_store"),
]

_LARGE = 1 << 20


def _ranges(start: Any, stop: Any, step: Any) -> Any:
    """The sum of what each kind of range goes over, and how many there were."""
    total, n = 0, 0
    for i in range(stop):
        total += 3 * i
        n += 1
    for i in range(start, stop):
        total += 5 * i
        n += 1
    for i in range(start, stop, step):
        total += 7 * i
        n += 1
    for i in range(stop, start, -2):
        total += 11 * i
        n += 1
    for i in range(np.int32(start), np.int32(stop)):
        total += 13 * i
        n += 1
    return total, n


def test_ranges_are_what_they_are_in_python() -> None:
    compiled = kernel(_ranges)
    for start in (-7, -1, 0, 2, 9):
        for stop in (-8, -1, 0, 1, 9, 10):
            for step in (-9, -2, -1, 1, 2, 3, 20):
                assert compiled(start, stop, step) == _ranges(start, stop, step)


def test_a_range_without_a_step_fails() -> None:
    with pytest.raises(MemoryError, match="the kernel failed"):
        kernel(_ranges)(0, 3, 0)


def test_an_unsigned_range() -> None:
    @kernel
    def summed(numbers: Any) -> Any:
        total = np.uint64(0)
        for i in range(numbers[0], numbers[1]):
            total += i
        return total

    assert summed(np.array([3, 7], np.uint64)) == 3 + 4 + 5 + 6


def _new(n: Any, wide: Any) -> Any:
    """Arrays of every kind of shape, by position and by name."""
    table, cube = np.zeros((n, 2), np.int16), np.zeros((2, n, wide))
    flags, real, named = np.empty(n, np.bool_), np.zeros(3), np.zeros(n, dtype=np.uint32)
    for i in range(n):
        flags[i] = i % 2 == 0
    table[n - 1, 1] = wide
    cube[1, n - 1, wide - 1] = 0.5
    return table, cube, flags, real, named


def test_new_arrays_are_what_they_are_in_python() -> None:
    compiled = kernel(_new)
    for _ in range(3):
        for found, expected in zip(compiled(3, 4), _new(3, 4), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(MemoryError, match="the kernel failed"):
        compiled(-1, 4)
    with pytest.raises(MemoryError, match="the kernel failed"):
        compiled(1 << 40, 1 << 40)


def _used_on_one_way(n: Any, flag: Any) -> Any:
    """Numba deletes what is used on one of two ways on it, and again where they meet."""
    made = np.full(n, 2)
    total = 0
    if flag:
        total += made[n - 1]
    other = np.full(n, 3)
    return total + other[0]


def _used_before_a_loop(n: Any, flag: Any) -> Any:
    """Numba deletes what a loop does not use any more at the head of the loop, each time."""
    made = np.full(n, 2)
    total = 0
    if flag:
        total += made[n - 1]
    while total < 9:
        total += np.full(n, 3)[n - 1]
    return total


def _assigned_in_a_loop(n: Any, flag: Any) -> Any:
    """Arrays that live for one round, for all, or until a loop is left."""
    kept = np.full(n, 1)
    total = 0
    for i in range(4):
        made = kept[i:]
        if flag and i == 2:
            kept = made.copy()
            continue
        last = np.full(n, i)
        total += made[0] + last[n - 1]
        if total > 100:
            break
    return total + last[0] + kept[0]


def _returned_early(n: Any, flag: Any) -> Any:
    made = np.full(n, 5)
    for i in range(n):
        row = made[i : i + 2]
        if flag and i == 3:
            return row[0]
        if row.size < 2:
            return -1
    return 0


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("function", [_used_on_one_way, _used_before_a_loop, _assigned_in_a_loop, _returned_early])
def test_memory_is_given_back_once(function: Callable[..., Any], flag: bool) -> None:
    resource = pytest.importorskip("resource")
    compiled = kernel(function)
    assert compiled(9, flag) == function(9, flag)
    compiled(_LARGE, flag)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(9):
        compiled(_LARGE, flag)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 4 * 8 * _LARGE / 1024
    for _ in range(100):
        assert compiled(9, flag) == function(9, flag)  # what was given back twice would be two arrays' by now


def test_arguments_stay_out_of_memory() -> None:
    from gapgram.native.kinds import kind_of
    from gapgram.native.quicker import shortcuts
    from gapgram.native.target import TARGET, dispatcher_of
    from gapgram.native.words import type_of

    def middle(numbers: Any, n: Any) -> Any:
        return numbers[n] if numbers[0] > 0 else numbers[n - 1]

    assert TARGET.target_context
    dispatcher, types = dispatcher_of(middle, ""), tuple(type_of(kind_of(each)) for each in (np.arange(3), 1))
    with shortcuts():
        dispatcher.compile(types)
    text = dispatcher.overloads[types].library.get_llvm_str()
    assert "alloca { " not in text and "insertvalue" not in text


def test_a_kernel_that_catches_errors_is_left_to_numba() -> None:
    @kernel
    def first_or_zero(numbers: Any) -> Any:
        try:
            if numbers.size == 0:
                raise ValueError
            return numbers[0]
        except Exception:
            return 0.0

    with pytest.warns(CacheWarning, match="kernels do not catch errors"):
        assert (first_or_zero(np.zeros(0)), first_or_zero(np.ones(2))) == (0.0, 1.0)
