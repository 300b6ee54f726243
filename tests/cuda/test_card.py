"""Models on a card give the scores of the CPU: on a card (`make gpu-test`), or in Python (`test_simulator`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.made_models import trained

import gapgram
from gapgram.cuda.card import THREADS, find_card
from gapgram.cuda.model import CardModel
from gapgram.errors import DeviceError, TextError, UsageError

try:
    find_card()
except DeviceError as missing:
    pytest.skip(f"{missing}: `make gpu-test` is for a machine that has one", allow_module_level=True)

# What numba-cuda says of itself: that small texts leave a card idle, and what it uses of NumPy that is to go.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Grid size"), pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]  # fmt: skip

TEXT = [
    *(["the cat sat on the mat", "the dog sat on the cat", "a cat ran to the dog", "the dog ran"] * 5),
    "a big dog sat", "one cat sat", "the mat on a dog",
]  # fmt: skip
ASKED = ["the cat ran on the dog", "", "a zebra sat on the <unk> mat", "a"]
KINDS: dict[str, dict[str, Any]] = {
    "mkn": {"model": "mkn"},
    "uniform": {"model": "glm", "weights": "uniform"},
    "learned": {"model": "glm", "weights": "learned"},
    "classes": {"model": "glm", "classes": 3},
    "clusterings": {"model": "glm", "classes": [3, 5]},
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[gapgram.Model, CardModel]:
    """A model, and itself on the card."""
    model = trained(TEXT, order=3, **KINDS[request.param])
    on_card = model.on("cuda")
    assert isinstance(on_card, CardModel)
    return model, on_card


def _sequences(model: gapgram.Model) -> tuple[Any, Any]:
    rows = [np.array([1, *model.vocabulary.ids(line.split()), 2], np.int32) for line in ASKED]
    return np.concatenate(rows), np.cumsum([0, *map(len, rows)])


def test_scores_of_ids_are_those_of_the_cpu(pair: tuple[gapgram.Model, CardModel]) -> None:
    model, card = pair
    ids, begins = _sequences(model)
    np.testing.assert_allclose(card.score_ids(ids, begins), model.score_ids(ids, begins), rtol=1e-12, atol=1e-14)


def test_a_text_longer_than_a_block_is_scored_across_its_edges(pair: tuple[gapgram.Model, CardModel]) -> None:
    model, card = pair
    n = 4 * THREADS
    ids = np.resize(model.vocabulary.ids(["the", "cat", "sat", "on", "a", "mat", "zebra", "dog"]), n).astype(np.int32)
    begins = np.array([0, 7, n - 20, n - 13, n])
    np.testing.assert_allclose(card.score_ids(ids, begins), model.score_ids(ids, begins), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("bos", "eos"), [(True, True), (False, True), (True, False), (False, False)])
def test_text_is_encoded_and_scored_as_on_the_cpu(
    pair: tuple[gapgram.Model, CardModel], bos: bool, eos: bool
) -> None:
    model, card = pair
    np.testing.assert_allclose(
        card.score_many(ASKED, bos, eos), model.score_many(ASKED, bos, eos), rtol=1e-12, atol=1e-14
    )


def test_perplexity_counts_the_same_words(pair: tuple[gapgram.Model, CardModel]) -> None:
    model, card = pair
    ours, theirs = card.perplexity(sentences=ASKED), model.perplexity(sentences=ASKED)
    assert (ours.words, ours.unknown_words, ours.sentences) == (theirs.words, theirs.unknown_words, theirs.sentences)
    assert ours.log10_prob == pytest.approx(theirs.log10_prob, rel=1e-12)


def test_steps_give_scores_and_the_states_after_them(pair: tuple[gapgram.Model, CardModel]) -> None:
    model, card = pair
    states, words = card.new_states(3), ["the", "cat", "</s>"]
    context = ["<s>"]
    for word in words:
        ids = np.full(3, model.vocabulary.id(word), np.int32)
        scores, states = card.step(states, ids)
        np.testing.assert_allclose(scores.copy_to_host(), model.log10_prob(word, context), rtol=1e-12)
        context.append(word)
    nothing = card.step(card.new_states(1, bos=False), np.full(1, model.vocabulary.id("cat"), np.int32))[0]
    np.testing.assert_allclose(nothing.copy_to_host(), model.log10_prob("cat"), rtol=1e-12)


def test_answers_of_a_step_are_written_where_asked(pair: tuple[gapgram.Model, CardModel]) -> None:
    _, card = pair
    cuda = find_card()
    out = cuda.device_array(2, np.float64), cuda.device_array((2, 3), np.int32)
    ids = np.array([3, 4], np.int32)
    scores, after = card.step(card.new_states(2), ids, out=out)
    assert scores is out[0]
    assert after is out[1]
    np.testing.assert_array_equal(scores.copy_to_host(), card.step(card.new_states(2), ids)[0].copy_to_host())


def test_all_next_words_are_the_distribution(pair: tuple[gapgram.Model, CardModel]) -> None:
    model, card = pair
    _, states = card.step(card.new_states(2), model.vocabulary.ids(["the", "zebra"]))
    expected = [model.distribution(["<s>", "the"]), model.distribution(["<s>", "<unk>"])]
    probabilities = 10.0 ** card.next_scores(states).copy_to_host()
    np.testing.assert_allclose(probabilities, expected, rtol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)


def test_the_most_probable_next_words_are_those_of_the_cpu(pair: tuple[gapgram.Model, CardModel]) -> None:
    model, card = pair
    _, states = card.step(card.new_states(2), model.vocabulary.ids(["the", "zebra"]))
    scores = card.next_scores(states).copy_to_host()
    for own, context in zip(scores, (["<s>", "the"], ["<s>", "<unk>"]), strict=True):
        expected = model.predict(context, 5, special=True)
        ids = np.lexsort((np.arange(own.size), -own.round(12)))[:5]  # words as probable as each other by their ids
        assert [model.vocabulary[int(i)] for i in ids] == [each.word for each in expected]


def test_mistakes_are_answered_as_on_the_cpu(pair: tuple[gapgram.Model, CardModel]) -> None:
    _, card = pair
    with pytest.raises(TextError, match="sentences:2: the word <s> is the model's own"):
        card.score_many(["a cat", "the <s> cat"])
    with pytest.raises(UsageError, match=r"states of shape \(2, 3\) and 1 words: expected \[1, 3\]"):
        card.step(card.new_states(2), np.zeros(1, np.int32))
    with pytest.raises(UsageError, match=r"states of shape \(2, 4\): expected \[state, 3\]"):
        card.next_scores(np.zeros((2, 4), np.int32))


def test_a_compact_model_and_a_mixture_go_to_the_card() -> None:
    model = trained(TEXT, order=3, model="mkn").with_layout("compact")
    other = trained(TEXT[:15], order=2, model="glm", weights="uniform")
    mixture = gapgram.Mixture([model, other], [0.7, 0.3])
    np.testing.assert_allclose(model.on("cuda").score_many(ASKED), model.score_many(ASKED), rtol=1e-12)
    np.testing.assert_allclose(mixture.on("cuda").score_many(ASKED), mixture.score_many(ASKED), rtol=1e-12)
