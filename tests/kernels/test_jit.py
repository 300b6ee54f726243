"""Kernels as Python calls them: what they take, what they return, and when they are compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from gapgram.errors import CacheWarning
from gapgram.kernels import jit
from gapgram.kernels.jit import bound_first, entry, kernel
from gapgram.kernels.prefetch import prefetch
from gapgram.native import compiling, on_first_compilation
from gapgram.native.kinds import Mismatch

pytestmark = [
    pytest.mark.skipif(jit.AS_PYTHON, reason="kernels run as plain Python"),
    pytest.mark.usefixtures("own_store"),
]


class Inner(NamedTuple):
    numbers: np.ndarray
    factor: float


class Outer(NamedTuple):
    first: int
    inner: Inner
    flag: bool
    table: np.ndarray


def test_numbers_arrays_and_bytes_come_and_go() -> None:
    @kernel
    def several(number: Any, real: Any, flag: Any, nothing: Any, data: Any, array: Any) -> Any:
        total = 0
        for i in range(data.size):
            total += data[i]
        if flag and nothing is None:
            total += number
        return total, real * 2, flag, array[1, 2], None

    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert several(10, 1.25, True, None, b"\x01\xff", array) == (266, 2.5, True, 5.0, None)
    assert several(np.int16(10), np.float32(1.25), False, None, b"", array) == (0, 2.5, False, 5.0, None)


def test_first_arguments_may_be_given_once() -> None:
    @bound_first(2)
    def weighed(outer: Any, factor: Any, data: Any, number: Any) -> Any:
        out = np.empty(2, np.int32)
        out[0] = outer.table[0] * factor
        out[1] = data[0] + number
        return outer.inner.factor * number, out.view(np.int8)

    outer = Outer(3, Inner(np.arange(3), 0.5), True, np.array([7, 8]))
    doubled, tripled = (weighed.bind((outer, factor), b"", 0) for factor in (2, 3))
    del outer  # what is given once is kept
    assert doubled(b"\x01", 5) == (2.5, np.array([14, 6], np.int32).tobytes())
    assert tripled(b"\x09", 1) == (0.5, np.array([21, 10], np.int32).tobytes())
    with pytest.raises(TypeError, match="arguments of other kinds"):
        doubled("text", 5)
    with pytest.raises(TypeError, match="arguments of other kinds"):
        doubled(b"")


def test_a_string_is_taken_as_a_line_of_bytes() -> None:
    @bound_first(1)
    def bytes_of(nothing: Any, line: Any) -> Any:
        return 0, np.frombuffer(line, np.uint8).view(np.int8).copy()

    kernel_of_lines = bytes_of.bind((0,), "")

    def taken(line: Any) -> Any:
        return kernel_of_lines(line)[1]

    assert taken("a bé") == "a bé\n".encode()
    assert taken("") == b"\n"
    assert taken(b"as they are") == b"as they are"
    for wrong in ("two\nlines", "\ud800", "a" * 20_000, None, 5):  # newlines, half a character, very long ones
        with pytest.raises(TypeError, match="arguments of other kinds"):
            taken(wrong)


def test_a_brief_kernel_may_take_any_amount_of_memory() -> None:
    @bound_first(1)
    def summed(step: Any, n: Any) -> Any:
        grown = [0]
        total = 0
        for i in range(4):
            numbers = np.full(n, i * step)
            for k in range(n):
                total += numbers[k]
            for k in range(n % 1000):
                grown.append(k)
        return total, len(grown), np.full(2, n % 100).view(np.int8)

    given = summed.bind((2,), 0)
    for n in (1, 3, 1000, 9000, 20_000, 100_000, 0, 5, 100_000, 1):
        assert given(n) == (12 * n, 1 + 4 * (n % 1000), np.full(2, n % 100).tobytes())


@pytest.mark.skipif(not jit.AS_MACHINE_CODE, reason="kernels are called by Numba")
def test_a_brief_kernel_returns_no_array_that_the_next_call_would_overwrite() -> None:
    @bound_first(1)
    def made(size: Any, number: Any) -> Any:
        return number, np.full(size, number)

    with pytest.warns(CacheWarning, match="a kernel that Python calls returns numbers"):
        given = made.bind((3,), 0)
    assert given(1)[1].tolist() == given(1)[1].tolist() == [1, 1, 1]


@pytest.mark.parametrize("letter", "?bBhHiIlLqQfd")
def test_arrays_of_every_kind_of_number(letter: str) -> None:
    @kernel
    def turned(array: Any) -> Any:
        out = np.empty_like(array)
        for i in range(array.size):
            out[i] = array[array.size - 1 - i]
        return out

    array = np.array([0, 1, 1, 100], dtype=letter)
    found = turned(array)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array[::-1])


def test_arrays_with_gaps_are_read_where_they_lie() -> None:
    @kernel
    def summed(array: Any) -> Any:
        total = 0.0
        for i in range(array.shape[0]):
            for k in range(array.shape[1]):
                total += array[i, k] * (10 * i + k)
        return total

    whole = np.arange(48.0).reshape(6, 8)
    for array in (whole, whole[::2, 1:5], whole.T, whole[::-1], np.asfortranarray(whole), whole[:0]):
        expected = sum(array[i, k] * (10 * i + k) for i in range(array.shape[0]) for k in range(array.shape[1]))
        assert summed(array) == expected


def test_bundles_are_read_field_by_field() -> None:
    @kernel
    def of_inner(inner: Any) -> Any:
        return inner.numbers[1] * inner.factor

    @kernel
    def of_outer(outer: Any) -> Any:
        return of_inner(outer.inner) + outer.first + outer.table[1, 0] if outer.flag else -1.0

    bundle = Outer(7, Inner(np.array([1, 2, 3], np.int32), 0.5), True, np.array([[1.0], [20.0]]))
    assert of_outer(bundle) == 28.0
    assert of_outer(bundle._replace(flag=False)) == -1.0


def test_results_keep_their_memory_and_give_it_back() -> None:
    @kernel
    def parts(n: Any) -> Any:
        whole = np.arange(n)
        return whole[1:3], whole[::2], whole[:0]

    some, others, empty = parts(6)
    del others
    again = [parts(6) for _ in range(100)]
    assert some.tolist() == [1, 2] and empty.size == 0 and again[50][1].tolist() == [0, 2, 4]
    some[0] = 9  # it is nobody else's
    assert some.flags.writeable and some.base is not None


def test_memory_of_results_is_not_lost() -> None:
    resource = pytest.importorskip("resource")

    @kernel
    def large(n: Any) -> Any:
        out = np.zeros(n, np.uint8)
        out[::4096] = 1
        return out, out[n // 2 :]

    def most_resident() -> int:
        for _ in range(40):
            assert large(1 << 24)[1][0] == 1
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    before = most_resident()
    assert most_resident() < before + (40 << 14) / 2


def test_an_argument_that_is_returned_is_copied() -> None:
    @kernel
    def same(array: Any) -> Any:
        return array[1:]

    array = np.arange(4)
    found = same(array)
    array[:] = 0
    assert found.tolist() == [1, 2, 3]


def test_a_named_tuple_is_returned_as_one() -> None:
    @kernel
    def made(n: Any) -> Any:
        return Inner(np.arange(n), 2.5), n

    inner, n = made(3)
    assert type(inner) is Inner and inner.numbers.tolist() == [0, 1, 2] and inner.factor == 2.5 and n == 3


def test_derived_classes_of_arrays_are_arrays(tmp_path: Path) -> None:
    @kernel
    def first(array: Any) -> Any:
        return array[0]

    mapped = np.memmap(tmp_path / "numbers", np.int64, "w+", shape=3)
    mapped[:] = 5
    assert first(mapped) == 5


def test_a_kernel_is_compiled_once_for_each_combination_of_kinds() -> None:
    @kernel
    def first(array: Any) -> Any:
        return array[0]

    before = len(jit.compiled)
    for array in (np.zeros(3), np.ones(5), np.zeros(3, np.int32), np.ones(3), np.zeros((4, 4))[:, 1]):
        assert first(array) == array[0]
    frozen = np.full(3, 4.0)
    frozen.flags.writeable = False
    assert first(frozen) == 4.0  # whether it may be written makes no difference
    assert jit.compiled[before:] == ["test_jit.first"] * 3


def test_an_entry_takes_its_own_kinds_alone() -> None:
    @kernel
    def added(a: Any, b: Any) -> Any:
        return a[0] + b

    only = entry(added, np.zeros(1), 1)
    assert only(np.full(2, 3.0), 4) == 7.0
    for wrong in ((np.zeros(1, np.int32), 1), (np.zeros(1), 1.5), (np.zeros((1, 1)), 1), (np.zeros(1),), ([1.0], 1)):
        with pytest.raises(Mismatch, match=r"^test_jit\.added: the kernel was compiled for arguments of other kinds$"):
            only(*wrong)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ([1, 2], "kernels take numbers, arrays, bytes, strings and named tuples of these: found list"),
        ({1: 2}, "kernels take numbers, arrays, bytes, strings and named tuples of these: found dict"),
        (np.zeros(2, ">i4"), "kernels take arrays of this machine's own numbers, aligned: found dtype('>i4')"),
        (np.zeros(2, complex), "kernels take arrays of this machine's own numbers, aligned: found dtype('complex128')"),
        (np.zeros(9, np.uint8)[1:].view(np.int64), "aligned: found dtype('int64')"),
    ],
)
def test_what_kernels_do_not_take(argument: Any, message: str) -> None:
    @kernel
    def nothing(argument: Any) -> Any:
        return 0

    with pytest.raises(TypeError) as caught:
        nothing(argument)
    assert message in str(caught.value)


def test_a_kernel_that_fails_says_so() -> None:
    @kernel
    def divided(a: Any, b: Any) -> Any:
        return a / b

    @kernel
    def huge(n: Any) -> Any:
        return np.empty(n, np.uint8)

    assert divided(1.0, 2.0) == 0.5
    failing: list[Callable[[], Any]] = [lambda: divided(1.0, 0.0), lambda: huge(1 << 60)]
    for fail in failing:
        with pytest.raises(MemoryError, match=r"not enough memory, or a number was divided by zero$"):
            fail()


def test_functions_of_mathematics() -> None:
    @kernel
    def several(x: Any) -> Any:
        return math.log10(x), math.exp(x), 10.0**x, math.lgamma(x), math.floor(x), math.sqrt(x), math.frexp(x)

    x = 2.7
    *values, parts = several(x)
    assert values == pytest.approx([math.log10(x), math.exp(x), 10.0**x, math.lgamma(x), 2, math.sqrt(x)], rel=1e-15)
    assert parts == math.frexp(x)


def test_lists_and_shapes_inside_a_kernel() -> None:
    @kernel
    def grown(n: Any) -> Any:
        stack = [0]
        for i in range(n):
            stack.append(i)
        table = np.zeros((2, 3))
        table.reshape(-1)[4] = len(stack)
        table[:, :1] = table[:, 1:2]
        return table

    assert grown(1000).tolist() == [[0, 0, 0], [1001, 1001, 0]]


def test_numba_alone_is_asked_where_its_insides_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def other_insides(*_: object, **__: object) -> None:
        raise AttributeError("module 'numba' has no attribute 'x'")

    @kernel
    def inner(bundle: Any) -> Any:
        return bundle.numbers[0] * bundle.factor

    @kernel
    def outer(bundle: Any, n: Any) -> Any:
        prefetch(bundle.numbers, 0)  # type: ignore[no-untyped-call]
        return inner(bundle) + n

    monkeypatch.setattr(compiling, "machine_code", other_insides)
    bundle = Inner(np.full(2, 3), 0.5)
    with pytest.warns(CacheWarning, match="this version of Numba .*, and are compiled each time: .* no attribute 'x'"):
        assert outer(bundle, 2) == 3.5
    assert outer(bundle, 4) == 5.5 and outer(bundle, 0.25) == 1.75
    assert entry(outer, bundle, 1)(bundle, 1) == 2.5


def test_one_is_told_when_something_is_compiled() -> None:
    @kernel
    def first(array: Any) -> Any:
        return array[0]

    told = []
    on_first_compilation[:] = [lambda: told.append("compiling")]
    assert first(np.zeros(1)) == 0.0 and first(np.zeros(1)) == 0.0 and first(np.zeros(1, np.int8)) == 0
    assert told == ["compiling"]


def test_numbers_without_a_sign_stay_so() -> None:
    @kernel
    def halved(number: Any) -> Any:
        return number >> 1, number

    assert halved(-2) == (-1, -2)
    assert halved(np.uint64(2**64 - 2)) == (2**63 - 1, 2**64 - 2)
    assert halved(np.uint64(4)) == (2, 4)
    with pytest.raises(TypeError, match="other kinds"):
        halved(1 << 64)


def test_numba_alone_gives_the_same() -> None:
    def doubled(numbers: Any) -> Any:
        return 2 * numbers.sum()

    both = jit.Kernel(doubled)
    assert both(np.arange(5)) == both._by_numba_alone(np.arange(5)) == 20
