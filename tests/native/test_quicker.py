"""Numba's compiler with less to do: the same results, and Numba is left as it was."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

from gapgram.kernels import jit
from gapgram.native.kinds import kind_of
from gapgram.native.loading import load

pytestmark = pytest.mark.skipif(not jit.AS_MACHINE_CODE or jit.AS_PYTHON, reason="kernels are not compiled here")

_NUMBERS = np.arange(12, dtype=np.int64)
_numbered = count()


def _compiled(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """A function of Python that runs machine code for arguments of the kinds of these."""
    from gapgram.native.compiling import machine_code
    from gapgram.native.target import dispatcher_of

    name = f"{function.__name__}.{next(_numbered)}.0"
    return load(machine_code(dispatcher_of(function, ""), name, [kind_of(each) for each in arguments]), name)


def _sum_of_two(numbers: Any) -> Any:
    made = np.empty(3)
    made[:] = numbers[0]
    return made[0] + numbers[1]


def _unknown(numbers: Any) -> Any:
    return numbers.of_no_such_name


def test_numba_is_left_as_it_was() -> None:
    from numba.core.errors import TypingError

    from gapgram.native import quicker

    before = [getattr(owner, name) for owner, name, _ in quicker._SHORTCUTS]
    _compiled(_sum_of_two, _NUMBERS)
    assert [getattr(owner, name) for owner, name, _ in quicker._SHORTCUTS] == before
    with pytest.raises(TypingError, match=r"(?s)Unknown attribute 'of_no_such_name'.*typing of get attribute at"):
        _compiled(_unknown, _NUMBERS)
    assert [getattr(owner, name) for owner, name, _ in quicker._SHORTCUTS] == before


def test_others_may_compile_the_same_functions_meanwhile() -> None:
    import numba

    assert _compiled(_sum_of_two, _NUMBERS)(_NUMBERS) == 1.0
    assert numba.njit(_sum_of_two)(_NUMBERS) == 1.0
    assert _compiled(_sum_of_two, _NUMBERS)(_NUMBERS) == 1.0
    assert numba.njit(_sum_of_two)(_NUMBERS[:5]) == 1.0


def _reshaped(numbers: Any, wide: bool) -> Any:
    """Arrays that Numba changes on one of two ways, or asks for the address of."""
    table = numbers.reshape(3, 4) if wide else numbers[::2].copy().reshape(2, 3)
    row = table[1]
    if wide:
        row = row[1:]
    again = row.copy().view(np.uint64)
    again[0] += np.uint64(table.shape[1])
    return again, table.T.copy(), len(row), row.strides[0], table.size


@pytest.mark.parametrize("wide", [False, True])
def test_arrays_are_what_they_are_in_python(wide: bool) -> None:
    found, expected = _compiled(_reshaped, _NUMBERS, wide)(_NUMBERS, wide), _reshaped(_NUMBERS, wide)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
