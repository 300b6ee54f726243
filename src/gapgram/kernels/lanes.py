"""Loops that go through arrays eight numbers at a time, for processors that work on so many together.

A loop is written once, as a function of some *lanes*: what it reads, computes and writes it does for each of them.
Where kernels run as plain Python lanes are arrays of NumPy, else values of LLVM (`gapgram.native.lanes`). LLVM finds
out by itself how to do plain loops so, but not where numbers are read from all over an array.

Arrays have no gaps, and hold int64 or float64; numbers are whole ones or floats.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from gapgram.kernels.jit import before_compiling

LANES = 8

_loops: list[tuple[Callable[..., None], Callable[..., None]]] = []


def in_lanes(body: Callable[..., None]) -> Callable[..., None]:
    """Let kernels call body(lanes, *arguments) as function(n, *arguments), for all of n lanes."""

    def function(n: int, *arguments: Any) -> None:
        for first in range(0, n, LANES):
            body(PythonLanes(first, n), *arguments)

    update_wrapper(function, body)
    _loops.append((function, body))
    return function


@before_compiling
def _teach() -> None:
    from gapgram.native.lanes import teach_numba

    for function, body in _loops:
        teach_numba(function, body)


class PythonLanes:
    """Lanes first … first + 7 of a loop of n, as arrays."""

    def __init__(self, first: int, n: int) -> None:
        self.numbers = np.arange(first, min(first + LANES, n))

    def read(self, array: Any) -> Any:
        """The numbers of the lanes in an array."""
        return array[self.numbers]

    def write(self, array: Any, values: Any) -> None:
        """Put numbers into an array, where the lanes are."""
        array[self.numbers] = values

    def gather(self, array: Any, indices: Any) -> Any:
        """Numbers from all over an array."""
        return array.reshape(-1)[indices]

    def rows_of_four(self, array: Any, rows: Any) -> Any:
        """The four columns of rows from all over an array."""
        return tuple(array[rows].T)

    def where(self, condition: Any, one: Any, other: Any) -> Any:
        """One where a condition holds, else the other."""
        return np.where(condition, one, other)

    def least(self, one: Any, other: Any) -> Any:
        """The smaller of two."""
        return np.minimum(one, other)

    def most(self, one: Any, other: Any) -> Any:
        """The larger of two."""
        return np.maximum(one, other)

    def shifted(self, values: Any, n_bits: int) -> Any:
        """The bits of whole numbers above some of them; never negative."""
        return (values.view(np.uint64) >> np.uint64(n_bits)).view(np.int64)

    def as_float(self, values: Any) -> Any:
        """Whole numbers as floats."""
        return values.astype(np.float64)

    def as_int(self, values: Any) -> Any:
        """Floats as whole numbers."""
        return values.astype(np.int64)
