"""What scored lines add to a perplexity: exact sums, and sizes of lines."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapgram.kernels.text.figures import add_exactly, figures_of_lines, size_of_lines

ANY_SIZE = st.floats(-1e300, 1e300) | st.floats(-1e-300, 1e-300) | st.floats(-1e3, 0.0)


def rounded(numbers: Iterable[float]) -> float:
    """The sum of numbers, each addition rounded; Python's own does so only before 3.12."""
    return reduce(add, numbers, 0.0)


@given(st.lists(ANY_SIZE), st.integers(0, 10))
def test_parts_have_the_exact_sum_however_numbers_are_cut(numbers: list[float], cut: int) -> None:
    parts = []
    for some in (numbers[:cut], numbers[cut:]):
        room, n = np.empty(64), 0
        for number in some:
            n = add_exactly(number, room, n)
        parts += room[:n].tolist()
    assert math.fsum(parts) == math.fsum(numbers)


@pytest.mark.parametrize(("numbers", "expected"), [
    ([-1.0, -math.inf, -2.0], -math.inf),
    ([-math.inf] * 100 + [-1.0], -math.inf),
    ([math.nan, 1.0], math.nan),
    ([1e308, 1e308, -1e308], 1e308),
])  # fmt: skip
def test_numbers_that_are_too_large_stay_inside(numbers: list[float], expected: float) -> None:
    room, n = np.empty(64), 0
    for number in numbers:
        n = add_exactly(number, room, n)
    assert n <= 64
    assert math.fsum(room[:n]) == pytest.approx(expected, nan_ok=True)


@given(st.lists(st.lists(st.tuples(st.floats(-300, 0), st.booleans()), max_size=5), max_size=20))
def test_figures_are_those_of_the_lines_that_have_words(lines: list[list[tuple[float, bool]]]) -> None:
    whole = [[(0.0, False), *line, (-1.5, False)] for line in lines]
    scores = np.array([score for line in whole for score, _ in line])
    unknown = np.array([is_unknown for line in whole for _, is_unknown in line], bool)
    begins = np.cumsum([0, *map(len, whole)])
    n_unknown, n_with_words, sums, known_sums = figures_of_lines(scores, begins, unknown)
    some = [line for line in whole if len(line) > 2]
    assert (n_unknown, n_with_words) == (int(unknown.sum()), len(some))
    assert math.fsum(sums) == math.fsum(rounded(score for score, _ in line) for line in some)
    known = [[score for score, is_unknown in line if not is_unknown] for line in some]
    assert math.fsum(known_sums) == math.fsum(map(rounded, known))
    assert bool(some) == bool(sums.size)


@given(st.lists(st.text("ab \t\r\v\f\0")), st.data())
def test_sizes_of_lines(lines: list[str], data: st.DataObject) -> None:
    n_positions = [data.draw(st.sampled_from([2, 3])) for _ in lines]
    text = np.frombuffer("\n".join([*lines, ""]).encode(), np.uint8)
    counted = [line.encode() for line, n in zip(lines, n_positions, strict=True) if n > 2]
    expected = sum(len(line) + 1 for line in counted), sum(len(line.split()) for line in counted)
    assert size_of_lines(text, np.cumsum([0, *n_positions])) == expected
