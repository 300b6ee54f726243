"""What is a few instructions of the processor, in plain Python; `compiler.intrinsics` has each function as code.

    prefetch, prefetch_to_write             memory asked for before it is read or written
    part_of, part_of_row                    parts of arrays without bounds checks and reference counts: all of a part
                                            must be there, and the array must stay, as an argument of the kernel does
    read_8 … read_single, copy_bytes        numbers at any byte of memory; compiled, the memory is an address, and
                                            places must be known to lie inside; as plain Python it is an array, and a
                                            place outside is an error
    atomic_add, atomic_max, atomic_load     numbers that several threads change
    yield_thread, cpu_pause                 another thread may run; the core's other thread gets on
    bits_between                            the bytes of a chunk that lie in a range, a bit for each
    sum_rows, add_row                       rows of a table added up, eight numbers side by side
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from gapgram.kernels.compiled import MODE

CHUNK = 64  # bytes that `bits_between` takes at a time
MOST_SIDE_BY_SIDE = 32  # numbers that `sum_rows` and `add_row` take


def prefetch(array, index):
    """Begin to bring array[index], of one dimension and without gaps, near.

    Nothing is read: the index may lie outside. Nothing is done where kernels run as plain Python.
    """


def prefetch_to_write(array, index):
    """The same for a number that will be written: other processors give it up meanwhile."""


def part_of_row(array: Any, row: int, begin: int, n: int) -> Any:
    """array[row, begin : begin + n]."""
    return array[row, begin : begin + n]


def part_of(array: Any, begin: int, n: int) -> Any:
    """array[begin : begin + n]."""
    return array[begin : begin + n]


def _read(kind, data, at):
    """A number of this kind from an array of bytes."""
    at, size = int(at), np.dtype(kind).itemsize
    if not 0 <= at <= data.size - size:
        raise IndexError(f"bytes {at} to {at + size} of {data.size}")
    return data[at : at + size].view(kind)[0]


def read_8(memory, at):
    """The eight bytes from a byte on as a number."""
    return _read(np.uint64, memory, at)


def read_signed(memory, at):
    """The eight bytes from a byte on as a number that may be negative."""
    return _read(np.int64, memory, at)


def read_4(memory, at):
    """The four bytes from a byte on as a number."""
    return _read(np.uint32, memory, at)


def read_2(memory, at):
    """The two bytes from a byte on as a number."""
    return _read(np.uint16, memory, at)


def read_1(memory, at):
    """A byte."""
    return _read(np.uint8, memory, at)


def copy_bytes(memory, at, n, out, begin):
    """Copy the n bytes from a byte on to out[begin : begin + n]."""
    out[begin : begin + n] = memory[at : at + n]


def read_single(memory, at):
    """The four bytes from a byte on as a float."""
    return _read(np.float32, memory, at)


def atomic_add(array, index, n):
    """Add to a number that other threads add to; returns what it was."""
    old = array[index]
    array[index] = old + n
    return old


def atomic_max(array, index, n):
    """Let a number that other threads raise, too, be n at least."""
    array[index] = max(array[index], n)


def atomic_load(array, index):
    """A number as other threads left it."""
    return array[index]


def yield_thread():
    """Let another thread of the machine have the processor."""


def cpu_pause():
    """Let the processor rest for some cycles: what runs on the same core besides gets on faster."""


def bits_between(text, at, low, high):
    """Which of the CHUNK bytes from text[at] on are from low to high: a bit for each.

    So where kernels run as plain Python. Compiled, the bytes are one number of the processor.
    """
    some = text[at : at + CHUNK]
    return np.uint64(int.from_bytes(np.packbits((some >= low) & (some <= high), bitorder="little").tobytes(), "little"))


def sum_rows(table, features, step, n_features, first, n, logits):
    """logits[q] = the sum of table[features[k * step] + q], in the order of k, for q = first … first + n - 1.

    n: from 8 to MOST_SIDE_BY_SIDE. So where kernels run as plain Python. Compiled, eight sums are one number of the
    processor, which LLVM does not find out by itself, and all of them grow side by side: none waits for another.
    """
    for q in range(first, first + n):
        logits[q] = 0.0
        for k in range(n_features):
            logits[q] += table[features[k * step] + q]


def add_row(sums, at, values, begin, n):
    """sums[at + q] += values[begin + q], for q = 0 … n - 1; n: from 8 to MOST_SIDE_BY_SIDE."""
    sums[at : at + n] += values[begin : begin + n]


if MODE == "numba":
    import_module("compiler.intrinsics")
