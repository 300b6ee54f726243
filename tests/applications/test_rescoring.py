"""Rescoring: scores, ranking, tuning against a search of all weights, error rates, mistakes in a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import toy_text
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram import Model, Rescorer
from gapgram.applications.rescoring.nbest import ListedText, NBest, read_nbest, read_references
from gapgram.applications.rescoring.rescorer import chance_of_gain, error_rate, word_errors
from gapgram.applications.rescoring.tuning import Scored, total_errors, tuned

LISTS = [
    NBest("u1", [ListedText("w1 w9 w3", (-1.0, 2.0)), ListedText("w1 w2 w3", (-1.5, 1.0))]),
    NBest("u2", [ListedText("w2", (-3.0, 0.0)), ListedText("w3 w4", (-3.0, 5.0)), ListedText("", (-9.0, 0.0))]),
]


def write_lists(path: Path, lists: list[NBest] = LISTS) -> Path:
    rows = [f"{one.id}\t{' '.join(map(str, h.scores))}\t{h.text}\n" for one in lists for h in one.hypotheses]
    path.write_text("".join(rows))
    return path


def test_scores_are_those_of_the_model(made: dict[str, Model]) -> None:
    model = made["learned"]
    rows = Rescorer(model).scores(LISTS)
    assert rows[0][0].tolist() == [-1.0, 2.0, pytest.approx(model.score("w1 w9 w3")), 3.0]
    assert [row.shape for row in rows] == [(2, 4), (3, 4)]


def test_the_best_has_the_highest_total(made: dict[str, Model]) -> None:
    found = Rescorer(made["mkn"], [0.5, 0.1, 2.0, -0.3]).rescore(LISTS)
    for one, totals, best in zip(LISTS, found.totals, found.best, strict=True):
        expected = [
            0.5 * h.scores[0] + 0.1 * h.scores[1] + 2 * made["mkn"].score(h.text) - 0.3 * len(h.text.split())
            for h in one.hypotheses
        ]
        assert totals == pytest.approx(expected)
        assert best == int(np.argmax(expected))
    assert found.texts == [one.hypotheses[i].text for one, i in zip(LISTS, found.best, strict=True)]
    assert found.signature == str(made["mkn"].signature)


def test_both_formats(tmp_path: Path) -> None:
    tabs = read_nbest(write_lists(tmp_path / "tabs"))
    assert tabs == LISTS
    moses = [
        f"{o.id} ||| {h.text} ||| am: {h.scores[0]} lm= {h.scores[1]} ||| -1\n" for o in LISTS for h in o.hypotheses
    ]
    (tmp_path / "moses").write_text("".join(moses))
    assert read_nbest(tmp_path / "moses") == LISTS


def test_references_by_id_or_order(tmp_path: Path) -> None:
    (tmp_path / "ids").write_text("u2\tw3 w4\nu1\tw1 w2 w3\nother\tw5\n")
    (tmp_path / "lines").write_text("w1 w2 w3\nw3 w4\n")
    expected = [["w1", "w2", "w3"], ["w3", "w4"]]
    assert read_references(tmp_path / "ids", LISTS) == read_references(tmp_path / "lines", LISTS) == expected


def distances(a: list[str], b: list[str]) -> int:
    if not a or not b:
        return len(a) + len(b)
    same = distances(a[1:], b[1:]) + (a[0] != b[0])
    return min(same, distances(a[1:], b) + 1, distances(a, b[1:]) + 1)


@given(st.lists(st.sampled_from("ab"), max_size=5), st.lists(st.sampled_from("ab"), max_size=5))
def test_errors_of_words(found: list[str], reference: list[str]) -> None:
    assert word_errors(found, reference) == distances(found, reference)


def test_rates_have_bounds() -> None:
    draw = np.random.default_rng(2)
    lengths = draw.integers(5, 20, 200)
    before, after = draw.integers(0, 5, 200), draw.integers(0, 4, 200)
    rate = error_rate(before, lengths)
    assert rate.low < rate.rate < rate.high
    assert rate.rate == pytest.approx(before.sum() / lengths.sum())
    assert chance_of_gain(before, after, lengths) > 0.9
    assert chance_of_gain(before, before, lengths) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_tuning_is_at_least_as_good_as_any_grid(seed: int) -> None:
    draw = np.random.default_rng(seed)
    inputs = [Scored(draw.normal(size=(6, 2)), draw.integers(0, 6, 6)) for _ in range(12)]
    start = np.ones(2)
    found = tuned(inputs, start)
    grid = [np.array([np.cos(a), np.sin(a)]) for a in np.linspace(0, 2 * np.pi, 721)]
    assert total_errors(inputs, found) <= min(total_errors(inputs, weights) for weights in grid) + 1
    assert total_errors(inputs, found) <= total_errors(inputs, start)


def noisy_lists(lines: list[str], seed: int) -> tuple[list[NBest], list[list[str]]]:
    """Lists whose right text has the best score in half of them."""
    draw, lists = np.random.default_rng(seed), []
    for number, line in enumerate(lines):
        words = line.split()
        texts = [line]
        for _ in range(4):
            wrong = list(words)
            wrong[int(draw.integers(len(words)))] = f"w{int(draw.integers(1, 60))}"
            texts.append(" ".join(wrong))
        scored = [ListedText(text, (float(draw.normal()) - i / 3,)) for i, text in enumerate(texts)]
        lists.append(NBest(str(number), sorted(scored, key=lambda one: -one.scores[0])))
    return lists, [line.split() for line in lines]


def test_a_model_lowers_the_error_rate(models: dict[str, Model]) -> None:
    lines = [line for line in toy_text(400, seed=21) if len(line.split()) > 3]
    tuning, tuning_references = noisy_lists(lines[::2], 1)
    lists, references = noisy_lists(lines[1::2], 2)
    rescorer = Rescorer(models["mkn"]).tuned(tuning, tuning_references)
    result = gapgram.gain(rescorer.rescore(lists), references)
    assert result.oracle.rate <= result.after.rate < result.before.rate
    assert result.better > 0.95


# The command


def test_the_command(cli: Cli, made: dict[str, Model], tmp_path: Path) -> None:
    lists = write_lists(tmp_path / "lists")
    (tmp_path / "refs").write_text("w1 w2 w3\nw3 w4\n")
    path = made["mkn"].path
    found = Rescorer(made["mkn"]).rescore(LISTS)
    ran = cli("rescore", path, lists, "-q")
    assert (ran.out, ran.err) == ("".join(f"{o.id}\t{t}\n" for o, t in zip(LISTS, found.texts, strict=True)), "")
    ran = cli("rescore", path, lists, "--all")
    assert len(ran.out.splitlines()) == 5
    ran = cli(
        "rescore", path, lists, "--tune", lists, "--tune-references", tmp_path / "refs", "--references",
        tmp_path / "refs", "--save-weights", tmp_path / "w", "--json", "-o", tmp_path / "out",
    )  # fmt: skip
    assert ran.json["after"]["rate"] <= ran.json["before"]["rate"]
    assert ran.json["signature"] == str(made["mkn"].signature)
    again = cli("rescore", path, lists, "--weights", tmp_path / "w")
    assert again.out == (tmp_path / "out").read_text()
    assert "word error rate" in ran.err
    assert again.err.startswith("weights ")


@pytest.mark.parametrize(("data", "options", "expected"), [
    (b"", [], "lists: no hypothesis in it: expected id, scores and text a line"),
    (b"u1\t1\n", [], "lists:1: 2 fields: expected id, scores and text, separated by tabs"),
    (b"u1\tx\ta\n", [], "lists:1: scores 'x': expected numbers"),
    (b"u1\tnan\ta\n", [], "lists:1: scores 'nan': expected finite numbers"),
    (b"u1\t1\ta\nu1\t1 2\tb\n", [], "lists:2: 2 scores, the lines before have 1"),
    (b"u1\t1\ta\nu2\t1\tb\nu1\t1\tc\n", [], "the lines of id 'u1' do not follow each other: sort them by id"),
    (b"u1\t1\t\xff\n", [], "lists:1: byte 6 of the line (0xff) is not valid UTF-8"),
    (b"u1\t1\ta\n", ["--tune", "lists"], "tuning needs lists and their references"),
    (b"u1\t1\ta\n", ["--references", "two"], "two: 2 references for 1 lists: expected as many"),
    (b"u1\t1\ta\n", ["--references", "ids"], "ids: no reference for id 'u1' (and 0 others)"),
    (b"u1\t1\ta\n", ["--weights", "two"], "two: no weights: expected a file that gapgram rescore --save-weights has"),
    (b"u1\t1\ta\n", ["--weights", "w"], "2 weights for 3 scores: expected those of the 1 scores of a hypothesis"),
    (b"u1\t1\t<s>\n", [], "the word <s> is the model's own"),
    (b"u1\t1\ta\n", ["--save-weights", "lists"], "lists: is read and would be replaced"),
    (b"u1\t1\ta\n", ["--save-weights", "x", "-o", "x"], "x: named for the lists and for the weights"),
])  # fmt: skip
def test_mistakes(
    cli: Cli, made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, options: list[str],
    expected: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("lists").write_bytes(data)
    Path("two").write_text("a\nb\n")
    Path("ids").write_text("u9\ta\n")
    Path("w").write_text('{"weights": [1, 2]}')
    assert_refused(cli("rescore", made["mkn"].path, "lists", *options), expected)
