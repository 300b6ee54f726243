"""Distinct rows of statistics of contexts, numbered as they are met: a hash table that grows.

    rows    int64 [capacity, STATISTICS]: row 0 is that of a context never seen, all zeros
    slots   int64, a power of two long and at least twice as many as there are rows: the number of a row, or -1
    used    int64 [1]: how many rows there are
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.counting.sorting import sort_with
from gapgram.kernels.tables.arrays import STATISTICS


class RowSet(NamedTuple):
    """The arrays of the module's head."""

    rows: np.ndarray
    slots: np.ndarray
    used: np.ndarray


@kernel
def new_row_set(capacity):
    """A set that holds only row 0; `capacity`, a power of two, is twice as many rows as it takes before it grows."""
    slots = np.full(2 * capacity, -1, np.int64)
    return RowSet(np.zeros((capacity, STATISTICS), np.int64), slots, np.ones(1, np.int64))


@kernel
def empty_row_set():
    """A set that holds only row 0."""
    return new_row_set(1 << 11)


@kernel
def is_full(row_set):
    """Whether the set must be `grown` before a row is added."""
    return 2 * row_set.used[0] >= row_set.rows.shape[0]


@kernel
def grown(row_set):
    """A set with the same rows under the same numbers, and room for twice as many."""
    bigger = new_row_set(2 * row_set.rows.shape[0])
    for r in range(1, row_set.used[0]):
        row = row_set.rows[r]
        row_number(bigger, row[0], row[1], row[2], row[3], row[4])
    return bigger


@kernel
def row_number(row_set, total, n1, n2, n3, missing):
    """The number of the row with these statistics, which is added where it is new; the set must not be full."""
    rows, slots = row_set.rows, row_set.slots
    h = np.uint64(total) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ np.uint64(n1)) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(29)) ^ np.uint64(n2)) * np.uint64(0x94D049BB133111EB)
    h = (h ^ (h >> np.uint64(31)) ^ np.uint64(n3)) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30)) ^ np.uint64(missing)) * np.uint64(0xBF58476D1CE4E5B9)
    mask = slots.size - 1
    at = np.int64(h >> np.uint64(34)) & mask
    while slots[at] >= 0:
        r = slots[at]
        same = rows[r, 0] == total and rows[r, 1] == n1 and rows[r, 2] == n2 and rows[r, 3] == n3
        if same and rows[r, 4] == missing:
            return r
        at = (at + 1) & mask
    new = row_set.used[0]
    slots[at] = new
    rows[new, 0], rows[new, 1], rows[new, 2], rows[new, 3], rows[new, 4] = total, n1, n2, n3, missing
    row_set.used[0] = new + 1
    return new


@kernel
def rows_of(row_set):
    """[row, STATISTICS]: the rows, in the order of their numbers."""
    return row_set.rows[: row_set.used[0]].copy()


@kernel
def numbered(rows):
    """(the different rows, sorted, that of zeros among them, and the number of each row there)."""
    row_set = empty_row_set()
    numbers = np.empty(rows.shape[0], np.int64)
    for r in range(rows.shape[0]):
        row = rows[r]
        numbers[r] = 0
        if row[0] > 0:
            row_set = grown(row_set) if is_full(row_set) else row_set
            numbers[r] = row_number(row_set, row[0], row[1], row[2], row[3], row[4])
    met = rows_of(row_set)
    # By the last column, then by the one before it, …
    order = np.arange(met.shape[0])
    keys = np.empty(order.size, np.uint64)
    for k in range(STATISTICS - 1, -1, -1):
        for i in range(order.size):
            keys[i] = np.uint64(met[order[i], k])
        sort_with(keys, order)
    rank = np.empty_like(order)
    for i in range(order.size):
        rank[order[i]] = i
    for r in range(numbers.size):
        numbers[r] = rank[numbers[r]]
    return met[order], numbers


@kernel
def row_numbers(rows, distinct):
    """The number of each row among distinct rows, which are sorted and hold it."""
    out = np.empty(rows.shape[0], np.int64)
    for r in range(rows.shape[0]):
        low, high = 0, distinct.shape[0] - 1
        while low < high:
            middle = (low + high) >> 1
            k = 0
            while k < STATISTICS - 1 and distinct[middle, k] == rows[r, k]:
                k += 1
            if distinct[middle, k] < rows[r, k]:
                low = middle + 1
            else:
                high = middle
        out[r] = low
    return out
