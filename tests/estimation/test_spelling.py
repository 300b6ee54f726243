"""Words outside of the vocabulary: their probabilities sum to one, and are those of the reference."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.spelling import ReferenceSpelling

from gapgram.errors import TextError
from gapgram.estimation.spelling import Spelling, learn_spelling
from gapgram.text.vocabulary import Vocabulary
from gapgram.text.word_table import MOST_TIMES, MOST_WORDS, WordSample, sampled

KNOWN = ["ab", "abba", "a", "bab", "abc"]
NEW = "z"  # stands for every character that no word has


def sample_of(words: list[str], times: list[int] | None = None) -> WordSample:
    data = [word.encode() for word in words]
    offsets = np.cumsum([0, *map(len, data)])
    return WordSample(np.frombuffer(b"".join(data), np.uint8), offsets, np.array(times or [1] * len(words)))


def learned(words: list[str], known: list[str], **options: int) -> Spelling:
    spelling = learn_spelling(sample_of(words), Vocabulary.of(known), **options)
    assert spelling is not None
    return spelling


def total(spelling: Spelling, alphabet: str, known: list[str]) -> float:
    """The sum over all strings outside of a vocabulary; each of NEW is as many characters as training did not show."""
    longest = spelling.most_characters
    strings = ["".join(s) for n in range(1, longest + 1) for s in product(alphabet + NEW, repeat=n)]
    outside = [s for s in strings if s not in known or len(s) == longest]
    probabilities = 10.0 ** spelling.log10_probs(outside)
    return math.fsum(p * spelling.other_characters ** s.count(NEW) for p, s in zip(probabilities, outside, strict=True))


@pytest.mark.parametrize("order", [2, 3, 6])
def test_words_outside_of_the_vocabulary_sum_to_one(order: int) -> None:
    spelling = learned(["ab", "abba", "a", "bab", "abc", "c"], KNOWN, order=order, most_characters=5)
    assert total(spelling, "abc", KNOWN) == pytest.approx(1.0, abs=1e-9)


@given(st.lists(st.text("ab", min_size=1, max_size=5), min_size=2, max_size=12, unique=True), st.integers(0, 6))
def test_they_sum_to_one_whatever_the_words(words: list[str], n_known: int) -> None:
    known = words[:n_known]
    spelling = learned(words, known, order=4, most_characters=4)
    assert total(spelling, "".join(sorted(set("".join(words)))), known) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("most_characters", [3, 100])
def test_the_reference_says_the_same(most_characters: int) -> None:
    words = ["walk", "walks", "walking", "talk", "talking", "straße", "日本", "talkative"]
    spelling = learned(words, KNOWN, most_characters=most_characters)
    # Special words are words of the vocabulary, too.
    twin = ReferenceSpelling(words, [*KNOWN, "<unk>", "<s>", "</s>"], most_characters=most_characters)
    assert 10**spelling.log10_outside == pytest.approx(twin.outside(), abs=1e-12)
    for word in ["walked", "x", "日", "talkatively", "ß" * 5, "…"]:
        assert 10.0 ** spelling.log10_prob(word) == pytest.approx(twin.probability(word, 1.0), rel=1e-9)


def test_words_that_begin_with_the_same_hundred_characters_are_one() -> None:
    spelling = learned(["aa", "ab", "ba"], [])
    assert spelling.most_characters == 100
    assert spelling.log10_prob("ab" * 50) == spelling.log10_prob("ab" * 50 + "x") == spelling.log10_prob("ab" * 5000)
    assert spelling.log10_prob("ab" * 49) != spelling.log10_prob("ab" * 50)
    assert np.isfinite(spelling.log10_prob("\ud800"))  # what no text can hold


def test_many_words_at_once_are_as_one_by_one() -> None:
    spelling = learned(["walk", "walks", "talking"], KNOWN)
    words = [f"walk{i}" for i in range(17_000)]
    together = spelling.log10_probs(words)
    assert together.size == 17_000
    for i in (0, 16_383, 16_384, 16_999):
        assert spelling.log10_prob(words[i]) == together[i]
    assert spelling.log10_probs([]).size == 0


def test_one_word_teaches_no_spelling() -> None:
    with pytest.raises(TextError, match=r"^open vocabulary: the text has one word, over and over: expected others"):
        learned(["a"], [])


def test_words_that_are_cut_are_spelled_as_often_as_they_are_met() -> None:
    assert sampled(np.array([50, 7, 5, 1]), 2)[1].tolist() == [1, 1, 5, 1]
    assert sampled(np.array([50, 40]), 0)[1].tolist() == [MOST_TIMES, MOST_TIMES]
    taken, times = sampled(np.ones(2 * MOST_WORDS + 1, np.int64), 0)
    assert taken == slice(None, None, 3) and times.size <= MOST_WORDS
