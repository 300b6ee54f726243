"""What is written for a card in C++, finding classes and fitting, run by the CPU (`tests.support.card_in_cpp`)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.support.card_in_cpp import COMPILER, PlayedCard
from tests.support.corpora import toy_text

from gapgram.arrays import Ids
from gapgram.classes.exchange import Exchange, count_pairs, find_classes
from gapgram.counting.in_memory import count
from gapgram.cuda import fitting
from gapgram.cuda.classes import CardClasses, CardExchange
from gapgram.estimation.discounts import estimate_discounts
from gapgram.estimation.weights.learned import Problem
from gapgram.estimation.weights.sample import left_out
from gapgram.lattice import Lattice
from gapgram.text.corpus import Corpus, blocks_of_sentences, read_corpus

pytestmark = [
    pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning"),
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: a card cannot be played"),
]


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What stands for CuPy."""
    return PlayedCard(tmp_path_factory.mktemp("card"))


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """A text of two hidden kinds of words, which take turns, and words of their own."""
    draw = random.Random(1)
    lines = [" ".join(f"{'ab'[i % 2]}{int(9 ** draw.random())}" for i in range(6)) for _ in range(150)]
    return read_corpus(blocks_of_sentences([*lines, "a1 a1 a1", "b2 b2 c"]))


def swept(card: Any, corpus: Corpus, k: int, sweeps: int) -> tuple[CardExchange, Ids, Exchange]:
    """Classes after some sweeps, and what the CPU counts with the same classes."""
    n = corpus.word_counts.size
    class_of = np.minimum(np.arange(n), k + 2).astype(np.int32)
    engine = CardClasses(card)
    exchange = engine.exchange(engine.count([corpus.ids], n)[0], class_of, k)
    assert isinstance(exchange, CardExchange)
    for _ in range(sweeps):
        exchange.sweep(np.arange(3, n, dtype=np.int32))
    return exchange, class_of, Exchange(count_pairs([corpus.ids], n)[0], class_of.copy(), k)


def test_words_that_move_leave_the_counts_as_counting_gives_them(card: Any, corpus: Corpus) -> None:
    exchange, class_of, counted = swept(card, corpus, 4, 2)
    width = 4 + 3
    assert len(set(class_of.tolist())) > 3
    for side in range(4):
        counts = counted.counts.rows[side * width : (side + 1) * width, :width]  # all classes are of one block
        assert np.array_equal(exchange.rows[side][:, :width], counts)
    assert np.array_equal(exchange.sums[:, :width], counted.counts.sums)


def test_words_that_move_one_at_a_time_raise_the_objective(card: Any, corpus: Corpus) -> None:
    before = swept(card, corpus, 4, 0)[2].objective
    exchange, class_of, _ = swept(card, corpus, 4, 0)
    pairs = count_pairs([corpus.ids], class_of.size)[0]
    rises = 0
    for word in range(3, class_of.size):
        exchange.sweep(np.array([word], np.int32))
        after = Exchange(pairs, class_of.copy(), 4).objective
        assert after >= before
        rises += after > before
        before = after
    assert rises > 3


def test_classes_of_a_card_are_as_good_as_those_of_the_cpu(card: Any, corpus: Corpus) -> None:
    n = corpus.word_counts.size
    pairs = count_pairs([corpus.ids], n)[0]
    ours, again, theirs = (
        find_classes(corpus.ids, n, 2, engine=engine) for engine in (CardClasses(card), CardClasses(card), None)
    )
    objectives = [Exchange(pairs, found.of_word.copy(), 2).objective for found in (ours, theirs)]
    assert objectives[0] >= objectives[1] + 0.001 * objectives[1]
    assert np.array_equal(ours.of_word, again.of_word)
    vocabulary = corpus.vocabulary
    assert ours.of_word[vocabulary.id("a1")] == ours.of_word[vocabulary.id("a2")] != ours.of_word[vocabulary.id("b1")]


def test_words_of_later_text_alone_are_put_where_they_fit(card: Any, corpus: Corpus) -> None:
    later = read_corpus(blocks_of_sentences(["a1 b1"] * 9)).ids  # any ids: </s> follows the fourth word
    more = np.where(later >= 3, later + corpus.word_counts.size - 3, later).astype(np.int32)
    found = find_classes(corpus.ids, corpus.word_counts.size + 2, 2, later=more, engine=CardClasses(card))
    assert found.of_word.size == corpus.word_counts.size + 2
    assert found.k == 2


def test_more_classes_than_a_card_has_room_for_are_found_by_the_cores(card: Any) -> None:
    engine, ids, class_of = CardClasses(card, 2, most_bytes=9_000), np.array([1, 3, 4, 2], np.int32), np.arange(5)
    pairs = engine.count([ids], 5)[0]
    few, many = (engine.exchange(pairs, class_of.astype(np.int32), k) for k in (2, 40))
    assert isinstance(few, CardExchange)
    assert isinstance(many, Exchange)


@pytest.fixture(params=["chain", "full+chain"])
def problem(request: pytest.FixtureRequest) -> Iterator[Problem]:
    """A small problem of fitting, without classes and with them; few words, so that every context is known.

    Where none is, the slopes are what rounding leaves of 0, and Adam takes a step of any size by them.
    """
    corpus = read_corpus(blocks_of_sentences(toy_text(60, vocabulary=8)))
    lattice = Lattice.parse(request.param, 3)
    classes = [find_classes(corpus.ids, corpus.word_counts.size, 4)] if "+" in request.param else []
    counts = count(corpus, lattice, classes, threads=1)
    sample = left_out(counts, corpus.ids, seed=1, limit=200, threads=1, word_counts=corpus.word_counts)
    yield Problem(counts, estimate_discounts(counts), sample)


def test_weights_fitted_on_a_card_are_those_of_the_cpu(
    card: Any, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "find_sorter", lambda: (card, 1 << 30))
    ours, theirs = fitting.fit(problem), problem.fit()
    start = problem.start()
    assert np.abs(theirs.flat - start.flat).max() > 0.01
    np.testing.assert_allclose(ours.flat, theirs.flat, rtol=1e-10, atol=1e-12)
