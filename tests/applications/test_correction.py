"""Correcting: edits, candidates against a slow search, the channel, the sentence as a whole, mistakes in a sentence."""

from __future__ import annotations

import math
import random
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.made_models import trained
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram import CorrectionOptions, Corrector, Model
from gapgram.applications.correction.candidates import NearWords, edits_between
from gapgram.applications.correction.corrector import Reading, best_readings
from gapgram.applications.correction.errors import ErrorModel, read_pairs
from gapgram.applications.correction.tokens import tokens_of

TEXT = [
    "the cat sat on the mat", "the dog sat on the rug", "a cat and a dog ran to the house", "they went to the store",
    "she is too old to run", "it was in the river near the house", "their house is near the store",
    "there is a house in the town", "He received a letter from a friend .",
]  # fmt: skip
SHORT = st.text(alphabet="abc", max_size=6)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return trained(9 * TEXT, order=3, model="mkn", output=tmp_path_factory.mktemp("correct") / "model")


@pytest.fixture(scope="module")
def corrector(model: Model) -> Corrector:
    return Corrector(model)


def distance(a: str, b: str) -> int:
    """The number of edits, neighbours swapped among them, no letter edited twice."""
    rows = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, j in product(range(len(a) + 1), range(len(b) + 1)):
        choices = [rows[i - 1][j] + 1] if i else []
        choices += [rows[i][j - 1] + 1] if j else []
        choices += [rows[i - 1][j - 1] + (a[i - 1] != b[j - 1])] if i and j else []
        if i > 1 and j > 1 and a[i - 2 : i] == b[j - 1] + b[j - 2]:
            choices.append(rows[i - 2][j - 2] + 1)
        rows[i][j] = min(choices, default=0)
    return rows[-1][-1]


@given(SHORT, SHORT)
def test_edits_are_as_few_as_can_be(meant: str, written: str) -> None:
    edits = edits_between(meant, written, 2)
    expected = distance(meant, written)
    assert (edits is None) == (expected > 2)
    assert edits is None or len(edits) == expected


def test_candidates_are_all_that_are_near() -> None:
    draw = random.Random(3)
    words = sorted({"".join(draw.choices("abcd", k=draw.randint(2, 9))) for _ in range(300)})
    near = NearWords(words)
    for text in [*words[::20], "abcabc", "ddd"]:
        for most in (1, 2):
            expected = {
                word
                for word in words
                if word != text and 0 < distance(word, text) <= min(most, 1 if len(word) < 5 else 2)
            }
            assert expected <= set(near.near(text, most))
    assert "zzz" not in near


def test_errors_are_learned() -> None:
    pairs = [("recieve", "receive"), ("beleive", "believe"), ("freind", "friend"), ("cheif", "chief")]
    learned, alike = ErrorModel(pairs), ErrorModel()
    assert learned.log10("thief", "theif") > alike.log10("thief", "theif")
    assert learned.log10("receive", "recieve") > learned.log10("relieve", "releive")  # seen as a whole
    assert learned.log10("cat", "dog") == -math.inf
    assert learned.log10("friend", "freind") > learned.log10("friend", "frend")


def test_pairs_of_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "tabs").write_text("teh\tthe\n\nalot\ta lot\n")
    (tmp_path / "list").write_text("$the\nteh\nhte\n$a_lot\nalot\n")
    assert list(read_pairs(tmp_path / "tabs")) == [("teh", "the"), ("alot", "a lot")]
    assert list(read_pairs(tmp_path / "list")) == [("teh", "the"), ("hte", "the"), ("alot", "a lot")]


def test_the_search_finds_the_best_of_all(model: Model) -> None:
    words = [["the", "a"], ["cat", "dog", "house"], ["sat", "ran"], ["to", "on"]]
    ids = [[model.vocabulary.id(word) for word in some] for some in words]
    channel = [[-0.1 * i for i in range(len(some))] for some in words]
    choices = [
        [Reading((i,), 1, c, w) for i, c, w in zip(*row, strict=True)] for row in zip(ids, channel, words, strict=True)
    ]
    score, found = best_readings(model, choices, weight=0.7, beam=100)
    everything = {
        " ".join(w for w, _ in path): 0.7 * model.score(" ".join(w for w, _ in path)) + sum(c for _, c in path)
        for path in product(*[list(zip(w, c, strict=True)) for w, c in zip(words, channel, strict=True)])
    }
    best = max(everything, key=lambda text: everything[text])
    assert " ".join(reading.shown for reading in found) == best
    assert score == pytest.approx(everything[best])


@pytest.mark.parametrize(("before", "after"), [
    ("Teh cat satt on the mat.", "The cat sat on the mat."),
    ("(the  dgo sat,\ton the rug)", "(the  dog sat,\ton the rug)"),
    ("they went too the store", "they went to the store"),
    ("it was inthe river near the house", "it was in the river near the house"),
    ("it was in the riv er near the house", "it was in the river near the house"),
    ("the cat sat on the mat", "the cat sat on the mat"),
    ("NASA 42 x9 ... <s> !", "NASA 42 x9 ... <s> !"),
    ("", ""),
    ("  \t ", "  \t "),
])  # fmt: skip
def test_lines(corrector: Corrector, before: str, after: str) -> None:
    found = corrector.correct(before)
    assert found.after == after
    assert (found.before, bool(found.changes)) == (before, before != after)


def test_only_unknown_words(model: Model) -> None:
    careful = Corrector(model, options=CorrectionOptions(real_words=False))
    assert careful.correct("they went too the stroe").after == "they went too the store"


def test_learned_errors_are_found_wherever_they_are(model: Model) -> None:
    found = Corrector(model, [("phrend", "friend"), ("lettuh", "letter")]).correct(
        "He received a lettuh from a phrend ."
    )
    assert found.after == "He received a letter from a friend ."
    assert [tuple(change) for change in found.changes] == [(3, "lettuh", "letter"), (6, "phrend", "friend")]


def test_suggestions_are_probabilities(corrector: Corrector) -> None:
    (found,) = corrector.suggest("they went too the store", most=99)
    assert (found.token, found.before, found.alternatives[0][0]) == (2, "too", "to")
    assert sum(share for _, share in found.alternatives) == pytest.approx(1)
    assert [s for _, s in found.alternatives] == sorted((s for _, s in found.alternatives), reverse=True)
    assert "too" in dict(found.alternatives)


def test_a_diff_shows_splits_and_joins(corrector: Corrector) -> None:
    found = corrector.correct("it was inthe riv er, near")
    assert found.diff() == "it was [-inthe-]{+in the+} [-riv er-]{+river+}, near"


def test_long_lines_are_searched_in_parts(corrector: Corrector) -> None:
    line = " ".join(["the cat satt on the mat"] * 100)
    assert corrector.correct(line).after == line.replace("satt", "sat")


def test_marks_and_case_are_no_words() -> None:
    assert [(t.opening, t.word, t.closing) for t in tokens_of("«Où?» it's")] == [("«", "Où", "?»"), ("", "it's", "")]


# The command


def test_the_command(cli: Cli, model: Model, tmp_path: Path) -> None:
    ran = cli("correct", model.path, stdin=b"Teh cat satt.\n\nthe dog\n")
    assert (ran.code, ran.out, ran.err) == (0, "The cat sat.\n\nthe dog\n", "2 words changed\n")
    ran = cli("correct", model.path, "--diff", "-q", stdin=b"Teh cat satt.\n")
    assert (ran.out, ran.err) == ("[-Teh-]{+The+} cat [-satt-]{+sat+}.\n", "")
    ran = cli("correct", model.path, "--json", stdin=b"Teh cat satt.\n")
    assert ran.json["changes"][0] == {"token": 0, "before": "Teh", "after": "The"}
    ran = cli("correct", model.path, "--suggest", stdin=b"they went too the store\n")
    assert ran.out.splitlines()[1].startswith("\t3\ttoo\tto 0.")
    ran = cli("correct", model.path, "--suggest", "--json", stdin=b"they went too the store\n")
    assert ran.json["suggestions"][0]["before"] == "too"
    (tmp_path / "pairs").write_text("lettuh\tletter\n")
    ran = cli(
        "correct", model.path, "-", "--errors", tmp_path / "pairs", "-o", tmp_path / "out", stdin=b"a lettuh from\n"
    )
    assert (ran.out, (tmp_path / "out").read_text()) == ("", "a letter from\n")


@pytest.mark.parametrize(("options", "expected"), [
    (["--errors", "pairs"], "pairs:1: expected a misspelling, a tab and the right word"),
    (["--errors", "none"], "none: no such file"),
    (["--errors", "odd"], "odd:1: '': expected a word of 1 to 100 letters"),
    (["--suggest", "--diff"], "correct: --suggest or --diff, one of the two"),
    (["--error-rate", "2"], "error rate 2.0: expected a share between 0 and 1"),
    (["-o", "pairs", "--errors", "pairs"], "pairs: is read and would be replaced"),
])  # fmt: skip
def test_mistakes(
    cli: Cli, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs").write_text("no tab\n")
    Path("odd").write_text("a\t\n")
    assert_refused(cli("correct", model.path, *options, stdin=b"a\n"), expected)
    assert_refused(cli("correct", model.path, stdin=b"a\n\xff\n"), "standard input:2: byte 1 of the line (0xff)")


def test_mistakes_in_python(corrector: Corrector) -> None:
    with pytest.raises(gapgram.TextError, match="the line holds half of a surrogate pair"):
        corrector.correct("\ud800")
    with pytest.raises(gapgram.UsageError, match="candidates 0, beam 8: expected 1 or more of each"):
        CorrectionOptions(candidates=0)
