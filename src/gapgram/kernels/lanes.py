"""Loops that go through arrays eight numbers at a time, for processors that work on so many together.

A loop is written once, as a function of some *lanes*: what it reads, computes and writes it does for each of them.
Where kernels run as plain Python lanes are arrays of NumPy, else values of LLVM (`compiler/lanes.py`). LLVM
finds out by itself how to do plain loops so, but not where numbers are read from all over an array.

Arrays have no gaps, and hold int64 or float64; numbers are whole ones or floats. Two operations read uint32. A list is
an array of int64: its length, its numbers, and room for LANES more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from gapgram.kernels.compiled import MODE

LANES = 8
LINE = 16  # numbers of 32 bits in a line of the cache


def in_lanes(body: Callable[..., None]) -> Callable[..., None]:
    """Let kernels call body(lanes, *arguments) as function(n, *arguments), for all of n lanes."""

    def function(n: int, *arguments: Any) -> None:
        for first in range(0, n, LANES):
            body(PythonLanes(first, n), *arguments)

    update_wrapper(function, body)
    if MODE == "numba":
        teach_loop(function, body)
    return function


def compare_line(array: Any, begin: int, n_bits: int, number: int) -> int:
    """A number among the LINE uint32 from a place of an array on, without their lowest bits; all are compared at once.

    Bit i of the result: whether it is the i-th of them; bit LINE + i: whether that one is less.
    """
    result = 0
    for i in range(LINE):
        other = int(array[begin + i]) >> n_bits
        result |= (other == number) << i | (other < number) << LINE + i
    return result


if MODE == "numba":
    from compiler.lanes import teach_line, teach_loop

    teach_line(compare_line)


class PythonLanes:
    """Lanes first … first + 7 of a loop of n, as arrays."""

    def __init__(self, first: int, n: int) -> None:
        self.numbers = np.arange(first, min(first + LANES, n))

    def read(self, array: Any, begin: int = 0) -> Any:
        """The numbers of the lanes in an array, which lie from a place of it on."""
        return array[begin + self.numbers]

    def write(self, array: Any, values: Any, begin: int = 0) -> None:
        """Put numbers into an array, where the lanes are."""
        array[begin + self.numbers] = values

    def gather(self, array: Any, indices: Any) -> Any:
        """Numbers from all over an array."""
        return array.reshape(-1)[indices]

    def gather_u32(self, array: Any, indices: Any) -> Any:
        """The same for an array of uint32."""
        return array[indices].astype(np.int64)

    def gather_u64_at_bytes(self, array: Any, indices: Any) -> Any:
        """Eight bytes from all over an array of uint8, each time as one number, the first byte lowest."""
        return np.array([int.from_bytes(array[i : i + 8].tobytes(), "little", signed=True) for i in indices], np.int64)

    def compare_lines(self, array: Any, begins: Any, n_bits: int, numbers: Any) -> Any:
        """`compare_line` for each lane, with its own place and number."""
        pairs = zip(begins.tolist(), numbers.tolist(), strict=True)
        return np.array([compare_line(array, begin, n_bits, number) for begin, number in pairs], np.int64)

    def append(self, numbers: Any, condition: Any) -> None:
        """Add the numbers of the lanes where a condition holds to a list."""
        chosen, length = self.numbers[condition], int(numbers[0])
        numbers[1 + length : 1 + length + chosen.size] = chosen
        numbers[0] = length + chosen.size

    def gather_rows4(self, array: Any, rows: Any) -> Any:
        """The four columns of rows from all over an array."""
        return tuple(array[rows].T)

    def where(self, condition: Any, one: Any, other: Any) -> Any:
        """One where a condition holds, else the other."""
        return np.where(condition, one, other)

    def minimum(self, one: Any, other: Any) -> Any:
        """The smaller of two."""
        return np.minimum(one, other)

    def maximum(self, one: Any, other: Any) -> Any:
        """The larger of two."""
        return np.maximum(one, other)

    def splat(self, number: int) -> Any:
        """A whole number in all lanes."""
        return np.full(self.numbers.size, number)

    def one(self) -> Any:
        """The number 1.0 in all lanes."""
        return np.ones(self.numbers.size)

    def equal(self, one: Any, other: Any) -> Any:
        """Whether whole numbers are equal."""
        return one == other

    def power_of_two(self, exponents: Any) -> Any:
        """Two to the power of whole numbers."""
        return np.int64(1) << exponents

    def count_trailing_zeros(self, values: Any) -> Any:
        """The lowest bit that is one, of whole numbers that have one."""
        return np.array([(value & -value).bit_length() - 1 for value in values.tolist()], np.int64)

    def shift_right(self, values: Any, n_bits: Any) -> Any:
        """The bits of whole numbers above some of them, as many for each or its own number; never negative."""
        return (values.view(np.uint64) >> np.asarray(n_bits, np.uint64)).view(np.int64)

    def as_float(self, values: Any) -> Any:
        """Whole numbers as floats."""
        return values.astype(np.float64)

    def as_int(self, values: Any) -> Any:
        """Floats as whole numbers."""
        return values.astype(np.int64)
