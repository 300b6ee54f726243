"""Models on a card give the scores of the CPU: on a card (`make gpu-test`), or in Python (`test_simulator`)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.support.card_in_cpp import PlayedCard
from tests.support.made_models import trained

import gapgram
from gapgram.cuda.card import THREADS, find_card, on_cpu
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


SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


@pytest.fixture(scope="module", autouse=True)
def _played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where Python plays the card for numba-cuda, a C++ compiler plays it for CuPy."""
    with pytest.MonkeyPatch.context() as patch:
        if SIMULATED:
            played = PlayedCard(tmp_path_factory.mktemp("card"))
            patch.setattr("gapgram.cuda.model.find_cupy", lambda: (played, 1 << 40))
        yield


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
        np.testing.assert_allclose(on_cpu(scores), model.log10_prob(word, context), rtol=1e-12)
        context.append(word)
    nothing = card.step(card.new_states(1, bos=False), np.full(1, model.vocabulary.id("cat"), np.int32))[0]
    np.testing.assert_allclose(on_cpu(nothing), model.log10_prob("cat"), rtol=1e-12)


def test_answers_of_a_step_are_written_where_asked(pair: tuple[gapgram.Model, CardModel]) -> None:
    _, card = pair
    ids = np.array([3, 4], np.int32)
    expected, states = card.step(card.new_states(2), ids)
    out = expected * 0.0, states * 0
    scores, after = card.step(card.new_states(2), ids, out=out)
    assert scores is out[0]
    assert after is out[1]
    np.testing.assert_array_equal(on_cpu(scores), on_cpu(expected))
    np.testing.assert_array_equal(on_cpu(after), on_cpu(states))


def test_all_next_words_are_the_distribution(pair: tuple[gapgram.Model, CardModel]) -> None:
    model, card = pair
    _, states = card.step(card.new_states(2), model.vocabulary.ids(["the", "zebra"]))
    expected = np.array([model.distribution(["<s>", "the"]), model.distribution(["<s>", "<unk>"])])
    scores = card.next_scores(states)
    np.testing.assert_allclose(10.0 ** on_cpu(scores), expected, rtol=1e-8)
    out = (states[:, :1] + scores).astype(np.float32)  # another array of that shape
    assert card.next_scores(states, out=out, base=math.e) is out
    np.testing.assert_allclose(np.exp(on_cpu(out)), expected, rtol=1e-5)
    words = model.vocabulary.ids(["</s>", "cat"])
    some = card.next_scores(states, words=words, base=2.0)
    np.testing.assert_allclose(2.0 ** on_cpu(some), expected[:, words], rtol=1e-8)


def test_the_most_probable_next_words_are_those_of_the_cpu(pair: tuple[gapgram.Model, CardModel]) -> None:
    model, card = pair
    _, states = card.step(card.new_states(2), model.vocabulary.ids(["the", "zebra"]))
    scores, words = map(on_cpu, card.likely_words(states, 5))
    for own, ids, context in zip(scores, words, (["<s>", "the"], ["<s>", "<unk>"]), strict=True):
        expected = model.predict(context, 5, special=True)
        np.testing.assert_allclose(10.0**own, [each.probability for each in expected], rtol=1e-8)
        given = model.distribution(context)
        np.testing.assert_allclose(given[ids], [each.probability for each in expected], rtol=1e-8)


@pytest.mark.skipif(SIMULATED, reason="no card")
@pytest.mark.parametrize("package", ["torch", "cupy", "jax"])
def test_arrays_of_others_go_in_and_out_without_copies(pair: tuple[gapgram.Model, CardModel], package: str) -> None:
    model, card = pair
    their: Any = pytest.importorskip(package)
    own = card.new_states(2)
    taken = their.dlpack.from_dlpack(own) if package == "jax" else their.from_dlpack(own)
    pointer = taken.data_ptr() if package == "torch" else (
        taken.data.ptr if package == "cupy" else taken.unsafe_buffer_pointer()
    )  # fmt: skip
    assert pointer == own.data.ptr
    words = np.array([3, 4], np.int32)
    held = {"torch": lambda: their.tensor(words, device="cuda"), "cupy": lambda: their.asarray(words)}.get(
        package, lambda: their.numpy.asarray(words)
    )()
    scores, after = card.step(taken, held)
    expected = card.step(card.new_states(2), words)
    np.testing.assert_array_equal(on_cpu(scores), on_cpu(expected[0]))
    np.testing.assert_array_equal(on_cpu(after), on_cpu(expected[1]))
    if package == "torch":
        out = their.zeros(2, len(model.vocabulary), dtype=their.float32, device="cuda")
        stream = their.cuda.Stream()
        stream.wait_stream(their.cuda.current_stream())
        with their.cuda.stream(stream):
            assert card.next_scores(taken, out=out) is out
        stream.synchronize()
        np.testing.assert_allclose(out.cpu().numpy(), on_cpu(card.next_scores(own)), rtol=1e-5)


def test_mistakes_are_answered_as_on_the_cpu(pair: tuple[gapgram.Model, CardModel]) -> None:
    _, card = pair
    with pytest.raises(TextError, match="sentences:2: the word <s> is the model's own"):
        card.score_many(["a cat", "the <s> cat"])
    with pytest.raises(UsageError, match=r"states of shape \[2, 3\] and 1 words: expected \[1, 3\]"):
        card.step(card.new_states(2), np.zeros(1, np.int32))
    for asked, said in (
        (lambda: card.next_scores(np.zeros((2, 4), np.int32)), r"states of shape \[2, 4\]: expected \[state, 3\]"),
        (lambda: card.next_scores(np.zeros((2, 3))), "states of type float64: expected int32"),
        (lambda: card.next_scores(card.new_states(1), dtype=np.int32), "type int32: expected float32 or float64"),
        (lambda: card.next_scores(card.new_states(1), base=1.0), "base 1.0: expected a number above 1"),
        (lambda: card.next_scores(card.new_states(1), words=np.array([900], np.int32)), "expected ids below"),
        (lambda: card.next_scores(card.new_states(1), out=card.new_states(1)), "type int32: expected float32"),
        (lambda: card.next_scores(card.new_states(1), out=np.zeros((2, 2))), r"out of shape \[2, 2\]"),
        (lambda: card.likely_words(card.new_states(1), 900), "k 900: expected 1 to"),
    ):
        with pytest.raises(UsageError, match=said):
            asked()


def test_a_model_that_is_too_large_for_the_card_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gapgram.cuda.model.find_cupy", lambda: (np, 99))
    with pytest.raises(DeviceError, match=r"the model has [\d,]+ bytes, and 99 are free there"):
        trained(TEXT, order=2, model="mkn").on("cuda")


def test_a_compact_model_and_a_mixture_go_to_the_card() -> None:
    model = trained(TEXT, order=3, model="mkn").with_layout("compact")
    other = trained(TEXT[:15], order=2, model="glm", weights="uniform")
    mixture = gapgram.Mixture([model, other], [0.7, 0.3])
    np.testing.assert_allclose(model.on("cuda").score_many(ASKED), model.score_many(ASKED), rtol=1e-12)
    np.testing.assert_allclose(mixture.on("cuda").score_many(ASKED), mixture.score_many(ASKED), rtol=1e-12)
