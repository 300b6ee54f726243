"""Marks cut off words: by a rule, by what a model knows, the same by every door."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram.applications.filtering.documents import DocumentScorer
from gapgram.text.splitting import Splitter
from gapgram.text.vocabulary import Vocabulary

CUT = ["the cat sat , and did n't run .", "the U.S. dog 's mat ( in 1914 - 18 ) .", '" a cat " sat .'] * 9
RAW = "The dog didn't sit (in the U.S.), and the cat's “mat” ran."
CUT_RAW = """The dog did n't sit ( in the U.S. ) , and the cat 's " mat " ran ."""
WORDS = CUT_RAW.split()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> gapgram.Model:
    folder = tmp_path_factory.mktemp("split")
    return gapgram.train(sentences=CUT, order=3, model="mkn", split="done", output=folder / "cut.model")


@pytest.mark.parametrize(
    "raw, words",
    [
        ("city.", "city ."),
        ("(the U.S.), e.g. this", "( the U.S. ) , e.g. this"),
        ("didn't so-called 3.5", "didn't so-called 3.5"),
        ("wait... what?!", "wait ... what ? !"),
        ("<s> <unk> a", "<s> <unk> a"),
        (" \t ", ""),
        ("$5 50%", "$5 50 %"),
    ],
)
def test_a_rule_cuts_text_to_train_on(raw: str, words: str) -> None:
    assert Splitter().words(raw) == words.split()


@given(st.lists(st.text("aB.,'’(-)\"5 <s>/", max_size=12), max_size=4))
def test_text_that_is_cut_stays_as_it_is(pieces: list[str]) -> None:
    text = " ".join(pieces)
    once = Splitter().words(text)
    assert Splitter().words(" ".join(once)) == once
    known = Splitter(Vocabulary.of(list(dict.fromkeys(w for w in once if w not in ("<s>", "</s>")))))
    assert known.words(text) == once  # what a model of such text knows is cut no other way
    assert "".join(once) == "".join(text.split())


def test_what_a_vocabulary_knows_is_kept_and_looked_for() -> None:
    cut = Splitter(Vocabulary.of(["ca.", "is", "n't", "l'", "uso", "-", "1914", "18", "$", "n", "'t", "..."]))
    assert cut.words("(ca. isn’t) l'uso 1914–18 $18 well-known wait…") == [
        "(", "ca.", "is", "n't", ")", "l'", "uso", "1914", "-", "18", "$", "18", "well-known", "wait", "...",
    ]  # fmt: skip


def test_one_figure_by_every_door(model: gapgram.Model, tmp_path: Path, cli: Cli) -> None:
    assert model.tokens(RAW) == WORDS
    score = model.score(WORDS)
    assert model.score(RAW) == score == model.score(" ".join(WORDS))
    assert model.score_many([RAW, WORDS], threads=1).tolist() == [score, score]
    assert model.scores(RAW).size == len(WORDS) + 1
    assert model.perplexity(sentences=[RAW]).log10_prob == pytest.approx(score)
    assert DocumentScorer(model).score([RAW])[0].log10_prob == pytest.approx(score)
    assert model.session().score(RAW) == pytest.approx(score)
    text = tmp_path / "raw.txt"
    text.write_text(f"{RAW}\n")
    for way in ((), ("--punctuation", "join")):
        table = cli("surprisal", model.path, text, "--end", "--format", "jsonl", "--no-about", *way)
        assert table.code == 0
        bits = [float(line.partition('"surprisal": ')[2].partition(",")[0]) for line in table.out.splitlines()]
        assert sum(bits) == pytest.approx(-score * 3.321928094887362, abs=1e-4)
    assert float(cli("score", model.path, text).out.split()[0]) == pytest.approx(score, abs=1e-5)
    assert [p.word for p in model.predict("didn't", k=1)] == [p.word for p in model.predict(["did", "n't"], k=1)]
    context = cli("predict", model.path, "the cat didn't", "--json").json["context"]
    assert context == ["the", "cat", "did", "n't"]


def test_the_file_and_the_signature_say_it(model: gapgram.Model, tmp_path: Path) -> None:
    assert model.path is not None
    again = gapgram.load(model.path)
    assert again.splitting == "marks" and "|splitting:marks|" in str(again.signature)
    plain = model.with_splitting("", output=tmp_path / "plain.model")
    assert plain.splitting == "" and "splitting" not in str(plain.signature)
    assert model.pruned(counts="0,0,1").splitting == model.with_layout("compact").splitting == "marks"
    assert plain.score(WORDS) == model.score(WORDS)
    assert plain.score(RAW) != model.score(RAW)


def test_raw_text_is_cut_before_it_is_counted(tmp_path: Path, cli: Cli) -> None:
    text = tmp_path / "raw.txt"
    text.write_text("The cat sat, and ran.\n(A dog sat.)\n" * 9)
    assert cli("train", text, "-o", tmp_path / "m", "--split", "raw", "-n", "2", "--model", "mkn", "-q").code == 0
    model = gapgram.load(tmp_path / "m")
    assert list(model.vocabulary)[3:] == list(gapgram.load(tmp_path / "m").vocabulary)[3:]
    assert set(model.vocabulary) >= {"sat", ",", "ran", ".", "(", ")"}
    assert model.perplexity(text).unknown_words == 0


def test_about_says_it_of_a_model_that_is_there(models: dict[str, gapgram.Model], tmp_path: Path, cli: Cli) -> None:
    assert cli("about", models["mkn"].path, "--split", "marks", "-o", tmp_path / "m").code == 0
    assert gapgram.load(tmp_path / "m").splitting == "marks"
    assert cli("about", tmp_path / "m", "--split", "none", "-o", tmp_path / "n").code == 0
    assert gapgram.load(tmp_path / "n").splitting == ""
    assert_refused(cli("about", tmp_path / "m", "--split", "none"), "name a file to write (-o NEW)")


def test_mistakes(model: gapgram.Model, models: dict[str, gapgram.Model]) -> None:
    with pytest.raises(gapgram.UsageError, match=r"expected raw .* or done"):
        gapgram.train(sentences=CUT, split="yes")
    with pytest.raises(gapgram.UsageError, match="a tokeniser cuts marks off words itself"):
        gapgram.train(sentences=CUT, split="raw", tokenizer="chars")
    with pytest.raises(gapgram.UsageError, match="expected 'marks', of a model without a tokeniser"):
        model.with_splitting("words")
    with pytest.raises(gapgram.UsageError, match="say of both what their text was like"):
        gapgram.Mixture([model, models["mkn"]], [0.5, 0.5])


def test_the_service_shows_words_as_they_are_written(model: gapgram.Model) -> None:
    pytest.importorskip("fastapi")
    from gapgram.web.pool import Deadline
    from gapgram.web.requests import PredictQuestion, ScoreQuestion
    from gapgram.web.served import ServedModel

    served = ServedModel("m", model)
    scores = served.score(ScoreQuestion(model="m", text=f"{RAW}\nthe cat"), Deadline.never())
    assert scores.sentences[0].words == [*RAW.split(), "</s>"]
    assert sum(scores.sentences[0].log10_probs) == pytest.approx(model.score(RAW))
    figure = model.perplexity(sentences=[RAW, "the cat"])
    assert (scores.words, scores.unknown_words) == (figure.words, figure.unknown_words)
    assert (scores.perplexity, scores.perplexity_known) == pytest.approx((figure.perplexity, figure.perplexity_known))
    answer = served.predict(PredictQuestion(model="m", context="the cat didn't", k=1))
    assert answer.predictions[0].word == model.predict(["cat", "did", "n't"], k=1)[0].word
