"""Word classes in the lattice: the kernels equal the reference, the laws hold, and nothing but the text decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.corpora import toy_text
from tests.support.gradients import assert_is_the_slope
from tests.support.references import as_known, reference_of

import gapgram
from gapgram import Lattice, Model, Pattern
from gapgram.errors import UsageError
from gapgram.estimation.weights.learned import Problem
from gapgram.estimation.weights.sample import left_out
from gapgram.kernels.fitting import sample as fitting
from gapgram.queries.predict import predict_by_sorting

TEXT = toy_text(400)
CONTEXTS = [[], ["<s>"], ["w1"], ["w1", "w2"], ["<s>", "w3", "w1"], ["nobody", "w2", "w5"], ["w4", "w9", "w2", "w1"]]
ORDER = 4


@pytest.fixture(scope="module")
def own_classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words by their numbers: odd, even, and a few that are not mentioned."""
    path = tmp_path_factory.mktemp("classes") / "classes.tsv"
    path.write_text("".join(f"w{i}\t{'odd one' if i % 2 else 'even'}\n" for i in range(1, 55)))
    return path


@pytest.fixture(scope="module")
def model(own_classes: Path) -> gapgram.Model:
    return gapgram.train(sentences=TEXT, order=ORDER, lattice="full+full", classes=own_classes)


@pytest.fixture(scope="module")
def found() -> gapgram.Model:
    """Classes found in the text."""
    return gapgram.train(sentences=TEXT, order=ORDER, classes=8)


@pytest.fixture(scope="module")
def several(own_classes: Path) -> gapgram.Model:
    """Classes of three clusterings: a user's own, and two that are found."""
    return gapgram.train(sentences=TEXT, order=ORDER, lattice="full+full+chain+chain", classes=[own_classes, 8, "20"])


@pytest.mark.parametrize("name", ["model", "several"])
def test_the_kernels_equal_the_reference(name: str, request: pytest.FixtureRequest) -> None:
    model: gapgram.Model = request.getfixturevalue(name)
    reference = reference_of(model, [line.split() for line in TEXT])
    for context in CONTEXTS:
        for word in ("w1", "w5", "w56", "</s>", "<unk>"):
            expected = reference.probability(word, as_known(model, context))
            assert 10 ** model.log10_prob(word, context) == pytest.approx(expected, rel=1e-11), (context, word)


@pytest.mark.parametrize("name", ["model", "found", "several"])
def test_the_laws_hold(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Sums, exact predictions, explanations, steps, and the same bits from a file of either layout."""
    made: gapgram.Model = request.getfixturevalue(name)
    made.save(tmp_path / "fast")
    made.with_layout("compact").save(tmp_path / "compact")
    for one in (made, Model.load(tmp_path / "fast"), Model.load(tmp_path / "compact")):
        for context in CONTEXTS:
            distribution = one.distribution(context)
            assert distribution.sum() == pytest.approx(1.0, abs=1e-9)
            assert np.array_equal(distribution, made.distribution(context))
            everything = one.distribution(context)
            for k in (1, 7, 20):
                assert one.predict(context, k) == predict_by_sorting(everything, one.vocabulary, k)
            by_sorting = predict_by_sorting(everything, one.vocabulary, 3, prefix="w1")
            assert one.predict(context, 3, prefix="w1") == by_sorting
            for word in ("w2", "</s>", "<unk>"):
                chance = distribution[one.vocabulary.id(word)]
                explanation = one.explain(word, context)
                assert explanation.probability == pytest.approx(chance, rel=1e-12)
                assert one.log10_prob(word, context) == pytest.approx(math.log10(chance), abs=1e-12)
        assert np.array_equal(one.score_many(TEXT[:40]), made.score_many(TEXT[:40], threads=1))


@pytest.mark.parametrize(("name", "keep"), [("found", 0.75), ("several", 0.8)])
def test_every_distribution_of_a_pruned_model_sums_to_one(
    name: str, keep: float, request: pytest.FixtureRequest
) -> None:
    found: gapgram.Model = request.getfixturevalue(name)
    small = found.pruned(keep=keep)
    assert any(small.counts.size(p) < found.counts.size(p) for p in found.counts.lattice.stored if p.classes)
    for context in CONTEXTS:
        assert small.distribution(context).sum() == pytest.approx(1.0, abs=1e-9)


def test_neither_threads_nor_the_order_of_lines_change_a_bit(found: gapgram.Model, tmp_path: Path) -> None:
    found.save(tmp_path / "a")
    gapgram.train(sentences=sorted(TEXT), order=ORDER, classes=8, threads=1).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_several_clusterings_are_the_same_through_files_and_in_any_order_of_lines(
    several: gapgram.Model, own_classes: Path, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("\n".join([*sorted(TEXT), ""]))
    options: dict[str, Any] = {"order": ORDER, "lattice": str(several.counts.lattice), "classes": f"{own_classes},8,20"}
    several.save(tmp_path / "a")
    gapgram.train(tmp_path / "text", output=tmp_path / "b", memory="1M", threads=1, **options)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_words_of_a_gram_are_those_of_its_clustering(several: gapgram.Model) -> None:
    counts = several.counts
    begins = [own.start for own in counts.clusterings]
    assert begins == [0, 6, 6 + counts.n_classes[1] + 3] and counts.n_classes[0] == 3
    assert several.signature.classes.startswith("+".join(map(str, counts.n_classes)) + "@")
    for pattern in (Pattern(0, 1), Pattern(0, 2), Pattern(0, 3)):
        own = counts.class_names[counts.clusterings[pattern.classes - 1]]
        assert [words for words, _ in counts.all_grams(pattern)] == [
            ("{" + name.replace(" ", "_") + "}",) for name, n in zip(own, counts.gram_counts(pattern), strict=True) if n
        ]
    shown = several.explain("w5", ["w3", "w4"]).patterns
    assert [p.context for p in shown if p.pattern == "222"] == ["{odd_one} {even}"]
    word = several.vocabulary.id("w4")
    own_class = counts.class_names[counts.tables.class_of[len(several.vocabulary) + word]]
    assert [p.context for p in shown if p.pattern == "33"] == ["{" + own_class + "}"]


def test_a_file_of_classes_is_taken_as_it_is(model: gapgram.Model) -> None:
    counts = model.counts
    assert set(counts.class_names[3:]) == {"odd one", "even", "<other>"}
    names = {word: counts.class_names[counts.tables.class_of[i]] for i, word in enumerate(model.vocabulary)}
    assert names["w7"] == "odd one" and names["w8"] == "even" and names["w57"] == "<other>" and names["</s>"] == "</s>"
    assert model.signature.classes.startswith("3@")
    assert model.explain("w5", ["w3", "w4"]).patterns[-1].context == "{odd_one} {even}"


@pytest.mark.parametrize("name", ["model", "several"])
def test_the_gradient_equals_finite_differences(name: str, request: pytest.FixtureRequest) -> None:
    model: gapgram.Model = request.getfixturevalue(name)
    counts = model.counts
    corpus = gapgram.text.corpus.read_corpus(gapgram.text.corpus.blocks_of_sentences(TEXT[:60]))
    ids = model.vocabulary.ids(list(corpus.vocabulary))[corpus.ids]
    problem = Problem(counts, model.parts.discounts, left_out(counts, ids, seed=1))
    values, gradients, n = problem.start(), problem.zeros(), len(problem.sample)
    values.flat += 0.1 * np.sin(np.arange(values.flat.size))
    problem.add_gradient(values, gradients, 0, n)
    touched = np.flatnonzero(gradients.flat)
    assert_is_the_slope(problem, values, gradients, n, touched[:: max(1, touched.size // 60)])


def test_hidden_words_are_unknown() -> None:
    """A hidden word is never counted, and a context of classes that holds it was never seen."""
    statistics = np.ones((3, 3, 5), np.int32)  # patterns 1, 11, 22
    ids, hidden = np.array([1, 4, 5], np.int32), np.array([False] * 4 + [True, False])
    fitting.hide(statistics, ids, np.array([0, 1, 2], np.int16), hidden, np.array([0, 1, 1]), np.array([0, 0, 1]))
    assert statistics[1].tolist() == [[0, 1, 1, 1, 1]] * 3  # the hidden word itself
    assert statistics[2].tolist() == [[1] * 5, [1] * 5, [0] * 5]  # after it


def test_classes_that_are_found_have_the_names_of_their_most_frequent_words(found: gapgram.Model) -> None:
    names = found.counts.class_names
    assert names[:3] == ("<unk>", "<s>", "</s>")
    for number, name in enumerate(names):
        assert found.counts.tables.class_of[found.vocabulary.id(name)] == number


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "mkn", "classes": 5}, "classes are for a glm with learned weights"),
        ({"weights": "uniform", "classes": "auto"}, "classes are for a glm with learned weights"),
        ({"lattice": "full+chain", "classes": "none"}, "the lattice has patterns of classes: say which"),
        ({"classes": "missing.tsv"}, "classes 'missing.tsv': no such file; expected a number, none, auto, or a file"),
        ({"classes": "."}, "classes '.': a folder; expected a number, none, auto, or a file"),
        ({"lattice": "full+foo"}, "lattice 'full+foo': expected chain or full on either side of +"),
        ({"classes": 0}, "0 classes: expected 1 or more, none, auto, or a file"),
        ({"classes": "5,x"}, "classes 'x': no such file; expected a number, none, auto, or a file"),
        ({"lattice": "full+chain", "classes": "5,6"}, "the lattice has patterns of 1 clusterings, and classes are"),
        ({"effort": "good"}, "effort 'good': expected small, fast, default, best"),
        ({"effort": "best", "classes": 5}, "effort best: it chooses patterns and classes of a glm with learned"),
        ({"effort": "fast", "model": "mkn"}, "effort fast: it chooses patterns and classes of a glm"),
        ({"classes": list(range(1, 10))}, "9 clusterings of words: at most 8 can be told apart"),
        ({"lattice": "1,11,33"}, "patterns of classes 3 without any of 2: number clusterings from 2 on"),
    ],
)
def test_mistakes(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("+", r"\+")):
        gapgram.train(sentences=TEXT[:9], order=3, **options)  # type: ignore[arg-type]


def test_lattices_with_classes_are_read_as_they_are_printed() -> None:
    for text in ("full+chain", "chain+full", "full+chain+full", "1,11,22,2022", "1,11,22,3033,4"):
        lattice = Lattice.parse(text, 4)
        assert Lattice.parse(str(lattice), 4) == lattice
    stored = Lattice.parse("11 2022", 4).stored
    assert " ".join(map(str, stored)) == "1 11 111 1111 2 22 202 222 2022 2222"
    assert Lattice.full(4).with_classes("chain").below(Pattern(0).of_classes) == (Pattern(0),)


def test_the_commands_show_classes(
    found: gapgram.Model, models: dict[str, gapgram.Model], cli: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "m"
    found.save(path)
    classes = cli("info", path, "--classes", "--json").json["classes"]
    assert sum(c["words"] for c in classes) == len(found.vocabulary) - 3
    assert f"classes             {len(classes)}" in cli("info", path).out
    assert "in its class" in cli("explain", path, "w3", "w1 w2").out
    assert "in its class" not in cli("explain", models["mkn"].path, "w3", "w1 w2").out
    assert "has no word classes" in cli("info", models["mkn"].path, "--classes").err


def test_training_with_a_file_of_classes(own_classes: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join([*TEXT, ""]))
    ran = cli("train", tmp_path / "text", "-o", tmp_path / "m", "-n", 3, "--classes", own_classes, "--json")
    assert ran.json["classes"] == 3
    assert ran.json["lattice"] == "full+chain"


def test_the_file_of_classes_is_never_replaced(own_classes: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b c\n")
    before = own_classes.read_bytes()
    ran = cli("train", tmp_path / "text", "-o", own_classes, "--classes", own_classes)
    assert "is read and would be replaced" in ran.err
    assert own_classes.read_bytes() == before
