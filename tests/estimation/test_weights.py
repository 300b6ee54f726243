"""Weights: the gradient, the laws with learned weights, and that what is left out is really out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.counts import ReferenceCounts
from reference.left_out import LeftOutCounts
from tests.support.corpora import toy_text
from tests.support.gradients import assert_is_the_slope

import gapgram
from gapgram import Corpus, Counts, Model
from gapgram.counting.in_memory import count
from gapgram.errors import DiscountWarning, UsageError
from gapgram.estimation.discounts import estimate_discounts
from gapgram.estimation.weights.estimators import ESTIMATORS, GLM_WEIGHTS
from gapgram.estimation.weights.fallback_graph import NAMES
from gapgram.estimation.weights.learned import Problem
from gapgram.estimation.weights.pattern_gain import _best_weights
from gapgram.estimation.weights.sample import FittingSample, held_out, left_out
from gapgram.kernels.fitting import sample as fitting
from gapgram.kernels.fitting.descent import Adam, pieces_of_half
from gapgram.kernels.tables.model_arrays import BUCKET
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.text.corpus import blocks_of_sentences, read_corpus

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

TEXT = toy_text(400, seed=3)
CONTEXTS = [line.split() for line in ("", "<s>", "<s> w1", "w1 w2 w3 w4", "never w1", "w2 never w1 w1 w3")]


def counted(sentences: list[str], lattice: Lattice) -> tuple[Corpus, Counts]:
    corpus = read_corpus(blocks_of_sentences(sentences))
    return corpus, count(corpus, lattice)


@pytest.fixture(scope="module")
def small() -> tuple[Counts, FittingSample]:
    corpus, made = counted(TEXT, Lattice.full(3))
    return made, left_out(made, corpus.ids, seed=1)


def test_gradient_equals_finite_differences(small: tuple[Counts, FittingSample]) -> None:
    counts, sample = small
    problem = Problem(counts, estimate_discounts(counts), sample)
    values = problem.zeros()
    random = np.random.default_rng(0)
    values.flat[:] = random.normal(0, 0.3, values.flat.size)
    gradients = problem.zeros()
    n = 300
    problem.add_gradient(values, gradients, 0, n)
    touched = np.flatnonzero(gradients.flat)
    assert touched.size > 100
    worth_checking = [*random.choice(touched, 40, replace=False), *range(values.flat.size - 12, values.flat.size)]
    assert_is_the_slope(problem, values, gradients, n, worth_checking)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [1, 63, 64, 131])
def test_a_first_step_goes_down_the_gradient(small: tuple[Counts, FittingSample], n: int, threads: int) -> None:
    """In batches of a single position, of whole pieces, and of some that are not: Adam's first step is the rate times
    the gradient by its size, and 1e-8 beside that."""
    counts, sample = small
    problem, rate = Problem(counts, estimate_discounts(counts), sample), 0.01
    values, start, gradients = problem.start(), problem.start(), problem.zeros()
    problem.add_gradient(start, gradients, 0, n)
    mean, zeros = gradients.flat / n, problem.zeros().flat
    adam = Adam(start.flat, problem.hold_to_start, zeros, zeros.copy())
    room = problem.room(n, 2 * pieces_of_half(n), threads)
    problem.take_steps(values, adam, [(0, n)], np.array([rate]), 1, room, threads)
    np.testing.assert_allclose(values.flat, start.flat - rate * mean / (np.abs(mean) + 1e-8), rtol=0, atol=1e-9)
    assert np.count_nonzero(values.shift != start.shift) and np.count_nonzero(values.odds != start.odds)


def test_a_fit_does_not_depend_on_threads(small: tuple[Counts, FittingSample]) -> None:
    counts, sample = small
    problem = Problem(counts, estimate_discounts(counts), sample)
    one = problem.fit(threads=1).flat
    for threads in (2, 3, 8):
        assert np.array_equal(one, problem.fit(threads=threads).flat)


@pytest.mark.parametrize("weights", ["uniform", "counts", "learned"])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_every_distribution_sums_to_one(weights: str, order: int) -> None:
    model = gapgram.train(sentences=TEXT, order=order, weights=weights)
    for context in CONTEXTS:
        distribution = model.distribution(context)
        assert distribution.sum() == pytest.approx(1, abs=1e-9)
        assert (distribution >= 0).all()


@pytest.mark.parametrize("weights", ["counts", "learned"])
def test_scores_agree_with_distributions(weights: str) -> None:
    model = gapgram.train(sentences=TEXT, order=4, weights=weights)
    for context in CONTEXTS:
        distribution = model.distribution(context)
        for word in ["w1", "w7", "</s>", "<unk>"]:
            expected = np.log10(distribution[model.vocabulary.id(word)])
            assert model.log10_prob(word, context) == pytest.approx(expected, abs=1e-12)


def test_leaving_a_position_out_equals_counting_without_it() -> None:
    """Take one occurrence away by hand: replace the text after it by a break, and count again."""
    sentences = ["a b c a b", "a b c", "c a b c", "b b a"]
    corpus, made = counted(sentences, Lattice.full(3))
    counts = made
    begins = np.append(np.flatnonzero(corpus.ids == 1), corpus.ids.size)
    sample = left_out(counts, corpus.ids, seed=1)
    order = np.argsort(fitting.sentence_hashes(corpus.ids, begins, 1), kind="stable")
    row = 0
    for s in order:
        words = sentences[s].split()
        for i in range(len(words) + 1):
            before, word = ["<s>", *words][: i + 1], [*words, "</s>"][i]
            if sum(line.split().count(word) for line in sentences) == 1:
                continue
            expected = statistics_without(sentences, s, i, counts.lattice, before[-2:], word)
            for p, pattern in enumerate(counts.lattice.stored):
                if pattern.reach <= len(before[-2:]):
                    assert sample.statistics[:][row, p].tolist() == expected[pattern], (s, i, str(pattern))
            row += 1
    assert row == len(sample)


def statistics_without(
    sentences: list[str], s: int, i: int, lattice: Lattice, before: list[str], word: str
) -> dict[Pattern, list[int]]:
    """Count, total, N1, N2, N3+ of a gram when the prediction at word i of sentence s did not happen."""
    whole = ReferenceCounts([line.split() for line in sentences], lattice)
    counts = LeftOutCounts(whole, [p for p in whole.predictions() if p.sentence == s][i])
    out = {}
    for pattern in lattice.patterns:
        if pattern.reach <= len(before):
            context = counts.context(pattern, before)
            known = counts.count(pattern, context, word), counts.total(pattern, context)
            out[pattern] = [*known, *counts.types(pattern, context)]
    return out


def test_a_text_of_which_nothing_is_left_to_fit_on_keeps_the_start() -> None:
    """Every word is unknown, and the end of the one sentence would be if it were left out."""
    model = gapgram.train(sentences=["a b"], order=2, rules=gapgram.TextRules(min_count=2))
    assert model.parts.weights.report["positions"] == 0
    assert not model.parts.weights.gate_table.any()
    assert model.distribution(["<s>"]).sum() == pytest.approx(1, abs=1e-9)


def test_learning_is_deterministic_and_ignores_the_order_of_lines(tmp_path: Path) -> None:
    one, two, shuffled = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    gapgram.train(sentences=TEXT, order=3, output=one, threads=1)
    gapgram.train(sentences=TEXT, order=3, output=two, threads=2)
    gapgram.train(sentences=TEXT[::-1], order=3, output=shuffled)
    assert one.read_bytes() == two.read_bytes() == shuffled.read_bytes()


def test_another_seed_takes_another_sample() -> None:
    corpus, made = counted(TEXT, Lattice.full(3))
    samples = [left_out(made, corpus.ids, seed=s, limit=500) for s in (1, 1, 2)]
    assert np.array_equal(samples[0].statistics[:], samples[1].statistics[:])
    assert not np.array_equal(samples[0].statistics[:400], samples[2].statistics[:400])


def test_a_learned_model_survives_its_file(tmp_path: Path) -> None:
    built = gapgram.train(sentences=TEXT, order=4, output=tmp_path / "model")
    opened = Model.load(tmp_path / "model")
    assert opened.parts.weights.name == "learned"
    assert opened.parts.weights.report == built.parts.weights.report
    assert np.array_equal(opened.score_many(TEXT), built.score_many(TEXT))
    assert opened.parts.arrays.row_values[:, BUCKET].max() > 1


def test_held_out_text_is_used(tmp_path: Path) -> None:
    path = tmp_path / "held_out.txt"
    path.write_text("\n".join(toy_text(200, seed=9)) + "\n")
    model = gapgram.train(sentences=TEXT, order=3, held_out_texts=path)
    assert model.parts.weights.report["source"] == "held-out text"
    assert model.parts.weights.report["perplexity_after"] < model.parts.weights.report["perplexity_before"]
    corpus, made = counted(TEXT, Lattice.full(3))
    sample = held_out(made, corpus.ids)
    assert (sample.statistics[:][:, 0, fitting.COUNT] > 0).all(), "nothing is left out of held-out text"


def test_learned_weights_beat_mkn_where_skips_matter() -> None:
    """Every second word is noise: only patterns that skip it see the pattern a b c d a b …"""
    random = np.random.default_rng(5)
    lines = []
    for _ in range(600):
        start = random.integers(8)
        words = [w for i in range(8) for w in (f"k{(start + i) % 8}", f"n{random.integers(40)}")]
        lines.append(" ".join(words))
    train_text, test_text = lines[:500], lines[500:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)
        mkn = gapgram.train(sentences=train_text, model="mkn").perplexity(sentences=test_text)
        glm = gapgram.train(sentences=train_text, model="glm").perplexity(sentences=test_text)
    assert glm.perplexity < 0.9 * mkn.perplexity


def test_tiny_texts_do_not_lose_to_mkn() -> None:
    lines = toy_text(1100, seed=11)
    for begin in (0, 100, 200):
        training, test = lines[begin : begin + 100], lines[500:]
        mkn = gapgram.train(sentences=training, model="mkn").perplexity(sentences=test)
        glm = gapgram.train(sentences=training, model="glm").perplexity(sentences=test)
        assert glm.perplexity_known < 1.01 * mkn.perplexity_known


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "mkn", "weights": "learned"}, "modified Kneser-Ney has none to choose"),
        ({"weights": "best"}, f"weights 'best': expected {', '.join(GLM_WEIGHTS)}"),
        ({"model": "srilm"}, "model 'srilm': expected mkn or glm"),
        ({"weights": "counts", "held_out_texts": "x"}, "held-out text is for learned weights"),
    ],
)
def test_choices_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        gapgram.train(sentences=TEXT, **options)


def test_discounts_are_fitted_within_their_limits() -> None:
    model = gapgram.train(sentences=TEXT, order=4)
    assert str(model.parts.discounts) == "fitted"
    values = model.parts.discounts.values
    assert ((values > 0) & (values < [1, 2, 3])).all()
    assert not np.allclose(values, estimate_discounts(model.counts).values, atol=1e-3)


def test_every_estimator_is_named_for_those_who_read_models() -> None:
    assert tuple(ESTIMATORS) == NAMES


def test_a_pattern_is_mixed_in_with_the_best_weights() -> None:
    """They are where the sum of ln(1 + weight × gain), less half of its square, is largest, in each cell."""
    rng = np.random.default_rng(3)
    gain, cells = rng.normal(0.2, 0.5, 60).clip(-0.9), np.repeat([0, 5, 10], 20)
    gain[cells == 10] -= 0.6  # of no use
    weights = _best_weights(gain, cells)

    def worth(cell: int, weight: float) -> float:
        return float(np.log1p(weight * gain[cells == cell]).sum() - weight * weight / 2)

    assert weights[10] == 0.0
    for cell in (0, 5):
        assert 0.1 < weights[cell] < 0.95
        assert worth(cell, weights[cell]) > max(worth(cell, weights[cell] + step) for step in (-1e-3, 1e-3))
