"""Lattices: families of patterns, and what each pattern is interpolated with."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import lattices

from gapgram import GapgramError, Lattice, Pattern
from gapgram.errors import UsageError
from gapgram.pattern import MAX_ORDER

families = st.integers(1, 6).flatmap(lattices)


def shorts(patterns: object) -> list[str]:
    return [str(p) for p in patterns]  # type: ignore[attr-defined]


def test_the_chain_is_modified_kneser_ney() -> None:
    chain = Lattice.chain(4)
    assert str(chain) == "chain 1 11 111 1111"
    assert [shorts(chain.below(p)) for p in chain.patterns] == [[], ["1"], ["11"], ["111"]]


def test_the_full_lattice_has_all_patterns() -> None:
    full = Lattice.full(3)
    assert str(full) == "full 1 11 101 111"
    assert shorts(full.below(Pattern.parse("111"))) == ["11", "101"]
    assert len(Lattice.full(8).patterns) == 2**7


def test_order_1_and_order_2_chain_and_full_are_one() -> None:
    for order in (1, 2):
        assert Lattice.full(order) == Lattice.chain(order)
        assert Lattice.full(order).name == "chain"


def test_a_custom_family_is_interpolated_with_the_largest_patterns_below() -> None:
    # 1111 = {1,2,3} lies above 111 = {1,2}, 101 = {2} and the empty pattern; {2} is in {1,2}: only 111 counts.
    lattice = Lattice.parse("1111,111,101", order=4)
    assert str(lattice) == "custom 1 101 111 1111"
    assert shorts(lattice.below(Pattern.parse("1111"))) == ["111"]
    assert shorts(lattice.below(Pattern.parse("111"))) == ["101"]


def test_a_prediction_enters_at_the_largest_patterns_it_can_fill() -> None:
    lattice = Lattice.parse("11,1001,1011", order=4)
    # Three words before: 1011 = {1,3} covers {1} and {3}. Two words before: only 11 and 1 can be filled.
    assert [shorts(lattice.starts(k)) for k in range(4)] == [["1"], ["11"], ["11"], ["1011"]]
    assert shorts(Lattice.parse("11 101", order=3).starts(2)) == ["11", "101"]
    assert shorts(Lattice.full(3).starts(99)) == ["111"]


def test_contexts_of_stored_patterns_are_grams_of_stored_patterns() -> None:
    # The context of 11011 is a gram of 1101, whose context is a gram of 11, whose context is a gram of 1.
    # The chain is kept besides: it tells which grams occur once.
    assert shorts(Lattice.parse("11011", order=5).stored) == ["1", "11", "111", "1101", "1111", "11011", "11111"]


@given(families)
def test_below_is_the_covers_of_the_family(lattice: Lattice) -> None:
    for pattern in lattice.patterns:
        under = [p for p in lattice.patterns if set(p.offsets) < set(pattern.offsets)]
        covers = {p for p in under if not any(set(p.offsets) < set(q.offsets) for q in under)}
        assert set(lattice.below(pattern)) == covers
        assert len(lattice.below(pattern)) == len(covers)


@given(families)
def test_every_pattern_leads_down_to_the_empty_one(lattice: Lattice) -> None:
    for pattern in lattice.patterns[1:]:
        assert lattice.below(pattern)


@given(families)
def test_stored_is_closed_and_no_larger_than_needed(lattice: Lattice) -> None:
    stored = set(lattice.stored)
    assert set(lattice.patterns) <= stored
    assert {p.tail for p in stored} <= stored
    tails = {p.tail for p in stored}
    assert all(p in lattice.patterns or p in tails or p.is_contiguous for p in stored)


@given(families)
def test_printing_and_parsing_are_inverse(lattice: Lattice) -> None:
    assert Lattice.parse(str(lattice), lattice.order) == lattice
    assert pickle.loads(pickle.dumps(lattice)) == lattice


@pytest.mark.parametrize("text", ["1,11,101", "1 11 101", " 11 , 101 ", "101\t11", "custom 1 11 101"])
def test_patterns_may_be_separated_by_spaces_or_commas(text: str) -> None:
    assert Lattice.parse(text, order=3) == Lattice(3, [Pattern.of(1), Pattern.of(2)])


@pytest.mark.parametrize("order", [0, -1, MAX_ORDER + 1, 2.5])
def test_an_order_that_no_model_has_is_refused(order: int) -> None:
    for make in (Lattice.chain, Lattice.full):
        with pytest.raises(GapgramError, match=f"order {order}: expected a whole number from 1 to {MAX_ORDER}"):
            make(order)


def test_a_pattern_longer_than_the_order_is_refused() -> None:
    with pytest.raises(GapgramError, match="pattern 1011 spans 4 words, the model's order is 3: raise the order"):
        Lattice.parse("11,1011", order=3)


@pytest.mark.parametrize(("text", "message"), [
    ("", "expected chain, full, or patterns such as"),
    (" , ", "expected chain, full, or patterns such as"),
    ("cahin", "pattern 'cahin'"),
    ("11,12", "pattern '12'"),
    ("full 101", "lattice 'full 101'"),
])  # fmt: skip
def test_what_is_no_lattice_is_refused(text: str, message: str) -> None:
    with pytest.raises(GapgramError, match=message):
        Lattice.parse(text, order=3)


def test_numbers_of_numpy_are_orders_too() -> None:
    import numpy as np

    assert type(Lattice.full(np.int64(3)).order) is int  # type: ignore[arg-type]


def test_a_full_lattice_has_its_limit() -> None:
    assert len(Lattice.full(11).patterns) == 1024
    with pytest.raises(UsageError, match="order 12: the full lattice has 2,048 patterns, at most 1,024 are kept"):
        Lattice.full(12)
    assert Lattice.chain(16).name == "chain"
    assert Lattice.parse("1100000000000011", order=16).name == "custom"
