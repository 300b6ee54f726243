"""The protocols against arithmetic done by hand, and against the model's own answers."""

from __future__ import annotations

from math import log10

import numpy as np
import pytest
from studies.protocols import PARTS, Sequences, Tally, draw_sequences, observed, place_tallies
from studies.statistics import once_by_pattern, word_statistics
from studies.texts import TestText, TrainingText
from tests.support.corpora import corpus_of, toy_text

import gapgram
from gapgram.errors import TextError

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


def test_place_1_by_hand() -> None:
    # <s> a a a b </s>, order 1: a 3, b 1, </s> 1 of 5. No count is 2, so the discounts are 1/2, 1, 3/2;
    # they take 1/2 + 1/2 + 3/2 = 5/2 of 5, half of all, shared out evenly to <unk>, </s>, a, b: 1/8 each.
    model = gapgram.train(sentences=["a a a b"], order=1, model="mkn")
    sequences = Sequences([["a"], ["x"], ["b"], ["<s>"]], 1)
    ids = sequences.ids(model.vocabulary)
    complete, unseen, seen = place_tallies(model, ids, observed(corpus_of(["a a a b"]).ids, ids))[1]
    a, b, x = 1.5 / 5 + 1 / 8, 0.5 / 5 + 1 / 8, 1 / 8
    assert complete.log10_prob == pytest.approx(log10(a * b * x), rel=1e-9)
    assert (complete.predictions, complete.unknown_words) == (3, 1)  # <s> is given
    assert complete.perplexity == pytest.approx((a * b * x) ** (-1 / 3), rel=1e-9)
    assert complete.perplexity_known == pytest.approx((a * b) ** (-1 / 2), rel=1e-9)
    assert (unseen.predictions, unseen.unknown_words) == (1, 1)
    assert seen.log10_prob == pytest.approx(log10(a * b), rel=1e-9)


def test_a_sequence_is_the_product_over_models_of_rising_order() -> None:
    lines, words = toy_text(200), ["w1", "w3", "w2"]
    models = [gapgram.train(sentences=lines, order=n, model="mkn") for n in (1, 2, 3)]
    ids = Sequences([words], 3).ids(models[0].vocabulary)
    seen = observed(corpus_of(lines).ids, ids)
    places = [place_tallies(model, ids, seen) for model in models]
    total = Tally.sum(place[3][PARTS.index("complete")] for place in places)
    expected = [model.log10_prob(words[i], words[:i]) for i, model in enumerate(models)]
    assert total.log10_prob == pytest.approx(sum(expected), rel=1e-12)
    assert total.perplexity == pytest.approx(10 ** (-sum(expected) / 3), rel=1e-12)
    assert sorted(places[1]) == [2, 3]  # a model of order 2 has no say in sequences of one word


def test_parts_add_up() -> None:
    lines = toy_text(300)
    model = gapgram.train(sentences=lines, order=2, model="mkn")
    sequences = draw_sequences(toy_text(80, seed=3), number=150, length=4, seed=1)
    ids = sequences.ids(model.vocabulary)
    for complete, unseen, seen in place_tallies(model, ids, observed(corpus_of(lines).ids, ids)).values():
        together = unseen + seen
        assert together.predictions == complete.predictions == 150
        assert together.log10_prob == pytest.approx(complete.log10_prob)


def test_observed_by_hand() -> None:
    corpus = corpus_of(["a b c", "b a"])
    ids = Sequences([list("abc"), list("abx"), list("bca"), list("cab"), list("xab")], 3).ids(corpus.vocabulary)
    # Across the end of a sentence nothing is observed: c is followed by </s>, not by b.
    assert observed(corpus.ids, ids).tolist() == [
        [True, True, True], [True, True, False], [True, True, False], [True, False, False], [False, False, False],
    ]  # fmt: skip


def test_observed_equals_looking() -> None:
    lines = toy_text(120, vocabulary=9)
    corpus = corpus_of(lines)
    sequences = draw_sequences(toy_text(60, seed=2, vocabulary=11), number=200, length=4, seed=5)
    found = observed(corpus.ids, sequences.ids(corpus.vocabulary))
    text = "".join(f" {line} " for line in lines)
    for n in range(1, 5):
        looked = [f" {' '.join(words[:n])} " in text for words in sequences.words]
        assert found[:, n - 1].tolist() == looked


def test_drawing_is_repeatable_without_replacement_and_inside_sentences() -> None:
    lines = ["a b c", "d", "e f g h"]
    runs = {("a", "b"), ("b", "c"), ("e", "f"), ("f", "g"), ("g", "h")}
    four = draw_sequences(lines, number=4, length=2, seed=1)
    assert len({tuple(words) for words in four.words} & runs) == 4
    assert four.words == draw_sequences(lines, number=4, length=2, seed=1).words
    assert len({draw_sequences(lines, number=4, length=2, seed=seed).digest for seed in range(20)}) == 5
    assert {tuple(words) for words in draw_sequences(lines, number=99, length=2, seed=1).words} == runs
    with pytest.raises(TextError, match="no sentence of 5 words or more"):
        draw_sequences(lines, number=1, length=5, seed=1)


def test_words_are_apart_by_ascii_space_alone() -> None:
    assert draw_sequences(["a\u00a0b c\u3000d"], number=1, length=2, seed=1).words == [["a\u00a0b", "c\u3000d"]]


def test_grams_that_occur_once_by_hand() -> None:
    # <s> a b </s> and <s> a c </s>. Of 101: <s>_b <s>_c a_</s> a_</s>; of 111: <s>ab, ab</s>, <s>ac, ac</s>.
    found = once_by_pattern(corpus_of(["a b", "a c"]).ids, order=3)
    assert found == {
        "1": {"grams": 6, "unique": 4, "once": 2},
        "11": {"grams": 6, "unique": 5, "once": 4},
        "101": {"grams": 4, "unique": 3, "once": 2},
        "111": {"grams": 4, "unique": 4, "once": 4},
    }


def test_word_statistics_by_hand() -> None:
    training = TrainingText("toy", "en", ["a b a", "c"], True, False)
    assert word_statistics(training, TestText(["a x", "x c b"])) == {
        "sentences": 2, "words": 4, "unique_words": 3, "words_once": 2, "mean_sentence_length": 2.0,
        "test_sentences": 2, "test_words": 5, "test_unknown_words": 2,
    }  # fmt: skip


def test_no_predictions_have_no_perplexity() -> None:
    assert np.isnan(Tally().perplexity)
