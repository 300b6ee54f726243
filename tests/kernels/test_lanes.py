"""Loops in lanes do what they say for any number of lanes, compiled and as plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gapgram.kernels.jit import kernel
from gapgram.kernels.lanes import LANES, LINE, in_lanes
from gapgram.kernels.views import part_of, part_of_row

DRAW = np.random.default_rng(5)
TABLE, ROWS = DRAW.integers(-(10**12), 10**12, 200), DRAW.normal(size=(50, 4))


@in_lanes
def every_operation(
    lanes: Any, chosen: Any, table: Any, rows: Any, limit: Any, factor: Any, whole: Any, real: Any
) -> None:
    index = lanes.read(chosen)
    number = lanes.gather(table, lanes.most(index, 0))
    first, second, third, fourth = lanes.rows_of_four(rows, lanes.least(lanes.most(index, 0), 49))
    clipped = lanes.most(lanes.least(number, limit), 0)
    lanes.write(whole, lanes.where(index >= 0, lanes.shifted(clipped, 3) - lanes.numbers * 2 + (number & 255), -1))
    some = (first > 0.0) & (second < 0.5)
    mixed = lanes.where(some, first * second + third, fourth - 1.0) * factor + lanes.as_float(index)
    lanes.write(real, mixed + lanes.as_float(lanes.as_int(third * 100.0)))


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


@kernel
def compiled(chosen: Any, table: Any, rows: Any, limit: Any, factor: Any, whole: Any, real: Any) -> Any:
    every_operation(chosen.size, chosen, table, rows, limit, factor, whole, real)
    return 0


@in_lanes
def shares_from_a_place_on(lanes: Any, values: Any, begin: Any, out: Any) -> None:
    lanes.write(out, lanes.one() - lanes.read(values, begin) / lanes.read(values, 2), begin)


@kernel
def shares_compiled(n: int, values: Any, begin: int, out: Any) -> Any:
    shares_from_a_place_on(n, values, begin, out)
    return 0


@pytest.mark.parametrize("n", [1, LANES, LANES + 3])
def test_lanes_of_a_part(n: int) -> None:
    values = DRAW.normal(size=40) + 9.0
    expected = np.zeros(40)
    expected[20 : 20 + n] = 1.0 - values[20 : 20 + n] / values[2 : 2 + n]
    for work in (shares_compiled, shares_from_a_place_on):
        out = np.zeros(40)
        work(n, values, 20, out)
        assert out.tolist() == expected.tolist()


@pytest.mark.parametrize("n", [0, 1, 7, LANES, LANES + 1, 3 * LANES, 29])
def test_lanes_do_what_a_plain_loop_does(n: int) -> None:
    chosen, limit, factor = DRAW.integers(-3, 200, n), 10**11, 1.5
    for work in (compiled, lambda *arguments: every_operation(n, *arguments)):
        whole, real = np.full(n + 3, 7), np.full(n + 3, 7.0)
        work(chosen, TABLE, ROWS, limit, factor, whole[:n], real[:n])
        assert (whole[:n].tolist(), real[:n].tolist()) == one_by_one(chosen, limit, factor)
        assert whole[n:].tolist() == [7, 7, 7]  # what lies behind is left alone
        assert real[n:].tolist() == [7.0, 7.0, 7.0]


def test_parts_of_arrays_are_views() -> None:
    @kernel
    def marked(table: Any, line: Any) -> Any:
        part_of_row(table, 1, 2, 3)[:] = 9
        part_of(line, 1, 2)[:] = 8
        return part_of_row(table, 2, 0, 1)[0]

    table, line = np.arange(15).reshape(3, 5), np.zeros(4)
    assert marked(table, line) == 10
    assert table[1].tolist() == [5, 6, 9, 9, 9]
    assert line.tolist() == [0.0, 8.0, 8.0, 0.0]


SHORT, BYTES = DRAW.integers(0, 2**32, 90).astype(np.uint32), DRAW.integers(0, 256, 90).astype(np.uint8)
SHORT[20:60] = np.sort(SHORT[20:60])
N_BITS = 15


@in_lanes
def look_into_lines(
    lanes: Any, chosen: Any, numbers: Any, short: Any, n_bits: Any, found: Any, own: Any, listed: Any
) -> None:
    index = lanes.read(chosen)
    lanes.write(found, lanes.compare_lines(short, index, n_bits, lanes.read(numbers)))
    lanes.write(own, lanes.gather_short(short, index))
    lanes.append(listed, index > 30)


@in_lanes
def bits_of_bytes(lanes: Any, chosen: Any, eights: Any, bits: Any) -> None:
    index = lanes.read(chosen)
    eight = lanes.gather_eight_bytes(eights, index)
    lowest = lanes.lowest_one((eight | 1 << 20) ^ lanes.everywhere(3)) + lanes.power_of_two(index & 7)
    lanes.write(bits, lanes.where(lanes.equal(index & 1, 0), lanes.shifted(eight, (index & 15) + 1), lowest))


@kernel
def compiled_look(chosen: Any, numbers: Any, short: Any, found: Any, own: Any, listed: Any) -> Any:
    look_into_lines(chosen.size, chosen, numbers, short, N_BITS, found, own, listed)
    return 0


@kernel
def compiled_bits(chosen: Any, eights: Any, bits: Any) -> Any:
    bits_of_bytes(chosen.size, chosen, eights, bits)
    return 0


def plain_look(chosen: Any, numbers: Any, short: Any, found: Any, own: Any, listed: Any) -> None:
    look_into_lines(chosen.size, chosen, numbers, short, N_BITS, found, own, listed)


NUMBERS = pytest.mark.parametrize("n", [0, 1, 7, LANES, LANES + 1, 29])


@NUMBERS
def test_lanes_compare_lines_of_numbers_and_list_themselves(n: int) -> None:
    chosen = DRAW.integers(0, SHORT.size - LINE + 1, n)
    numbers = (SHORT[chosen + DRAW.integers(0, LINE, n)] >> N_BITS).astype(np.int64)
    lines = [(SHORT[index : index + LINE] >> N_BITS).tolist() for index in chosen]
    expected = [
        sum((one == number) << i | (one < number) << LINE + i for i, one in enumerate(line))
        for line, number in zip(lines, numbers.tolist(), strict=True)
    ]
    for work in (compiled_look, plain_look):
        found, own, listed = np.full(n + 3, 7), np.full(n + 3, 7), np.zeros(1 + n + LANES, np.int64)
        work(chosen, numbers, SHORT, found[:n], own[:n], listed)
        assert found.tolist() == [*expected, 7, 7, 7]
        assert own.tolist() == [*SHORT[chosen].tolist(), 7, 7, 7]
        assert listed[1 : 1 + listed[0]].tolist() == np.flatnonzero(chosen > 30).tolist()


@NUMBERS
def test_lanes_take_eight_bytes_and_their_bits(n: int) -> None:
    chosen = DRAW.integers(0, BYTES.size - 7, n)
    expected = []
    for index in chosen.tolist():
        eight = int.from_bytes(BYTES[index : index + 8].tobytes(), "little")
        odd = (eight | 1 << 20) ^ 3
        lowest = (odd & -odd).bit_length() - 1
        expected.append(lowest + (1 << (index & 7)) if index & 1 else eight >> (index & 15) + 1)
    for work in (compiled_bits, lambda *arguments: bits_of_bytes(n, *arguments)):
        bits = np.full(n + 3, 7)
        work(chosen, BYTES, bits[:n])
        assert bits.tolist() == [*expected, 7, 7, 7]
