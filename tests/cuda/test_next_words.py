"""All next words after packed states: the kernel for a card, by the CPU (`tests.support.card_in_cpp`) and by a card."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.card_in_cpp import COMPILER, PlayedCard
from tests.support.corpora import toy_text
from tests.support.made_models import KINDS, trained

import gapgram
from gapgram.cuda.card import find_cupy, on_cpu
from gapgram.cuda.next_words import HeldArrays, NextWords
from gapgram.cuda.torch_streams import SessionsOnCard
from gapgram.errors import DeviceError
from gapgram.queries.packed_states import PackedStates
from gapgram.queries.stream_sessions import StreamSessions

ORDERS = {"mkn": 5, "learned": 4, "classes": 4, "custom": 4}  # others: 3


@pytest.fixture(scope="module", params=["played", "real"])
def card(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """CuPy where there is a card, and what stands for it."""
    if request.param == "played":
        if COMPILER is None:
            pytest.skip("no C++ compiler: a card cannot be played")
        return PlayedCard(tmp_path_factory.mktemp("card"))
    try:
        return find_cupy()[0]
    except DeviceError as missing:
        pytest.skip(f"{missing}: `make gpu-test` is for a machine that has one")


class Asked:
    """A model, its labels, and the kernel: label v is the v-th word after the special ones, the last ones unknown."""

    def __init__(self, card: Any, model: gapgram.Model, n_unknown: int = 0) -> None:
        self.model = model.with_layout("fast")
        self.words = np.append(np.arange(3, len(model.vocabulary)), np.zeros(n_unknown)).astype(np.int32)
        self.xp = card
        self.states = PackedStates(len(self.words), model.order)
        self.next_words = NextWords(HeldArrays(card, self.model._arrays), self.words, self.states)

    def contexts(self) -> list[list[int]]:
        """Labels that come after each other, with <s> and without, among them such that were never seen together."""
        draw, n = np.random.default_rng(3), len(self.words)
        seen = [[int(i) - 3 for i in self.model.vocabulary.ids(line.split())] for line in toy_text(12, seed=11)]
        drawn = draw.integers(0, n, (12, 5)).tolist()
        cut = [[*labels[: draw.integers(0, 6)]] for labels in [*seen, *drawn]]
        return [[n, *labels] if i % 2 else labels for i, labels in enumerate(cut) if min(labels, default=0) >= 0]

    def packed(self, labels: list[int]) -> int:
        state = 0
        for label in labels:
            state = self.states.after(state, label)
        return state

    def expected(self, labels: list[int]) -> Any:
        """P(· | context) by the CPU: of each label, and of the end."""
        ids = [1 if label == len(self.words) else self.words[label] for label in labels]
        given = self.model.distribution([self.model.vocabulary[int(i)] for i in ids])
        share = np.where(self.words == 0, max((self.words == 0).sum(), 1), 1)
        return given[self.words] / share, given[2]

    def next(self, states: list[int], **options: Any) -> tuple[Any, Any]:
        """(scores, states after) of all labels."""
        shape, xp = (len(states), len(self.words)), self.xp
        scores, after = xp.full(shape, np.nan, np.float32), xp.full(shape, -7, np.int64)
        self.next_words(len(states), xp.array(states), scores, after, **options)
        return on_cpu(scores), on_cpu(after)

    def ends(self, states: list[int], **options: Any) -> Any:
        """The scores of the end of a sentence."""
        ends = self.xp.full(len(states), np.nan, np.float32)
        self.next_words.end(len(states), self.xp.array(states), ends, **options)
        return on_cpu(ends)


@pytest.mark.parametrize("kind", KINDS)
def test_next_words_are_the_distribution_and_states_go_on(card: Any, kind: str) -> None:
    model = trained(toy_text(60, seed=5), order=ORDERS.get(kind, 3), **KINDS[kind])
    asked = Asked(card, model, n_unknown=2)
    contexts = asked.contexts()
    states = [asked.packed(labels) for labels in contexts]
    (scores, after), ends = asked.next(states), asked.ends(states)
    for i, labels in enumerate(contexts):
        expected, end = asked.expected(labels[-(model.order - 1) :])
        np.testing.assert_allclose(scores[i], np.log(expected), rtol=0, atol=2e-6)
        assert ends[i] == pytest.approx(np.log(end), abs=2e-6)
        assert after[i].tolist() == [asked.packed([*labels, v]) for v in range(len(asked.words))]
    np.testing.assert_allclose(np.exp(scores.astype(float)).sum(axis=1) + np.exp(ends), 1.0, atol=1e-5)


def test_a_label_that_ends_sentences_has_the_score_of_the_end_and_keeps_the_state(card: Any) -> None:
    asked = Asked(card, trained(toy_text(60, seed=5), order=3, classes=4))
    states = [asked.packed(labels) for labels in asked.contexts()]
    plain, after = asked.next(states)
    scores, ended = asked.next(states, eos=7)
    np.testing.assert_array_equal(scores[:, 7], asked.ends(states))
    np.testing.assert_array_equal(ended[:, 7], states)
    others = np.arange(len(asked.words)) != 7
    np.testing.assert_array_equal(scores[:, others], plain[:, others])
    np.testing.assert_array_equal(ended[:, others], after[:, others])


def test_large_vocabularies_and_counts_that_do_not_fit_into_a_gram(card: Any) -> None:
    model = trained([" ".join(f"w{i}" for i in range(1 << 16)), *["w1 w2"] * (1 << 15)], order=2, model="mkn")
    asked = Asked(card, model)
    assert asked.model.counts.tables.large_at.size > 0
    assert asked.next_words.is_spread
    for labels in ([], [1], [5]):
        scores, _ = asked.next([asked.packed(labels)])
        np.testing.assert_allclose(scores[0], np.log(asked.expected(labels)[0]), atol=2e-6)


@pytest.mark.parametrize("kind", ["mkn", "classes", "clusterings"])
def test_rows_and_more_bits_and_other_bases(card: Any, kind: str) -> None:
    model = trained(toy_text(60, seed=5), order=3, **KINDS[kind])
    words = np.where(np.arange(len(model.vocabulary)) == 1, -1, np.arange(len(model.vocabulary)))
    next_words = NextWords(HeldArrays(card, model.with_layout("fast")._arrays), words, None, np.float64)
    rows = card.array(np.array([[1, 1, -1], [2, 5, 7], [0, -1, -1], [2, 9, 1 << 30]], np.int32))
    scores = card.full((4, words.size), np.nan, np.float64)
    next_words(4, 0, scores, 0, rows=rows, unit=1.0 / np.log(2.0))
    unk = model.vocabulary[0]
    contexts = [["<s>"], [model.vocabulary[7], model.vocabulary[5]], [], [unk, model.vocabulary[9]]]
    np.testing.assert_allclose(2.0 ** on_cpu(scores), [model.distribution(each) for each in contexts], rtol=1e-9)
    assert np.isneginf(on_cpu(scores)[:, 1]).all()


@pytest.mark.parametrize("kind", ["mkn", "classes"])
def test_what_streams_have_read_is_mixed_in_as_by_the_cpu(card: Any, kind: str) -> None:
    asked = Asked(card, trained(toy_text(60, seed=5), order=4, **KINDS[kind]), n_unknown=2)
    sessions = StreamSessions(asked.model, 3)
    for seed in range(9):
        for line in toy_text(4, seed=20 + seed):
            sessions.learn(seed % 2, asked.model.vocabulary.ids(line.split()))
        if seed == 4:
            sessions.forget(1, 0.5)
    contexts = asked.contexts()[:9]
    lists = SessionsOnCard(card, sessions)
    addresses = card.array(np.array(lists.of_streams))
    states = [asked.packed(labels) for labels in contexts] * 3
    scores, after = asked.next(states, sessions=addresses, states_a_stream=len(contexts))
    ends = asked.ends(states, sessions=addresses, states_a_stream=len(contexts))
    share = np.where(asked.words == 0, 2, 1)
    for i, labels in enumerate(contexts * 3):
        ids = np.array([1 if v == len(asked.words) else asked.words[v] for v in labels[-3:]], np.int32)
        given = asked.model.distribution([asked.model.vocabulary[int(v)] for v in ids])
        mixed = sessions.mixed(i // len(contexts), ids, given)
        assert mixed.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(scores[i], np.log(mixed[asked.words] / share), rtol=0, atol=4e-6)
        assert ends[i] == pytest.approx(np.log(mixed[2]), abs=4e-6)
    np.testing.assert_array_equal(scores[-9:], asked.next(states[-9:])[0])  # nothing was read
    np.testing.assert_array_equal(after[:9], asked.next(states[:9])[1])
    assert np.abs(scores[0] - scores[-9]).max() > 0.1


def test_numbers_that_are_no_states_read_nothing_outside_the_model(card: Any) -> None:
    asked = Asked(card, trained(toy_text(60, seed=5), order=3, model="mkn"))
    scores, _ = asked.next([(1 << 63) - 1, -1, 12345678901])
    assert np.isfinite(scores).all()


def test_models_of_several_sizes_share_a_kernel(card: Any) -> None:
    large = Asked(card, trained(toy_text(60, seed=5), order=4, classes=4))
    before = large.next([0])[0]
    small = Asked(card, trained(toy_text(9, seed=5), order=2, model="mkn"))
    assert np.isfinite(small.next([0])[0]).all()
    np.testing.assert_array_equal(large.next([0])[0], before)
