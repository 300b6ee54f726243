"""The laws: every distribution sums to one, the chain is MKN, the program equals the reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.model import ReferenceModel
from tests.support.corpora import WORDS, lattices, longest, sentences, texts_and_lattices, toy_text
from tests.support.made_models import ESTIMATORS, KINDS
from tests.support.references import as_known, reference_of, shaken

import gapgram
from gapgram import Lattice, Model, TextRules
from gapgram.kernels.probability import gate as kernels
from reference import gate as reference

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

Text = list[list[str]]
words = st.sampled_from((*WORDS, "never-seen", "<unk>"))
contexts = st.tuples(st.sampled_from([[], ["<s>"]]), st.lists(words, max_size=9)).map(lambda parts: parts[0] + parts[1])
LATTICES: dict[str, dict[str, Any]] = {
    "custom": KINDS["custom"],
    "custom without the word before": {"model": "glm", "weights": "uniform", "lattice": "1001,101"},
}
ALL = KINDS | LATTICES


def train(text: Text, lattice: Lattice, **options: Any) -> Model:
    return gapgram.train(
        sentences=text, order=lattice.order, model="glm", lattice=lattice, weights="uniform", threads=1, **options
    )


def assert_sums_to_one(model: Model, context: list[str]) -> None:
    distribution = model.distribution(context)
    assert abs(distribution.sum() - 1) < 1e-9
    assert distribution[1] == 0  # <s> is never predicted
    assert np.delete(distribution, 1).min() > 0
    assert len(distribution) == len(model.vocabulary)


@pytest.mark.parametrize("name", ALL)
@given(sentences(), st.integers(1, 6), st.integers(1, 3), st.lists(contexts, min_size=1, max_size=6))
def test_every_distribution_sums_to_one(
    name: str, text: Text, order: int, least: int, some_contexts: list[list[str]]
) -> None:
    needed = 4 if name in LATTICES else 1
    order = max(needed, min(order, longest(text)))
    if order > longest(text):
        text = [*text, ["a", "b"]]
    model = gapgram.train(sentences=text, order=order, rules=TextRules(min_count=least), threads=1, **ALL[name])
    for context in [[], ["<s>"], text[0], ["<s>", *text[0]], *some_contexts]:
        assert_sums_to_one(model, context)


@pytest.mark.parametrize("name", ["mkn", "glm", "custom"])
def test_distributions_of_a_text_with_estimated_discounts_sum_to_one(models: dict[str, Model], name: str) -> None:
    model = models[name]
    frequent = list(model.vocabulary)[3:13]
    for context in [[a, b, c] for a in frequent[:4] for b in frequent for c in ("w1", "w2", "zzz")]:
        assert_sums_to_one(model, context)
        assert_sums_to_one(model, ["<s>", *context[1:]])


# The reference

prunings = st.one_of(st.just(()), st.lists(st.integers(0, 3), max_size=3).map(lambda more: (0, *more)))


def assert_equals_reference(model: Model, twin: ReferenceModel, some_contexts: list[list[str]]) -> None:
    """Every word of the vocabulary has the same probability after every context."""
    for context in some_contexts:
        seen = as_known(model, context)
        for word in twin.counts.vocabulary:
            expected = twin.probability(word, seen)
            assert 10 ** model.log10_prob(word, context) == pytest.approx(expected, rel=1e-11), (word, context)


@st.composite
def lattices_for(draw: st.DrawFn, name: str, order: int) -> Lattice | None:
    """A lattice that an estimator can have; modified Kneser-Ney has its own."""
    if name == "mkn":
        return None
    lattice = draw(lattices(order))
    n_clusterings = {"classes": 1, "clusterings": 2}.get(name, 0)
    families = [draw(st.sampled_from(["chain", "full"])) for _ in range(n_clusterings)]
    return lattice.with_classes(*families) if families else lattice


@pytest.mark.parametrize("name", ESTIMATORS)
@given(st.data(), sentences(), st.integers(1, 4), st.integers(1, 2), prunings, st.lists(contexts, max_size=3))
def test_every_estimator_equals_the_reference(
    name: str, data: st.DataObject, text: Text, order: int, least: int, prune: tuple[int, ...], more: list[list[str]]
) -> None:
    """Whatever the lattice, with unknown words, pruned or whole, and with any learned parameters."""
    order = min(order, longest(text))
    lattice, prune = data.draw(lattices_for(name, order)), prune[:order]
    model = gapgram.train(
        sentences=text, order=order, lattice=lattice, rules=TextRules(min_count=least), threads=1, **ESTIMATORS[name]
    )
    if name in ("learned", "classes", "clusterings"):
        model = shaken(model, seed=data.draw(st.integers(0, 9)))
    if prune:
        model = model.pruned(counts=",".join(map(str, prune)))
    some = [[], ["<s>"], ["<s>", *text[-1]], ["zzz", text[0][0]], [text[0][0], "zzz"], *more]
    assert_equals_reference(model, reference_of(model, text, prune), some)


@pytest.mark.parametrize("prune", [(), (0, 1, 2)], ids=["whole", "pruned"])
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "clusterings"])  # whose reference is slow
def test_every_estimator_of_a_larger_text_equals_the_reference(name: str, prune: tuple[int, ...]) -> None:
    """With discounts from counts of counts, parameters as they are fitted, and words beyond the most frequent."""
    text = [line.split() for line in toy_text(250, seed=3, vocabulary=400)]
    model = gapgram.train(sentences=text, order=3, threads=1, **ESTIMATORS[name])
    assert not model.parts.discounts.usual.fallbacks
    assert len(model.vocabulary) > 300
    if prune:
        model = model.pruned(counts=",".join(map(str, prune)))
    rare = list(model.vocabulary)[-1]
    assert_equals_reference(
        model, reference_of(model, text, prune), [[], ["<s>"], ["<s>", "w1"], ["w2", "w1"], [rare, "w3"], ["zzz", rare]]
    )


def test_buckets_of_contexts_and_words_are_those_of_the_reference() -> None:
    """Also of texts that are larger than those of the tests."""
    for total in [*range(1, 12_000), 1 << 20, 1 << 40]:
        for types in ((1, 0, 0), (0, total // 3, 0), (0, 0, total // 2), (total, 0, 0)):
            assert kernels.context_bucket(total, *types) == reference.context_bucket(total, types)
    assert kernels.context_bucket(0, 0, 0, 0) == reference.context_bucket(0, (0, 0, 0))
    for rank in [*range(5000), (1 << 31) - 1]:
        assert kernels.word_bucket(rank) == reference.word_bucket(rank)


@given(sentences(), st.integers(1, 6), st.lists(contexts, min_size=1, max_size=4))
def test_the_chain_is_modified_kneser_ney_bit_for_bit(text: Text, order: int, some_contexts: list[list[str]]) -> None:
    order = min(order, longest(text))
    mkn = gapgram.train(sentences=text, order=order, model="mkn")
    chain = train(text, Lattice.chain(order))
    for context in some_contexts:
        assert np.array_equal(mkn.distribution(context), chain.distribution(context))


@given(texts_and_lattices(), contexts)
def test_the_probability_of_a_word_is_that_of_the_distribution(case: tuple[Text, Lattice], context: list[str]) -> None:
    model = train(*case)
    distribution = model.distribution(context)
    for word_id, word in enumerate(model.vocabulary):
        if word != "<s>":
            assert 10 ** model.log10_prob(word, context) == pytest.approx(distribution[word_id], rel=1e-12)
    assert model.log10_prob("never-seen", context) == model.log10_prob("<unk>", context)


@given(texts_and_lattices(), contexts)
def test_words_beyond_the_order_do_not_matter(case: tuple[Text, Lattice], context: list[str]) -> None:
    model = train(*case)
    seen = context[max(0, len(context) - model.order + 1) :]
    assert np.array_equal(model.distribution(context), model.distribution(seen))


@given(texts_and_lattices(), st.lists(words, max_size=8))
def test_a_score_is_the_sum_of_its_words(case: tuple[Text, Lattice], sentence: list[str]) -> None:
    model = train(*case)
    for bos in (True, False):
        before = ["<s>"] if bos else []
        for eos in (True, False):
            predicted = [*sentence, "</s>"] if eos else sentence
            expected = [
                model.log10_prob(word, [*before, *predicted[:i]]) for i, word in enumerate(predicted)
            ]
            assert model.scores(sentence, bos, eos).tolist() == expected
            assert math.isclose(model.score(sentence, bos, eos), math.fsum(expected), rel_tol=1e-12, abs_tol=1e-12)


@given(texts_and_lattices(), contexts, words)
def test_an_explanation_adds_up_to_the_probability(
    case: tuple[Text, Lattice], context: list[str], word: str
) -> None:
    model = train(*case)
    explanation = model.explain(word, context)
    parts = [p.contribution for p in explanation.patterns]
    assert math.fsum([*parts, explanation.uniform_contribution]) == pytest.approx(explanation.probability, rel=1e-12)
    assert math.log10(explanation.probability) == pytest.approx(model.log10_prob(word, context), abs=1e-12)
    inside = {str(p) for p in model.counts.lattice.patterns}
    assert all(p.share == 0 for p in explanation.patterns if p.pattern not in inside)


def test_a_discount_may_take_all_of_a_count() -> None:
    # <s> a 3, a </s> 2, a a 5, a b 1, b </s> 1: n = 2, 1, 1, 0, Y = 2/(2+2·1) = 1/2, D3+ = 3 - 4·Y·0/1 = 3.
    # So <s>, which only a follows, 3 times, keeps nothing for itself: (3 - 3)/3 + 3/3 · P(w).
    model = gapgram.train(sentences=["a", "a", "a a a a a a b"], order=2, model="mkn")
    assert model.parts.discounts.values[1].tolist() == [0.5, 0.5, 3.0]
    assert np.array_equal(model.distribution(["<s>"]), model.distribution([]))
    assert_sums_to_one(model, ["<s>"])
