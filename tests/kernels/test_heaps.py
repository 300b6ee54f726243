"""Numbers in order, compared with NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from gapgram.kernels.topk.exact import _rising, distinct, kth_largest, largest_of, sort


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 64, 999])
def test_whole_numbers(size: int) -> None:
    numbers = np.random.default_rng(size).integers(0, 1 + size // 2, size)
    given = numbers.copy()
    sort(given)
    assert np.array_equal(given, np.sort(numbers))
    assert np.array_equal(distinct(numbers.copy()), np.unique(numbers))


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_the_largest(size: int) -> None:
    numbers = np.random.default_rng(size).integers(0, 9, size) / 7
    assert largest_of(numbers) == numbers.max()
    assert [kth_largest(numbers, k) for k in range(1, size + 1)] == np.sort(numbers)[::-1].tolist()
    assert np.array_equal(numbers[_rising(numbers)], np.sort(numbers))
