"""Words, statistics and neighbours put in order digit by digit, or counted without that."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.counting import distinct_rows, sorting
from gapgram.kernels.text import word_order


def test_words_are_in_order_of_falling_count_then_of_their_numbers_then_as_they_come() -> None:
    random = np.random.default_rng(0)
    counts = random.integers(1, 1 << 20, 500) >> random.integers(0, 20, 500)
    numbers = random.integers(0, 1 << 63, 500, dtype=np.uint64) >> random.integers(0, 63, 500).astype(np.uint64)
    numbers[100:200] = numbers[:100]
    assert word_order.order_words(counts, numbers).tolist() == np.lexsort((numbers, -counts)).tolist()
    assert word_order.order_words(counts[:0], numbers[:0]).size == 0


def test_ids_are_renumbered_in_their_own_place() -> None:
    ids = np.array([2, 0, 2], np.int32)
    word_order.renumber(ids, np.array([7, 8, 9], np.int32), ids)
    assert ids.tolist() == [9, 7, 9]


def test_rows_are_numbered_as_sorted() -> None:
    random = np.random.default_rng(1)
    rows = random.integers(0, 3, (300, 5)) * np.array([400, 1, 1, 1, 1])
    rows[rows[:, 0] == 0] = 0
    rows[0] = 0
    distinct, numbers = distinct_rows.numbered(rows)
    assert distinct.tolist() == np.unique(rows, axis=0).tolist()
    assert distinct[numbers].tolist() == rows.tolist()


def test_words_to_the_left_are_counted_once_each() -> None:
    random = np.random.default_rng(2)
    ids = random.integers(-1, 4, 400).astype(np.int32)
    ids[:50] = -1  # where there is no word at all, positions count
    positions = np.arange(1, 400, dtype=np.int32)
    starts = np.array([0, 1, 3, 7, 20, 40, 300, positions.size], np.int32)  # groups small and large
    found = sorting.count_left(positions, starts, 1, ids, 4)
    for g, n in enumerate(found.tolist()):
        left = ids[positions[starts[g] : starts[g + 1]] - 1]
        assert n == (np.unique(left[left >= 0]).size or left.size)
    assert sorting.newest_words(positions, starts, ids).tolist() == ids[positions[starts[:-1]]].tolist()
