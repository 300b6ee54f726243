"""Strings read from memory are the lines that Python makes of them."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapgram.kernels.jit import AS_PYTHON
from gapgram.text.string_memory import layout_of_strings, lines_of

KNOWN = sys.implementation.name == "cpython" and sys.maxsize >> 32 and sys.version_info[:2] <= (3, 13)

pytestmark = pytest.mark.skipif(AS_PYTHON or not KNOWN, reason="strings may lie otherwise here: Python makes the lines")

ODD = st.text(st.characters(exclude_categories=[]), max_size=20)  # halves of pairs, too
CHARACTERS = "a\x7f\x80\xe9\xff\u0100\u07ff\u0800\ud7ff\ud800\udfff\ue000\uffff\U00010000\U0010ffff"


def by_python(strings: list[str]) -> bytes:
    return "\n".join([*strings, ""]).encode("utf-8", "surrogatepass")


@given(st.lists(ODD))
def test_they_are_what_python_makes(strings: list[str]) -> None:
    strings += ["a word"] * 64
    found = lines_of(strings)
    assert found is not None
    assert found.tobytes() == by_python(strings)


@pytest.mark.parametrize("character", CHARACTERS)
def test_the_first_and_last_characters_of_each_size(character: str) -> None:
    strings = [n * "x" + m * character for n in range(9) for m in range(9)]
    found = lines_of(strings)
    assert found is not None
    assert found.tobytes() == by_python(strings)


class Word(str):
    """A string of another type."""

    __slots__ = ()


@pytest.mark.parametrize("other", [Word("a"), b"a", 1, None, ["a"]])
def test_what_is_no_string_is_left_to_python(other: Any) -> None:
    assert lines_of(["a"] * 99 + [other]) is None


def test_a_few_strings_are_left_to_python() -> None:
    assert lines_of(["a"] * 9) is None


@pytest.mark.parametrize("states", [(1, 2, 4, 8), (0b01001, 0b11001, 0b01010, 0b01100)])
def test_strings_that_lie_otherwise_are_left_to_python(states: tuple[int, ...]) -> None:
    assert layout_of_strings(states) is None
    assert layout_of_strings() is not None
