"""What fitting minimises: the loss that the gradient's kernel reports is the reference's, position by position."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reference.gate import Fitted
from reference.learned import LearnedModel
from reference.left_out import held_out_losses, left_out_losses
from tests.support.corpora import corpus_of
from tests.support.references import as_known, named, reference_counts, reference_of, shaken

import gapgram
from gapgram import Lattice
from gapgram.arrays import Ids
from gapgram.estimation.weights.learned import Problem
from gapgram.estimation.weights.sample import FittingSample, held_out, left_out
from gapgram.kernels.fitting import sample as fitting
from gapgram.kernels.text.special_words import START_ID

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

TEXT = ["a b c a b", "q a b c", "x c a q c", "b b a", "a b c d", "y a d b a", "z b c", "d a b u"]
APART = 3  # sentences that classes are found without, in one of the tests
SEED = 1


@pytest.fixture(scope="module")
def of_words() -> gapgram.Model:
    """A model of the toy text; its own parameters do not matter."""
    return gapgram.train(sentences=TEXT, order=3, classes="none")


@pytest.fixture(scope="module")
def of_classes(tmp_path_factory: pytest.TempPathFactory) -> gapgram.Model:
    """One with patterns of the classes of two clusterings, too."""
    one, other = (tmp_path_factory.mktemp("classes") / name for name in ("one", "other"))
    one.write_text("".join(f"{word}\t{'early' if word < 'c' else 'late'}\n" for word in "abcdqxyzu"))
    other.write_text("".join(f"{word}\t{'left' if word in 'adxu' else 'right'}\n" for word in "abcdqxyzu"))
    lattice = Lattice.full(3).with_classes("full", "chain")
    return gapgram.train(sentences=TEXT, order=3, lattice=lattice, classes=[one, other])


@pytest.fixture(params=["of_words", "of_classes"])
def model(request: pytest.FixtureRequest) -> gapgram.Model:
    """Either."""
    made: gapgram.Model = request.getfixturevalue(request.param)
    return made


def losses(model: gapgram.Model, sample: FittingSample) -> tuple[list[float], Fitted]:
    """What the kernel says of each position of a sample, with parameters at random, and these."""
    problem = Problem(model.counts, model.parts.discounts.usual, sample)
    values = problem.zeros()
    values.flat[:] = np.random.default_rng(0).normal(0, 0.7, values.flat.size)
    found = [problem.add_gradient(values, problem.zeros(), i, i + 1) for i in range(len(sample))]
    return found, named(model.counts.lattice.stored, values.table, values.shift, values.discounts)


def sampled(ids: Ids) -> list[int]:
    """The numbers of the sentences of a text in the order of a sample."""
    begins = np.append(np.flatnonzero(ids == START_ID), ids.size)
    return [int(s) for s in np.argsort(fitting.sentence_hashes(ids, begins, SEED), kind="stable")]


def test_left_out(model: gapgram.Model) -> None:
    """Of u, x, y and z, which occur once, every third is predicted, as an unknown word."""
    ids = corpus_of(TEXT).ids
    found, fitted = losses(model, left_out(model.counts, ids, seed=SEED))
    whole = reference_counts(model, [line.split() for line in TEXT])
    expected = list(left_out_losses(whole, fitted, sampled(ids)))
    assert len(expected) == sum(whole.occurrences.values()) - 3
    assert found == pytest.approx(expected, rel=1e-11)


def test_left_out_of_a_part_that_classes_were_found_without(of_classes: gapgram.Model) -> None:
    """q and x occur nowhere else: they count as unknown, and contexts that hold their classes were never seen."""
    ids = corpus_of(TEXT).ids
    part = ids[: np.flatnonzero(ids == START_ID)[APART]]
    found, fitted = losses(of_classes, left_out(of_classes.counts, part, seed=SEED, held_apart=True))
    whole = reference_counts(of_classes, [line.split() for line in TEXT])
    assert found == pytest.approx(list(left_out_losses(whole, fitted, sampled(part), frozenset("qx"))), rel=1e-11)


def test_held_out(model: gapgram.Model) -> None:
    """Unknown words are not predicted, but stand before others."""
    text = ["a b zzz c", "c b a"]
    ids = np.concatenate([[START_ID, *model.vocabulary.ids(line.split()), 2] for line in text]).astype(np.int32)
    found, fitted = losses(model, held_out(model.counts, ids))
    twin = LearnedModel(reference_counts(model, [line.split() for line in TEXT]), fitted)
    expected = list(held_out_losses(twin, [as_known(model, line.split()) for line in text]))
    assert len(expected) == 8
    assert found == pytest.approx(expected, rel=1e-11)


def test_what_is_fitted_is_what_is_asked(model: gapgram.Model) -> None:
    """The probability that fitting minimises is the model's: fitted with held-out text, asked for the same."""
    other = shaken(model, seed=4)
    twin = reference_of(other, [line.split() for line in TEXT])
    assert isinstance(twin, LearnedModel)
    sentence = ["a", "b", "c", "d"]
    total = -sum(held_out_losses(twin, [sentence])) / math.log(10)
    assert other.score(sentence) == pytest.approx(total, rel=1e-11)
