"""Classifying: posteriors by Bayes' law, folders and labelled lines, evaluation, mistakes in a sentence."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram.applications.classification.classifier import Classifier
from gapgram.applications.classification.labelled import read_labelled

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

ENGLISH = ["the cat sat on the mat", "the dog and the cat", "where is the house", "this is what they think"]
GERMAN = ["die Katze sitzt auf der Matte", "der Hund und die Katze", "wo ist das Haus", "das ist was sie denken"]
PAIRS = [("en", text) for text in 3 * ENGLISH] + [("de", text) for text in GERMAN]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of English and German, of characters."""
    place = tmp_path_factory.mktemp("classify") / "languages"
    gapgram.train_classifier(PAIRS, place, model="mkn", order=3)
    return place


def test_posteriors_follow_bayes(folder: Path) -> None:
    found = gapgram.load_classifier(folder)
    assert (found.labels, found.priors) == (("en", "de"), (0.75, 0.25))
    text = " ".join("▁the▁Hund▁")
    en, de = (10 ** model.score(text) for model in found.models)
    one = next(found.classify(["the Hund"]))
    assert one.probabilities["en"] == pytest.approx(0.75 * en / (0.75 * en + 0.25 * de))
    assert one.probability == max(one.probabilities.values())
    assert sum(one.probabilities.values()) == pytest.approx(1)


def test_all_models_are_distributions_over_the_same_texts() -> None:
    found = gapgram.train_classifier([("a", "x y z u v"), ("b", "x y")] * 5, unit="words", model="mkn", order=2)
    union = {word for model in found.models for word in model.vocabulary}
    assert found.n_words == len(union)
    small = found.models[1]
    unknown = 10 ** small.log10_prob("u")
    scores = found.log10_scores(["u"])[0, 1]
    end = small.log10_prob("</s>", ["<s>", "u"])
    given = small.log10_prob("u", ["<s>"]) - math.log10(len(union) - len(small.vocabulary) + 1)
    assert scores == pytest.approx(given + end)
    assert unknown > 0


def test_priors(folder: Path) -> None:
    found = gapgram.load_classifier(folder)
    assert next(found.classify([""])).probabilities == pytest.approx({"en": 0.75, "de": 0.25})
    assert next(found.with_priors(None).classify([""])).probabilities == pytest.approx({"en": 0.5, "de": 0.5})
    with pytest.raises(gapgram.UsageError, match="priors: expected 2 numbers above 0 with a sum of 1, for en, de"):
        found.with_priors([0.5, 0.6])


def test_lines_folders_and_pairs_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join(f"{label}\t{text}\n" for label, text in PAIRS))
    (tmp_path / "fast").write_text("".join(f"__label__{label} {text}\n\n" for label, text in PAIRS))
    for label in ("en", "de"):
        texts = [text for one, text in PAIRS if one == label]
        (tmp_path / "files").mkdir(exist_ok=True)
        (tmp_path / "files" / f"{label}.txt").write_text("\n".join([*texts, ""]))
        (tmp_path / "folders" / label).mkdir(parents=True)
        for number, text in enumerate(texts):
            (tmp_path / "folders" / label / f"{number:02}").write_text(text + "\n")
    for name in ("lines", "fast", "files", "folders"):
        assert sorted(read_labelled(tmp_path / name)) == sorted(PAIRS), name


def test_evaluation_counts(folder: Path) -> None:
    found = gapgram.load_classifier(folder)
    tests = [("en", "the house"), ("de", "das Haus"), ("de", "the mat")]
    result = gapgram.evaluate(found, tests)
    assert result.texts == 3
    assert result.accuracy == pytest.approx(2 / 3)
    assert result.confusion == {("en", "en"): 1, ("de", "de"): 1, ("de", "en"): 1}
    losses = [-math.log2(one.probabilities[right]) for one, (right, _) in zip(
        found.classify([text for _, text in tests]), tests, strict=True)]  # fmt: skip
    assert result.log2_loss == pytest.approx(np.mean(losses))
    assert "3 texts, accuracy 66.67 %" in str(result)
    with pytest.raises(gapgram.TextError, match="the label 'fr' is none of the classifier's: en, de"):
        gapgram.evaluate(found, [("fr", "le chat")])
    with pytest.raises(gapgram.TextError, match="no labelled text to evaluate on"):
        gapgram.evaluate(found, [])


def test_the_command(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join(f"{label}\t{text}\n" for label, text in PAIRS))
    ran = cli("classify", "train", tmp_path / "lines", "-o", tmp_path / "c", "--model", "mkn", "-n", 3)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.endswith(f"{tmp_path / 'c'} written: 2 classes: en, de\n")
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["0.model", "1.model", "classifier.json"]
    ran = cli("classify", tmp_path / "c", stdin="the house\ndas Häuschen\n".encode())
    assert [line.split("\t")[::2] for line in ran.out.splitlines()] == [["en", "the house"], ["de", "das Häuschen"]]
    ran = cli("classify", tmp_path / "c", "--json", "--all", "--priors", "en=0.5,de=0.5", stdin=b"the house\n")
    assert set(ran.json["probabilities"]) == {"en", "de"}
    ran = cli("classify", tmp_path / "c", "--all", stdin=b"the house\n")
    assert ran.out.startswith("en:0.") or ran.out.startswith("en:1.0")
    ran = cli("classify", tmp_path / "c", tmp_path / "lines", "--evaluate")
    assert ran.out.startswith("16 texts, accuracy 100.00 %")
    ran = cli("classify", tmp_path / "c", tmp_path / "lines", "--evaluate", "--json")
    assert ran.json["confusion"]["de"] == {"en": 0, "de": 4}
    assert set(ran.json["signatures"]) == {"en", "de"}
    assert cli("classify", "train", tmp_path / "lines", "-o", tmp_path / "c", "--model", "mkn", "-n", 2, "-q").code == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(("data", "options", "expected"), [
    (b"no label\n", [], "lines:1: no label: expected label, tab and text, or __label__NAME and text"),
    (b"en\ta b\n\t a\n", [], "lines:2: the label '': expected 1 to 200 characters"),
    (b"en\ta b c\n", [], "1 labels in the labelled text: expected two or more to tell apart"),
    (b"", [], "0 labels in the labelled text"),
    (b"en\t\xff\n", [], "lines:1: byte 4 of the line (0xff) is not valid UTF-8"),
    (b"en\ta b\nde\tc d\n", ["-o", "lines"], "lines: is there already and is no classifier; name another folder"),
    (b"en\ta b\nde\tc d\n", ["-o", "x/y"], "the folder x does not exist; make it first"),
    (b"".join(b"%d\ta\n" % i for i in range(600)), [], "more than 500 labels, '500' the last"),
])  # fmt: skip
def test_mistakes(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, options: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lines").write_bytes(data)
    assert_refused(cli("classify", "train", "lines", "-o", "c", *options), expected)
    assert [path.name for path in tmp_path.iterdir()] == ["lines"]


def test_folders_that_are_no_classifiers(cli: Cli, folder: Path, tmp_path: Path) -> None:
    assert_refused(cli("classify", tmp_path / "none"), "none: no such folder")
    assert_refused(cli("classify", tmp_path), "no classifier: expected a folder that gapgram classify train has made")
    said = json.loads((folder / "classifier.json").read_text())
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("0.model", "1.model"):
        (copy / name).write_bytes((folder / name).read_bytes())
    for change, expected in (
        ({"format": 7}, "written in format 7 by another gapgram; this one reads 1"),
        ({"classes": 3}, "classifier.json: damaged"),
        ({"n_words": 1}, "classifier.json: damaged: 1 words in all"),
        ({"classes": said["classes"][::-1]}, "the model of de has become another: train the classifier again"),
    ):
        (copy / "classifier.json").write_text(json.dumps({**said, **change}))
        assert_refused(cli("classify", copy, stdin=b"a\n"), expected)
    (copy / "classifier.json").write_text("{")
    assert_refused(cli("classify", copy), "classifier.json: cannot be read")
    assert_refused(
        cli("classify", folder, "--priors", "en=1"), "priors 'en=1': expected a number for each label, such as"
    )


def test_mistakes_in_python(folder: Path, tmp_path: Path) -> None:
    found = gapgram.load_classifier(folder)
    with pytest.raises(gapgram.UsageError, match="expected a list of texts, found one string"):
        next(found.classify("text"))
    with pytest.raises(gapgram.TextError, match="half of a surrogate pair"):
        next(found.classify(["\ud800"]))
    with pytest.raises(gapgram.TextError, match="a text of the label 'a' holds half of a surrogate pair"):
        gapgram.train_classifier([("a", "\ud800"), ("b", "x")])
    with pytest.raises(gapgram.UsageError, match="unit 'bytes': expected words or characters"):
        gapgram.train_classifier(PAIRS, unit="bytes")
    with pytest.raises(gapgram.UsageError, match="priors 'odd': expected training or even"):
        gapgram.train_classifier(PAIRS, priors="odd")
    with pytest.raises(gapgram.UsageError, match="1 classes: expected two or more to tell apart"):
        Classifier(("a",), found.models[:1], (1.0,), "words", 9)
    (tmp_path / "empty").mkdir()
    with pytest.raises(gapgram.TextError, match="an empty folder: expected a folder or a file for each label"):
        list(read_labelled(tmp_path / "empty"))
