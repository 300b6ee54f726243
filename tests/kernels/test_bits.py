"""Bits of words: how many are ones, and where."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gapgram.kernels.tables import bits


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4), st.integers(0, 63))
def test_ones_of_words(numbers: list[int], k: int) -> None:
    for number in numbers:
        ones = [i for i in range(64) if number >> i & 1]
        word = np.uint64(number)
        assert bits.ones(word) == len(ones)
        assert int(bits.from_bit(word, k)) == number >> k << k
        for rank in range(0, len(ones), 1 + len(ones) // 5):
            assert bits.select_one(word, rank) == ones[rank]
        assert not ones or bits.lowest_one(word) == ones[0]
