"""Pruned models: the laws hold for them as for whole ones, and they are as small as was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.counts import ReferenceCounts
from reference.pruned import frequencies
from tests.support.corpora import corpus_of, golden_text, sentences, texts_and_lattices, toy_text
from tests.support.made_models import KINDS, trained

import gapgram
from gapgram import Lattice, Model, Pattern
from gapgram.arrays import Mask
from gapgram.compression.pruning.by_loss import Again, losses_of
from gapgram.compression.pruning.prune import _rest
from gapgram.compression.pruning.tables import Relations, keep_needed, unpack, without
from gapgram.compression.pruning.to_size import BySize, bytes_of
from gapgram.counting.in_memory import count
from gapgram.errors import UsageError
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights.estimators import with_rows_of
from gapgram.estimation.weights.sample import left_out
from gapgram.models.arpa.approximation import approximate
from gapgram.models.arpa.writing import as_backoff
from gapgram.queries.predict import predict_by_sorting
from gapgram.system.array_store import IN_MEMORY

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

Text = list[list[str]]


@pytest.fixture(scope="module")
def whole() -> dict[str, Model]:
    """Models of all kinds of one text."""
    return {name: trained(golden_text()[:700], order=4, **kind) for name, kind in KINDS.items()}


CONTEXTS = [line.split() for line in ("", "<s>", "<s> w1", "w3 w1 w2", "w2 w9 w1", "zzz w1 w4", "w5 zzz w1")]


def assert_sums_to_one(model: Model) -> None:
    for context in CONTEXTS:
        distribution = model.distribution(context)
        assert distribution.sum() == pytest.approx(1, abs=1e-9)
        assert np.delete(distribution, 1).min() > 0


# The reference (tests/models/test_laws.py compares the probabilities)


@settings(max_examples=25)
@given(texts_and_lattices())
def test_occurrences_are_those_of_the_text(case: tuple[Text, Lattice]) -> None:
    text, lattice = case
    made = count(corpus_of(text), lattice)
    found = Relations(unpack(made)).occurrences()
    expected = frequencies(ReferenceCounts(text, lattice))
    for pattern in made.lattice.stored:
        for gram, n in enumerate(found[pattern]):
            words = [w for w in made.words_of(pattern, gram) if w is not None]
            assert n == expected[pattern][tuple(words[:-1]), words[-1]]


@settings(max_examples=25)
@given(sentences(), st.integers(0, 10**6))
def test_whatever_grams_go_distributions_sum_to_one(text: Text, seed: int) -> None:
    lattice = Lattice.full(min(4, max(map(len, text)) + 2))
    model = gapgram.train(sentences=text, order=lattice.order, model="glm", weights="counts", threads=1)
    draw, tables = np.random.default_rng(seed), unpack(model.counts)
    kept = {p: draw.random(len(t)) < draw.random() for p, t in tables.items()}
    keep_needed(tables, kept)
    parts = model.parts
    counts = replace(parts.counts, tables=without(parts.counts.tables, tables, kept), pruned="at random")
    small = Model(ModelParts.of("glm", counts, parts.discounts, with_rows_of(counts, parts.discounts, parts.weights)))
    for context in ([], ["<s>"], ["<s>", *text[0]], text[-1], text[0][:2]):
        distribution = small.distribution(context)
        assert distribution.sum() == pytest.approx(1, abs=1e-9)
        for i, word in enumerate(small.vocabulary):
            if word != "<s>":
                assert 10 ** small.log10_prob(word, context) == pytest.approx(distribution[i], rel=1e-9)


# What can be done with them


@pytest.mark.parametrize("options", [{"counts": "0,1"}, {"keep": 0.6}, {"counts": "0,0,1", "keep": 0.55}])
@pytest.mark.parametrize("name", KINDS)
def test_everything_works_on_pruned_models(
    whole: dict[str, Model], name: str, options: dict[str, Any], tmp_path: Path
) -> None:
    model = whole[name].pruned(**options)
    assert model.counts.n_grams < whole[name].counts.n_grams
    assert_sums_to_one(model)
    model.save(tmp_path / "small")
    opened = gapgram.load(tmp_path / "small")
    assert opened.signature == model.signature
    assert "|pruned:" in str(opened.signature)
    for context in CONTEXTS:
        assert np.array_equal(opened.distribution(context), model.distribution(context))
        everything = model.distribution(context)
        assert model.predict(context, 7) == predict_by_sorting(everything, model.vocabulary, 7)
        by_sorting = predict_by_sorting(everything, model.vocabulary, 3, prefix="w1")
        assert model.predict(context, 3, prefix="w1") == by_sorting
        explained = model.explain("w2", context)
        assert explained.probability == pytest.approx(10 ** model.log10_prob("w2", context), rel=1e-12)
    text = toy_text(30, seed=3, vocabulary=900)
    assert model.score_many(text, threads=2).tolist() == [model.score(line) for line in text]


@pytest.mark.parametrize("options", [{"counts": "0,0,1"}, {"keep": 0.5}])
def test_a_pruned_mkn_is_an_arpa_model_still(whole: dict[str, Model], options: dict[str, Any]) -> None:
    model = whole["mkn"].pruned(**options)
    backoff = as_backoff(model)
    for line in toy_text(40, seed=5, vocabulary=900):
        assert backoff.scores(line) == pytest.approx(model.scores(line), abs=1e-9)
    for context in CONTEXTS:
        assert backoff.distribution(context).sum() == pytest.approx(1, abs=1e-9)


def test_an_approximation_of_a_pruned_model_sums_to_one(whole: dict[str, Model]) -> None:
    model = approximate(whole["learned"].pruned(keep=0.5))
    for context in CONTEXTS:
        assert model.distribution(context).sum() == pytest.approx(1, abs=1e-9)


def test_nothing_goes_where_thresholds_are_0(whole: dict[str, Model]) -> None:
    for model in whole.values():
        same = model.pruned(counts="0")
        for context in CONTEXTS:
            assert same.distribution(context) == pytest.approx(model.distribution(context), rel=1e-12)


def test_thresholds_of_patterns(whole: dict[str, Model]) -> None:
    model = whole["uniform"]
    small = model.pruned(counts="1101=1,1111=2")
    sizes = {str(p): (small.counts.size(p), model.counts.size(p)) for p in model.counts.lattice.stored}
    assert {p for p, (new, old) in sizes.items() if new < old} == {"1101", "1111"}
    assert small.signature.pruned == "counts=1101=1,1111=2"


def test_grams_that_are_contexts_stay(whole: dict[str, Model]) -> None:
    # Pairs that occur once go, but for those that start a sequence of four words which stays.
    model = whole["mkn"]
    small = model.pruned(counts="0,1,0,0")
    assert small.counts.size(Pattern.parse("1111")) == model.counts.size(Pattern.parse("1111"))
    tables = unpack(small.counts)
    alone = Relations(tables).occurrences()[Pattern.of(1)] == 1
    assert np.diff(tables[Pattern.parse("111")].begins)[alone].min() > 0


# Sizes


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("keep", [0.8, 0.55])
def test_sizes_are_those_asked_for(whole: dict[str, Model], name: str, keep: float, tmp_path: Path) -> None:
    goal = int(keep * bytes_of(whole[name].parts))
    small = whole[name].pruned(size=goal)
    small.save(tmp_path / "m")
    n_bytes = (tmp_path / "m").stat().st_size
    assert n_bytes <= 1.001 * goal
    # Of a lattice of one's own, patterns that are only counted beside it are lost for nothing, all of them.
    assert n_bytes > 0.97 * goal or name == "custom"
    assert small.signature.pruned == f"size={goal}"


@pytest.mark.parametrize("keep", [0.9, 0.7])
def test_the_second_guess_of_what_fits_a_size_is_good(whole: dict[str, Model], keep: float) -> None:
    parts, made = whole["learned"].parts, []
    goal = BySize.of(parts, None, keep, "fast", IN_MEMORY)
    tables = unpack(parts.counts)

    def make(kept: dict[Pattern, Mask]) -> ModelParts:
        made.append(_rest(parts, tables, kept, "here"))
        return made[-1]

    assert goal is not None
    assert 0.99 * goal.n_bytes <= bytes_of(goal.best(parts, tables, make)) <= goal.n_bytes
    assert len(made) <= 5


@pytest.mark.parametrize("name", ["mkn", "learned"])
def test_a_size_is_that_of_the_layout_that_is_written(whole: dict[str, Model], name: str, tmp_path: Path) -> None:
    compact = whole[name].with_layout("compact")
    goal = int(0.7 * bytes_of(compact.parts))
    small = compact.pruned(size=goal, output=tmp_path / "small")
    assert small.layout == "compact"
    assert 0.97 * goal < (tmp_path / "small").stat().st_size <= 1.001 * goal
    assert_sums_to_one(small)
    from_fast = whole[name].pruned(size=goal, layout="compact")
    assert from_fast.counts.tables.grams.tobytes() == small.counts.tables.grams.tobytes()
    assert whole[name].pruned(size=bytes_of(compact.parts), layout="compact").signature.pruned == ""
    assert compact.pruned(keep=0.9, layout="fast").layout == "fast"
    assert compact.pruned(counts="0,0,1").layout == "compact"


def test_training_to_a_size_counts_the_layout(tmp_path: Path) -> None:
    options: dict[str, Any] = {"order": 3, "model": "mkn", "layout": "compact"}
    whole = trained(toy_text(300), output=tmp_path / "whole", **options)
    goal = int(0.8 * (tmp_path / "whole").stat().st_size)
    small = trained(toy_text(300), output=tmp_path / "small", size=goal, **options)
    assert 0.95 * goal < (tmp_path / "small").stat().st_size <= 1.001 * goal
    assert (small.layout, whole.layout) == ("compact", "compact")


def test_pruning_again_adds_up(whole: dict[str, Model]) -> None:
    once = whole["mkn"].pruned(counts="0,0,2")
    twice = whole["mkn"].pruned(counts="0,0,1").pruned(counts="0,0,2")
    assert twice.signature.pruned == "counts=0,0,1+counts=0,0,2"
    for context in CONTEXTS:
        assert twice.distribution(context) == pytest.approx(once.distribution(context), rel=1e-12)
    again = whole["learned"].pruned(keep=0.7).pruned(keep=0.7)
    assert_sums_to_one(again)
    assert bytes_of(again.parts) < 0.5 * bytes_of(whole["learned"].parts)


def test_a_model_that_is_small_enough_is_left_alone(whole: dict[str, Model]) -> None:
    assert whole["mkn"].pruned(size="1G") is whole["mkn"]
    assert whole["mkn"].pruned(keep=1.0) is whole["mkn"]


def test_by_loss_is_better_than_by_count() -> None:
    text = golden_text()
    model = gapgram.train(sentences=text, order=4, model="glm", weights="learned")
    by_count = model.pruned(counts="0,1")
    by_loss = model.pruned(size=bytes_of(by_count.parts))
    unseen = toy_text(400, seed=77, vocabulary=800)
    scores = [sum(m.score_many(unseen)) for m in (model, by_loss, by_count)]
    assert scores[0] > scores[1] > scores[2]


# What is lost


def test_how_often_grams_come_again_by_hand() -> None:
    # Of class 0, three grams were seen once, one twice: 1* = 2·1/3; nothing thrice: 2* = 0. Beyond 5 as often again.
    seen, again = np.array([1, 1, 1, 2, 9]), Again()
    again.add(seen[:2])
    again.add(seen[2:])
    assert again.of(seen) == pytest.approx([2 / 3, 2 / 3, 2 / 3, 0, 9])


def test_the_loss_of_a_gram_is_that_of_the_text_it_is_expected_in(whole: dict[str, Model]) -> None:
    # The top pattern of a chain: relative entropy of the distributions with and without the gram, but for what
    # words share when they are taken as one. What is lost is above 0 and no more than the word alone loses.
    model = whole["mkn"]
    top = Pattern.contiguous(3)
    losses = dict(losses_of(model.parts, unpack(model.counts)))[top]
    assert losses.min() >= 0
    assert np.median(losses[model.counts.gram_counts(top) > 2]) > np.median(losses)


# Mistakes


@pytest.mark.parametrize(("options", "expected"), [
    ({}, "prune: say how: by counts (--counts 0,0,1), to a size (--size 10MB), or the part to keep (--keep"),
    ({"size": "1M", "keep": 0.5}, "prune: give a size or the part to keep, one of the two"),
    ({"counts": "0,0,x"}, "prune '0,0,x': 'x' is neither a number of occurrences nor PATTERN=NUMBER"),
    ({"counts": "0,-1"}, "'-1' is neither a number of occurrences nor PATTERN=NUMBER"),
    ({"counts": "=1"}, "'=1' is neither a number"),
    ({"counts": "1,1"}, "words themselves stay, so that the first number, of single words, is 0"),
    ({"counts": "1=1"}, "words themselves stay"),
    ({"counts": "0,0,0,0,1"}, "5 numbers, the model's order is 4"),
    ({"counts": "1011=1"}, "pattern 1011 was not counted: there are 1 11 111 1111"),
    ({"counts": "12=1"}, "pattern '12': expected 1 for a word kept"),
    ({"size": "ten"}, "size 'ten': expected a size such as 4G, 400MB or 400MiB"),
    ({"keep": 0}, "keep 0: expected the part of the model to keep, above 0 and at most 1, such as 0.3"),
    ({"keep": 1.5}, "keep 1.5: expected"),
    ({"size": "9K"}, "size=9K is 9,216 bytes: the words alone, without a gram of two, take"),
])  # fmt: skip
def test_mistakes(whole: dict[str, Model], options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        whole["mkn"].pruned(**options)
    assert expected in str(caught.value)


def test_mistakes_are_found_before_training() -> None:
    with pytest.raises(UsageError, match="was not counted"):
        gapgram.train(sentences=["a b c d"], order=3, model="mkn", prune="1111=1")
    with pytest.raises(UsageError, match="size 'x'"):
        gapgram.train(sentences=["a b c d"], order=3, model="mkn", size="x")


def test_pruned_counts_are_not_fitted_to(whole: dict[str, Model]) -> None:
    with pytest.raises(UsageError, match=r"counts pruned \(counts=0,1\) cannot be fitted to.*then prune the model"):
        left_out(whole["mkn"].pruned(counts="0,1").counts, np.array([1, 5, 2], np.int32), seed=1)


# The commands


def test_the_command(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join(golden_text()[:700]))
    assert cli("train", tmp_path / "text", "-o", tmp_path / "m", "-n", 4, "--model", "mkn", "-q").code == 0
    ran = cli("prune", tmp_path / "m", "-o", tmp_path / "s", "--keep", 0.5, "--json")
    assert ran.json["pruned"] == "keep=0.5"
    assert ran.json["bytes"] == pytest.approx(0.5 * (tmp_path / "m").stat().st_size, rel=0.03)
    assert "pruned              keep=0.5" in cli("info", tmp_path / "s").out
    ran = cli("prune", tmp_path / "m", "-o", tmp_path / "s", "--counts", "0 0 1")
    assert (ran.code, ran.out) == (0, "")
    assert " grams, " in ran.err
    whole, small = (gapgram.load(tmp_path / name) for name in ("m", "s"))
    trained = ["train", tmp_path / "text", "-o", tmp_path / "t", "-n", 4, "--model", "mkn", "-q"]
    assert cli(*trained, "--prune", "0 0 1").code == 0
    assert np.array_equal(gapgram.load(tmp_path / "t").distribution(["w1"]), small.distribution(["w1"]))
    assert cli(*trained, "--size", "90K").code == 0
    assert (tmp_path / "t").stat().st_size <= 90 << 10
    ran = cli("prune", tmp_path / "m", "-o", tmp_path / "s", "--size", "1G")
    assert "nothing to prune" in ran.err
    assert np.array_equal(gapgram.load(tmp_path / "s").distribution(["w1"]), whole.distribution(["w1"]))
    ran = cli("prune", tmp_path / "m", "-o", tmp_path / "m", "--size", "1M")
    assert (ran.code, "is read and would be replaced" in ran.err) == (2, True)
