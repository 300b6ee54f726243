"""Patterns: sets of offsets, printed as text runs."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapgram import GapgramError, Pattern
from gapgram.pattern import MAX_ORDER

patterns = st.integers(0, (1 << (MAX_ORDER - 1)) - 1).map(Pattern)
small_patterns = st.integers(0, 63).map(Pattern)


def test_the_example_of_the_design() -> None:
    # Order 5, S = {1, 2, 4}: offset 4 is w1, 3 is skipped, 2 is w3, 1 is w4; w5 is predicted.
    pattern = Pattern.of(1, 2, 4)
    assert pattern.mask == 0b1011
    assert (str(pattern), pattern.describe()) == ("10111", "w1 _ w3 w4 w5")
    assert (pattern.offsets, pattern.reach, pattern.nearest, len(pattern)) == ((1, 2, 4), 4, 1, 3)


def test_leading_skips_vanish() -> None:
    assert str(Pattern.of(1)) == "11"
    assert Pattern.parse("00011") == Pattern.of(1)
    assert Pattern.parse("_ _ w3 w4") == Pattern.of(1)


def test_the_empty_pattern_keeps_nothing() -> None:
    empty = Pattern.of()
    assert (str(empty), empty.describe(), empty.offsets, empty.reach, empty.nearest) == ("1", "w1", (), 0, 0)
    assert empty.is_contiguous
    assert list(empty.smaller()) == []


def test_skipping_one_more_word_takes_the_farthest_first() -> None:
    # {1, 2, 4} without 4, then without 2, then without 1.
    assert [str(p) for p in Pattern.of(1, 2, 4).smaller()] == ["111", "10011", "10101"]


def test_a_context_is_a_gram_of_the_tail() -> None:
    # The context of w1 w2 _ w4 is the bigram w1 w2, two places before the prediction.
    assert Pattern.parse("1101").tail == Pattern.parse("11")
    assert Pattern.parse("1101").nearest == 2


@given(patterns)
def test_printing_and_parsing_are_inverse_in_both_forms(pattern: Pattern) -> None:
    assert Pattern.parse(str(pattern)) == pattern
    assert Pattern.parse(pattern.describe()) == pattern
    assert Pattern.of(*pattern.offsets) == pattern
    assert pickle.loads(pickle.dumps(pattern)) == pattern


@given(patterns)
def test_a_pattern_is_the_set_of_its_offsets(pattern: Pattern) -> None:
    offsets = set(pattern.offsets)
    assert {k for k in range(MAX_ORDER + 2) if k in pattern} == offsets
    assert len(pattern) == len(offsets)
    assert pattern.reach == max(offsets, default=0)
    assert pattern.nearest == min(offsets, default=0)
    assert pattern.is_contiguous == (offsets == set(range(1, len(offsets) + 1)))
    assert {frozenset(p.offsets) for p in pattern.smaller()} == {frozenset(offsets - {k}) for k in offsets}


@given(small_patterns, small_patterns)
def test_the_order_of_the_lattice_is_that_of_sets(one: Pattern, other: Pattern) -> None:
    assert (one <= other) == (set(one.offsets) <= set(other.offsets))


@pytest.mark.parametrize("text", ["", " ", "0", "10", "1021", "x", "w1 _", "w1 x w3", "1" * 17, "1 1", "-1", "w1w2"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(GapgramError, match="expected 1 for a word kept and 0 for a word skipped") as error:
        Pattern.parse(text)
    assert repr(text) in str(error.value)


def test_a_long_form_whose_numbers_are_not_its_places_is_refused() -> None:
    # "w1 w3" may mean "w1 _ w3": better not to guess.
    with pytest.raises(GapgramError, match="'w1 w3'"):
        Pattern.parse("w1 w3")


def test_an_offset_counts_from_one() -> None:
    with pytest.raises(GapgramError, match="offset 0 of a pattern: offsets count back from the predicted word"):
        Pattern.of(1, 0)
