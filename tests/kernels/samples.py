"""Kernels for tests: what they take and give, and what other kernels are made of.

`tests.support.sample_kernels` has them built as those of the package are. A function that only other kernels call is
not in the table.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gapgram.kernels.barrier import next_piece, restart_sharing, wait
from gapgram.kernels.compiled import brief, kernel
from gapgram.kernels.intrinsics import part_of, part_of_row, prefetch
from gapgram.kernels.kinds import DTYPES
from gapgram.kernels.lanes import in_lanes
from gapgram.kernels.probability.query import begin_searches, find_keys, new_searches
from gapgram.kernels.text.cut_words import next_word

BUNDLES = {
    "Inner": "numbers:int64[] factor:float",
    "Outer": "first:int inner:Inner flag:bool table:int64[,]",
}
SIGNATURES = {
    "samples.add_up": "int|unsigned none|int32[:]",
    "samples.divided": "float float",
    "samples.find_all": "uint64[] GramFormat int64[] int",
    "samples.first": "int64[] / int32[] / float64[] / float64[:]",
    "samples.grown": "int",
    "samples.halved": "int|unsigned",
    "samples.handed_round": "int int int64[] int int64[] int64[]",
    "samples.hash_of_first": "uint8[]",
    "samples.huge": "int",
    "samples.large": "int",
    "samples.lanes_of_a_part": "int float64[] int float64[]",
    "samples.lanes_of_bits": "int64[] uint8[] int64[]",
    "samples.lanes_of_lines": "int64[] int64[] uint32[] int64[] int64[] int64[]",
    "samples.lanes_of_numbers": "int64[] int64[] float64[,] int float int64[] float64[]",
    "samples.made": "int",
    "samples.marked": "int64[,] float64[]",
    "samples.mathematics": "float",
    "samples.of_outer": "Outer",
    "samples.parts": "int",
    "samples.rest_of": "int64[]",
    "samples.several": "int float bool none bytes float32[,]",
    "samples.shared_out": "int int int64[] int64[]",
    "samples.sum_with_gaps": "float64[:,:]",
    "samples.turned": "|".join(f"{dtype}[]" for dtype in DTYPES),
    "!samples.bytes_of": "int line",
    "!samples.summed": "int int",
    "!samples.weighed": "Outer int bytes int",
}


class Inner(NamedTuple):
    """A bundle in another one."""

    numbers: np.ndarray
    factor: float


class Outer(NamedTuple):
    """A bundle with another one."""

    first: int
    inner: Inner
    flag: bool
    table: np.ndarray


@kernel
def several(number: Any, real: Any, flag: Any, nothing: Any, data: Any, array: Any) -> Any:
    total = np.int64(0)
    for byte in np.frombuffer(data, np.uint8):
        total += byte
    if flag and nothing is None:
        total += number
    return total, real * 2, flag, array[1, 2], None


@kernel
def turned(array: Any) -> Any:
    out = np.empty_like(array)
    for i in range(array.size):
        out[i] = array[array.size - 1 - i]
    return out


@kernel
def sum_with_gaps(array: Any) -> Any:
    total = 0.0
    for i in range(array.shape[0]):
        for k in range(array.shape[1]):
            total += array[i, k] * (10 * i + k)
    return total


@kernel
def _of_inner(inner: Any) -> Any:
    prefetch(inner.numbers, 0)  # type: ignore[no-untyped-call]
    return inner.numbers[1] * inner.factor


@kernel
def of_outer(outer: Any) -> Any:
    return _of_inner(outer.inner) + outer.first + outer.table[1, 0] if outer.flag else -1.0


@kernel
def parts(n: Any) -> Any:
    whole = np.arange(n)
    return whole[1:3], whole[2:], whole[:0]


@kernel
def large(n: Any) -> Any:
    out = np.zeros(n, np.uint8)
    out[::4096] = 1
    return out, out[n // 2 :]


@kernel
def rest_of(array: Any) -> Any:
    return array[1:]


@kernel
def made(n: Any) -> Any:
    return Inner(np.arange(n), 2.5), n


@kernel
def first(array: Any) -> Any:
    return array[0]


@kernel
def add_up(number: Any, array: Any) -> Any:
    if array is not None:
        for i in range(array.size):
            number += np.int64(array[i])
    return number


@kernel
def divided(a: Any, b: Any) -> Any:
    return a / b


@kernel
def huge(n: Any) -> Any:
    return np.empty(n, np.uint8)


@kernel
def mathematics(x: Any) -> Any:
    return math.log10(x), math.exp(x), 10.0**x, math.lgamma(x), math.floor(x), math.sqrt(x), math.frexp(x)


@kernel
def grown(n: Any) -> Any:
    stack = [0]
    for i in range(n):
        stack.append(i)
    table = np.zeros((2, 3))
    table.reshape(-1)[4] = len(stack)
    table[:, :1] = table[:, 1:2]
    return table


@kernel
def halved(number: Any) -> Any:
    return number >> 1, number


@kernel
def marked(table: Any, line: Any) -> Any:
    part_of_row(table, 1, 2, 3)[:] = 9
    part_of(line, 1, 2)[:] = 8
    return part_of_row(table, 2, 0, 1)[0]


@kernel
def hash_of_first(text: Any) -> Any:
    """The hash that `next_word` has for the first word of a line."""
    return next_word(text, 0)[2]


@kernel
def find_all(bits: Any, form: Any, asked: Any, n_grams: Any) -> Any:
    """Search all keys among the first grams of a pattern."""
    n = asked.size
    entries, codes, searches = np.empty(n, np.int64), np.empty(n, np.int64), new_searches(n)
    for i in range(n):
        searches.first[i], searches.spread[i] = 0, n_grams
    begin_searches(bits, form, n, asked, searches)
    find_keys(bits, bits.view(np.uint32), form, n, asked, searches, entries, codes)
    return entries, codes


# Kernels that cannot be built: what they return has no form in Python.


@kernel
def with_gaps(n: Any) -> Any:
    return np.arange(n)[::2]


@kernel
def listed(n: Any) -> Any:
    return [n]


# Brief kernels: memory is that of the call, bytes come and go.


@brief
def weighed(outer: Any, factor: Any, data: Any, number: Any) -> Any:
    out = np.empty(2, np.int32)
    out[0] = outer.table[0, 0] * factor
    out[1] = np.frombuffer(data, np.uint8)[0] + number
    return outer.inner.factor * number, out.view(np.int8)


@brief
def bytes_of(nothing: Any, line: Any) -> Any:
    return nothing, np.frombuffer(line, np.uint8).view(np.int8).copy()


@brief
def summed(step: Any, n: Any) -> Any:
    stack = [0]
    total = 0
    for i in range(4):
        numbers = np.full(n, i * step)
        for k in range(n):
            total += numbers[k]
        for k in range(n % 1000):
            stack.append(k)
    return total, len(stack), np.full(2, n % 100).view(np.int8)


# Threads that run a kernel together.


@kernel
def handed_round(me: Any, threads: Any, barrier: Any, rounds: Any, numbers: Any, sums: Any) -> None:
    """In every round each thread writes its number, and adds up what all wrote once all have."""
    for i in range(rounds):
        numbers[me] = i + me
        wait(barrier, threads)
        for j in range(threads):
            sums[me] += numbers[j]
        wait(barrier, threads)


@kernel
def shared_out(me: Any, threads: Any, barrier: Any, taken: Any) -> None:
    """Threads take pieces until there are none; twice."""
    for _ in range(2):
        at = next_piece(barrier, 3)
        while at < taken.size:
            taken[at : at + 3] += 1
            at = next_piece(barrier, 3)
        wait(barrier, threads)
        if me == 0:
            restart_sharing(barrier)
        wait(barrier, threads)


# Loops in lanes.


@in_lanes
def every_operation(
    lanes: Any, chosen: Any, table: Any, rows: Any, limit: Any, factor: Any, whole: Any, real: Any
) -> None:
    index = lanes.read(chosen)
    number = lanes.gather(table, lanes.maximum(index, 0))
    first, second, third, fourth = lanes.gather_rows4(rows, lanes.minimum(lanes.maximum(index, 0), 49))
    clipped = lanes.maximum(lanes.minimum(number, limit), 0)
    lanes.write(whole, lanes.where(index >= 0, lanes.shift_right(clipped, 3) - lanes.numbers * 2 + (number & 255), -1))
    some = (first > 0.0) & (second < 0.5)
    mixed = lanes.where(some, first * second + third, fourth - 1.0) * factor + lanes.as_float(index)
    lanes.write(real, mixed + lanes.as_float(lanes.as_int(third * 100.0)))


@in_lanes
def shares_from_a_place_on(lanes: Any, values: Any, begin: Any, out: Any) -> None:
    lanes.write(out, lanes.one() - lanes.read(values, begin) / lanes.read(values, 2), begin)


@in_lanes
def look_into_lines(
    lanes: Any, chosen: Any, numbers: Any, short: Any, n_bits: Any, found: Any, own: Any, listed: Any
) -> None:
    index = lanes.read(chosen)
    lanes.write(found, lanes.compare_lines(short, index, n_bits, lanes.read(numbers)))
    lanes.write(own, lanes.gather_u32(short, index))
    lanes.append(listed, index > 30)


@in_lanes
def bits_of_bytes(lanes: Any, chosen: Any, eights: Any, bits: Any) -> None:
    index = lanes.read(chosen)
    eight = lanes.gather_u64_at_bytes(eights, index)
    lowest = lanes.count_trailing_zeros((eight | 1 << 20) ^ lanes.splat(3)) + lanes.power_of_two(index & 7)
    lanes.write(bits, lanes.where(lanes.equal(index & 1, 0), lanes.shift_right(eight, (index & 15) + 1), lowest))


N_BITS = 15  # of a number, below its key


@kernel
def lanes_of_numbers(chosen: Any, table: Any, rows: Any, limit: Any, factor: Any, whole: Any, real: Any) -> None:
    every_operation(chosen.size, chosen, table, rows, limit, factor, whole, real)


@kernel
def catching(n: Any) -> Any:
    try:
        return np.empty(n).size
    except Exception:
        return -1


@kernel
def lanes_of_a_part(n: Any, values: Any, begin: Any, out: Any) -> None:
    shares_from_a_place_on(n, values, begin, out)


@kernel
def lanes_of_lines(chosen: Any, numbers: Any, short: Any, found: Any, own: Any, listed: Any) -> None:
    look_into_lines(chosen.size, chosen, numbers, short, N_BITS, found, own, listed)


@kernel
def lanes_of_bits(chosen: Any, eights: Any, bits: Any) -> None:
    bits_of_bytes(chosen.size, chosen, eights, bits)
