"""Kernels as Python calls them: what they take, what they return, and what is said where they refuse."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kernels.samples import Inner, Outer
from tests.support.sample_kernels import Samples

from gapgram.kernels import compiled
from gapgram.kernels.kinds import DTYPES

only_built = pytest.mark.skipif(compiled.MODE != "built", reason="Numba or Python calls the kernels")
not_python = pytest.mark.skipif(compiled.AS_PYTHON, reason="kernels run as plain Python")

BUNDLE = Outer(7, Inner(np.array([1, 2, 3]), 0.5), True, np.array([[7], [20]]))


def test_numbers_arrays_and_bytes_come_and_go(samples: Samples) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert samples.several(10, 1.25, True, None, b"\x01\xff", array) == (266, 2.5, True, 5.0, None)
    found = samples.several(np.int16(10), np.float32(1.25), False, None, b"", array)
    assert found == (0, 2.5, False, 5.0, None)


@only_built
def test_numbers_come_back_as_those_of_python(samples: Samples) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = samples.several(np.int16(10), 3, True, None, b"", array)  # a whole number where a float is wanted
    assert [type(each) for each in found] == [int, float, bool, float, type(None)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_kind_of_number(samples: Samples, dtype: str) -> None:
    array = np.array([0, 1, 1, 100], dtype)
    found = samples.turned(array)
    assert found.dtype == array.dtype
    assert found.tolist() == array.tolist()[::-1]


def test_types_of_c_that_are_the_same_are_taken(samples: Samples) -> None:
    for letter in "?bBhHiIlLqQfd":
        assert samples.turned(np.array([0, 1], letter)).tolist() == [1, 0]


def test_arrays_with_gaps_are_read_where_they_lie(samples: Samples) -> None:
    whole = np.arange(48.0).reshape(6, 8)
    for array in (whole, whole[::2, 1:5], whole.T, whole[::-1], np.asfortranarray(whole), whole[:0]):
        expected = sum(array[i, k] * (10 * i + k) for i in range(array.shape[0]) for k in range(array.shape[1]))
        assert samples.sum_with_gaps(array) == expected


def test_bundles_are_read_field_by_field(samples: Samples) -> None:
    assert samples.of_outer(BUNDLE) == 28.0
    assert samples.of_outer(BUNDLE._replace(flag=False)) == -1.0


def test_a_kind_may_be_one_of_several(samples: Samples) -> None:
    with_gaps = np.arange(8, dtype=np.int32)[::2]
    assert [samples.add_up(1, array) for array in (None, with_gaps, with_gaps.copy())] == [1, 13, 13]
    assert samples.add_up(np.uint64(2**63), None) == 2**63
    for array in (np.zeros(3, np.int64), np.ones(5), np.zeros((4, 4))[:, 1], np.ones(1, np.int32)):
        assert samples.first(array) == array[0]


def test_an_array_that_may_not_be_written_is_taken(samples: Samples) -> None:
    frozen = np.full(3, 4.0)
    frozen.flags.writeable = False
    assert samples.first(frozen) == 4.0


def test_derived_classes_of_arrays_are_arrays(samples: Samples, tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "numbers", np.int64, "w+", shape=3)
    mapped[:] = 5
    assert samples.first(mapped) == 5


def test_numbers_without_a_sign_stay_so(samples: Samples) -> None:
    assert samples.halved(-2) == (-1, -2)
    assert samples.halved(np.uint64(2**64 - 2)) == (2**63 - 1, 2**64 - 2)
    assert samples.halved(np.uint64(4)) == (2, 4)


def test_functions_of_mathematics(samples: Samples) -> None:
    x = 2.7
    *values, parts = samples.mathematics(x)
    assert values == pytest.approx([math.log10(x), math.exp(x), 10.0**x, math.lgamma(x), 2, math.sqrt(x)], rel=1e-15)
    assert parts == math.frexp(x)


def test_lists_and_shapes_inside_a_kernel(samples: Samples) -> None:
    assert samples.grown(1000).tolist() == [[0, 0, 0], [1001, 1001, 0]]


# The memory of results


def test_results_keep_their_memory_and_give_it_back(samples: Samples) -> None:
    some, others, empty = samples.parts(6)
    del others
    again = [samples.parts(6) for _ in range(100)]
    assert some.tolist() == [1, 2]
    assert empty.size == 0
    assert again[50][1].tolist() == [2, 3, 4, 5]
    some[0] = 9  # it is nobody else's
    assert some.flags.writeable
    assert some.base is not None


def test_memory_of_results_is_not_lost(samples: Samples) -> None:
    resource = pytest.importorskip("resource")

    def most_resident() -> int:
        for _ in range(40):
            assert samples.large(1 << 24)[1][0] == 1
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    before = most_resident()
    assert most_resident() < before + (40 << 14) / 2


@only_built
def test_memory_that_is_handed_out_many_times_is_not_lost(samples: Samples) -> None:
    """Small results, whose memory a leak of one reference to each would add up."""
    resource = pytest.importorskip("resource")

    def most_resident() -> int:
        for _ in range(100_000):
            samples.made(16)
            samples.of_outer(BUNDLE)
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    before = most_resident()
    assert most_resident() < before + 4_000


@only_built
def test_an_argument_that_is_returned_is_copied(samples: Samples) -> None:
    array = np.arange(4)
    found = samples.rest_of(array)
    array[:] = 0
    assert found.tolist() == [1, 2, 3]


def test_a_named_tuple_is_returned_as_one(samples: Samples) -> None:
    inner, n = samples.made(3)
    assert type(inner) is Inner
    assert (inner.numbers.tolist(), inner.factor, n) == ([0, 1, 2], 2.5, 3)


# Brief kernels, and arguments that are given once


def test_first_arguments_may_be_given_once(samples: Samples) -> None:
    outer = Outer(3, Inner(np.arange(3), 0.5), True, np.array([[7, 8]]))
    doubled, tripled = (samples.bind(samples.weighed, (outer, factor)) for factor in (2, 3))
    del outer  # what is given once is kept
    assert doubled(b"\x01", 5) == (2.5, np.array([14, 6], np.int32).tobytes())
    assert tripled(b"\x09", 1) == (0.5, np.array([21, 10], np.int32).tobytes())


@only_built
def test_what_is_given_once_is_kept_as_long_as_it_is_called(samples: Samples) -> None:
    constants = (BUNDLE._replace(first=4), 2)
    before = sys.getrefcount(constants)
    bound = samples.bind(samples.weighed, constants)
    assert sys.getrefcount(constants) == before + 1
    del bound
    assert sys.getrefcount(constants) == before


@only_built
@pytest.mark.parametrize("wrong", [("text", 5), (b"",), (b"", 5, 5), (b"", 1.5)])
def test_bound_kernels_refuse_other_kinds(samples: Samples, wrong: tuple[Any, ...]) -> None:
    bound = samples.bind(samples.weighed, (BUNDLE, 2))
    with pytest.raises(samples.KindError) as caught:
        bound(*wrong)
    assert str(caught.value).startswith("kernel samples.weighed: its last arguments are not of the kinds (Outer(int ")


@only_built
def test_constants_of_other_kinds_are_refused(samples: Samples) -> None:
    expected = r"kernel samples\.weighed was built for \(Outer.*: found \(int, int\)$"
    with pytest.raises(samples.KindError, match=expected):
        samples.bind(samples.weighed, (5, 2))


def test_a_string_is_taken_as_a_line_of_bytes(samples: Samples) -> None:
    taken = samples.bind(samples.bytes_of, (7,))
    assert taken("a bé") == (7, "a bé\n".encode())
    assert taken("") == (7, b"\n")
    assert taken(b"as they are") == (7, b"as they are")
    with pytest.raises(samples.KindError):
        taken("two\nlines")


@only_built
@pytest.mark.parametrize("wrong", ["\ud800", "a" * 20_000, None, 5])
def test_what_is_no_line_is_refused(samples: Samples, wrong: Any) -> None:
    """Half a character, and a line that is too long to be copied: who calls makes bytes of these."""
    with pytest.raises(samples.KindError):
        samples.bytes_of(7, wrong)


def test_a_brief_kernel_may_take_any_amount_of_memory(samples: Samples) -> None:
    given = samples.bind(samples.summed, (2,))
    for n in (1, 3, 1000, 9000, 20_000, 100_000, 0, 5, 100_000, 1):
        assert given(n) == (12 * n, 1 + 4 * (n % 1000), np.full(2, n % 100).tobytes())


# What kernels refuse, and how they fail


@only_built
@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (([1, 2],), "list"),
        (({1: 2},), "dict"),
        ((np.zeros(2, np.int64).byteswap().view(">i8"),), "int64[] of another order of bytes"),
        ((np.zeros(2, complex),), "complex128[]"),
        ((np.zeros(9, np.uint8)[1:].view(np.int64),), "int64[] of another order of bytes"),
        ((np.zeros((2, 2)),), "float64[,]"),
        ((np.zeros(4, np.int32)[::2],), "int32[:]"),
        ((np.zeros(2, np.float32),), "float32[]"),
        ((), ""),
        ((np.zeros(2), 3), "float64[], int"),
        ((None,), "none"),
        (("text",), "line"),
        ((np.float64(2.5),), "float"),
    ],
)
def test_the_message_has_what_was_expected_and_what_was_found(
    samples: Samples, arguments: tuple[Any, ...], found: str
) -> None:
    with pytest.raises(samples.KindError) as caught:
        samples.first(*arguments)
    expected = "int64[] or int32[] or float64[] or float64[:]"
    assert str(caught.value) == f"kernel samples.first was built for ({expected}): found ({found})"
    assert isinstance(caught.value, TypeError)


@only_built
def test_bundles_of_other_fields_are_refused(samples: Samples) -> None:
    inner = BUNDLE.inner._replace(numbers=np.zeros(2, np.int32))
    with pytest.raises(samples.KindError) as caught:
        samples.of_outer(BUNDLE._replace(inner=inner))
    assert str(caught.value).endswith(": found (Outer(int Inner(int32[] float) bool int64[,]))")
    for wrong in (BUNDLE[:3], (*BUNDLE, 1), BUNDLE.inner):
        with pytest.raises(samples.KindError):
            samples.of_outer(wrong)


@only_built
@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1, 1 << 64, 1.5, "1"])
def test_numbers_that_are_not_whole_ones_of_64_bits_are_refused(samples: Samples, number: Any) -> None:
    with pytest.raises(samples.KindError):
        samples.halved(number)


@not_python
def test_a_kernel_that_fails_says_so(samples: Samples) -> None:
    assert samples.divided(1.0, 2.0) == 0.5
    failing: list[Callable[[], Any]] = [lambda: samples.divided(1.0, 0.0), lambda: samples.huge(1 << 60)]
    for fail in failing:
        with pytest.raises((MemoryError, ZeroDivisionError)) as caught:
            fail()
        if compiled.MODE == "built":
            assert type(caught.value) is MemoryError
            assert str(caught.value).endswith(
                ": the kernel failed: there was not enough memory, or a number was divided by zero"
            )


@only_built
def test_a_kernel_that_was_not_built_says_so() -> None:
    def not_in_the_table(number: int) -> int:
        return number

    for decorator in (compiled.kernel, compiled.inlined, compiled.noinline, compiled.brief):
        made = decorator(not_in_the_table)
        assert compiled.function_of(made) is not_in_the_table
        with pytest.raises(compiled.KindError) as caught:
            made(1)
        assert str(caught.value) == (
            f"kernel {__name__}.not_in_the_table was not built for calls from Python: name it in the "
            "table of compiler/signatures.py; found (int)"
        )
    assert compiled.host_callable(not_in_the_table)(3) == 3


def test_what_is_no_kernel_has_no_function() -> None:
    for value in (len, None, 5, "text"):
        assert compiled.function_of(value) is None
