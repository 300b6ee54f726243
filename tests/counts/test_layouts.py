"""The tables of both layouts: any of them survive the way there and back."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from tests.support.corpora import corpus_of, texts_and_lattices
from tests.support.made_tables import DRAWS, LENGTHS, counts_of

from gapgram import Counts, Lattice
from gapgram.counting.in_memory import count
from gapgram.counts.compact import choose_codes
from gapgram.counts.layouts import in_layout


def same_tables(one: Counts, two: Counts) -> None:
    for pattern in one.lattice.stored:
        assert np.array_equal(one.grams(pattern), two.grams(pattern))
        assert np.array_equal(one.contexts(pattern), two.contexts(pattern))
        assert np.array_equal(one.rows(pattern), two.rows(pattern))


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_any_tables_survive_both_ways(lengths: str, draw: str) -> None:
    chance = random.Random(5)
    counts = counts_of(LENGTHS[lengths], lambda: DRAWS[draw](chance))
    packed = replace(counts, tables=in_layout(counts, "compact"))
    same_tables(counts, packed)
    again = in_layout(packed, "fast")
    for name, array in counts.tables._asdict().items():
        assert np.array_equal(array, getattr(again, name)), name


@given(texts_and_lattices())
def test_tables_of_random_texts_survive_both_ways(drawn: tuple[list[list[str]], Lattice]) -> None:
    text, lattice = drawn
    counts = count(corpus_of(text), lattice)
    packed = replace(counts, tables=in_layout(counts, "compact"))
    same_tables(counts, packed)
    again = in_layout(packed, "fast")
    assert again.packed is None
    for name, array in counts.tables._asdict().items():
        assert np.array_equal(array, getattr(again, name)), name


def test_codes_are_the_most_frequent_counts() -> None:
    numbers = np.zeros(50, np.int64)
    numbers[[1, 2, 9]] = 10**6, 5, 10**5
    codes = choose_codes(numbers)
    assert codes.book[: 1 << codes.bits].tolist() == [1, 9, 2, -1]
    assert codes.of[[1, 2, 9, 3]].tolist() == [0, 2, 1, -1]
    numbers[3] = 1  # as many counts as codes: none is listed
    assert choose_codes(numbers).book.tolist() == [1, 9, 2, 3]
