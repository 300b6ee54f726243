"""Loops in lanes do what they say for any number of lanes, compiled and as plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.kernels.samples import N_BITS, bits_of_bytes, every_operation, look_into_lines, shares_from_a_place_on
from tests.support.sample_kernels import Samples, run_apart

from gapgram.kernels.lanes import LANES, LINE

DRAW = np.random.default_rng(5)
TABLE, ROWS = DRAW.integers(-(10**12), 10**12, 200), DRAW.normal(size=(50, 4))


def one_by_one(chosen: Any, limit: int, factor: float) -> tuple[list[int], list[float]]:
    """The same, a number at a time."""
    whole, real = [], []
    for i, index in enumerate(chosen.tolist()):
        number = int(TABLE[max(index, 0)])
        a, b, c, d = ROWS[min(max(index, 0), 49)].tolist()
        clipped = max(min(number, limit), 0)
        whole.append((clipped >> 3) - 2 * i + (number & 255) if index >= 0 else -1)
        mixed = (a * b + c if a > 0.0 and b < 0.5 else d - 1.0) * factor + index
        real.append(mixed + int(c * 100.0))
    return whole, real


@pytest.mark.parametrize("n", [1, LANES, LANES + 3])
def test_lanes_of_a_part(samples: Samples, n: int) -> None:
    values = DRAW.normal(size=40) + 9.0
    expected = np.zeros(40)
    expected[20 : 20 + n] = 1.0 - values[20 : 20 + n] / values[2 : 2 + n]
    for work in (samples.lanes_of_a_part, shares_from_a_place_on):
        out = np.zeros(40)
        work(n, values, 20, out)
        assert out.tolist() == expected.tolist()


@pytest.mark.parametrize("n", [0, 1, 7, LANES, LANES + 1, 3 * LANES, 29])
def test_lanes_do_what_a_plain_loop_does(samples: Samples, n: int) -> None:
    chosen, limit, factor = DRAW.integers(-3, 200, n), 10**11, 1.5
    for work in (samples.lanes_of_numbers, lambda *arguments: every_operation(n, *arguments)):
        whole, real = np.full(n + 3, 7), np.full(n + 3, 7.0)
        work(chosen, TABLE, ROWS, limit, factor, whole[:n], real[:n])
        assert (whole[:n].tolist(), real[:n].tolist()) == one_by_one(chosen, limit, factor)
        assert whole[n:].tolist() == [7, 7, 7]  # what lies behind is left alone
        assert real[n:].tolist() == [7.0, 7.0, 7.0]


def test_parts_of_arrays_are_views(samples: Samples) -> None:
    table, line = np.arange(15).reshape(3, 5), np.zeros(4)
    assert samples.marked(table, line) == 10
    assert table[1].tolist() == [5, 6, 9, 9, 9]
    assert line.tolist() == [0.0, 8.0, 8.0, 0.0]


SHORT, BYTES = DRAW.integers(0, 2**32, 90).astype(np.uint32), DRAW.integers(0, 256, 90).astype(np.uint8)
SHORT[20:60] = np.sort(SHORT[20:60])
def plain_look(chosen: Any, numbers: Any, short: Any, found: Any, own: Any, listed: Any) -> None:
    look_into_lines(chosen.size, chosen, numbers, short, N_BITS, found, own, listed)


NUMBERS = pytest.mark.parametrize("n", [0, 1, 7, LANES, LANES + 1, 29])


@NUMBERS
def test_lanes_compare_lines_of_numbers_and_list_themselves(samples: Samples, n: int) -> None:
    chosen = DRAW.integers(0, SHORT.size - LINE + 1, n)
    numbers = (SHORT[chosen + DRAW.integers(0, LINE, n)] >> N_BITS).astype(np.int64)
    lines = [(SHORT[index : index + LINE] >> N_BITS).tolist() for index in chosen]
    expected = [
        sum((one == number) << i | (one < number) << LINE + i for i, one in enumerate(line))
        for line, number in zip(lines, numbers.tolist(), strict=True)
    ]
    for work in (samples.lanes_of_lines, plain_look):
        found, own, listed = np.full(n + 3, 7), np.full(n + 3, 7), np.zeros(1 + n + LANES, np.int64)
        work(chosen, numbers, SHORT, found[:n], own[:n], listed)
        assert found.tolist() == [*expected, 7, 7, 7]
        assert own.tolist() == [*SHORT[chosen].tolist(), 7, 7, 7]
        assert listed[1 : 1 + listed[0]].tolist() == np.flatnonzero(chosen > 30).tolist()


@NUMBERS
def test_lanes_take_eight_bytes_and_their_bits(samples: Samples, n: int) -> None:
    chosen = DRAW.integers(0, BYTES.size - 7, n)
    expected = []
    for index in chosen.tolist():
        eight = int.from_bytes(BYTES[index : index + 8].tobytes(), "little")
        odd = (eight | 1 << 20) ^ 3
        lowest = (odd & -odd).bit_length() - 1
        expected.append(lowest + (1 << (index & 7)) if index & 1 else eight >> (index & 15) + 1)
    for work in (samples.lanes_of_bits, lambda *arguments: bits_of_bytes(n, *arguments)):
        bits = np.full(n + 3, 7)
        work(chosen, BYTES, bits[:n])
        assert bits.tolist() == [*expected, 7, 7, 7]


SEARCH = """
import numpy as np
from gapgram.kernels.probability.query import find_keys, new_searches
from gapgram.kernels.tables.arrays import GramFormat
form = GramFormat(0, 32, 8, 8, 64, 1)
grams = (np.arange(64, dtype=np.uint32) << 8).view(np.uint64)
searches, keys, found = new_searches(3), np.array([40, 40, 40]), np.empty((2, 3), np.int64)
searches.spread[:3], searches.first[:3] = [0, 64, 0], [-10**18, 0, 10**18]
searches.guess[:3] = [0, 40, 0]
find_keys(grams, grams.view(np.uint32), form, 3, keys, searches, *found)
print(found[0].tolist(), searches.again[0])
"""


def test_where_nothing_is_searched_nothing_is_looked_at() -> None:
    """A word without a context has memory as it was found for the place of one."""
    assert run_apart(SEARCH) == "[-1, 40, -1] 0\n"
