"""Bytes that Python decodes as UTF-8, and those that it does not."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapgram.kernels.text.utf8 import is_utf8


def decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def found(data: bytes) -> bool:
    return bool(is_utf8(np.frombuffer(data, np.uint8)))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_bytes_at_the_bounds_of_what_may_follow_what(size: int) -> None:
    bounds = bytes.fromhex("00 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")
    some = bounds if size < 4 else bytes.fromhex("7f 80 8f 90 9f a0 bf c0 e0 ed f0 f4 ff")
    for data in map(bytes, product(some, repeat=size)):
        assert found(data) == decodes(data), data


@given(st.text(), st.binary(max_size=4), st.integers(0, 200))
def test_text_with_other_bytes_in_it(text: str, other: bytes, at: int) -> None:
    data = text.encode("utf-8", "surrogatepass")
    data = data[:at] + other + data[at:]
    assert found(data) == decodes(data)


@pytest.mark.parametrize("n_before", range(60, 70))
def test_characters_across_the_bytes_that_are_looked_at_together(n_before: int) -> None:
    before = b"a" * n_before
    assert found(before + "€".encode() + before)
    assert not found(before + "€".encode()[:2] + before)
    assert not found(before + "€".encode()[:2])
