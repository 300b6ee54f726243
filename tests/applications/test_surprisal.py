"""Surprisal: figures equal the model's own, patterns are distributions, tables of stimuli, mistakes in a sentence."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.support.corpora import corpus_of, toy_text
from tests.support.made_models import ESTIMATORS, trained
from tests.support.made_tokenisers import RAW, sentencepiece_file, tokenizer_json
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram import Model
from gapgram.applications.surprisal.measures import BITS, Measures, pattern_scores, word_frequencies
from gapgram.applications.surprisal.stimuli import Region, Stimulus, StimulusColumns, joined
from gapgram.applications.surprisal.table import cut
from gapgram.errors import TextError
from gapgram.text.splitting import split_marks

TEXT = toy_text(1200, seed=5, vocabulary=800)  # of the fixture `made`


@pytest.mark.parametrize("kind", [*ESTIMATORS, "custom"])
def test_the_surprisal_of_a_word_is_the_models(made: dict[str, Model], kind: str) -> None:
    model, sentence = made[kind], "w1 w2 nowhere w3"
    table = gapgram.surprisal(model, sentences=[sentence], measures=Measures(end=True))
    assert [row[4] for row in table.rows] == pytest.approx((-BITS * model.scores(sentence)).tolist())
    assert [row[3] for row in table.rows] == ["w1", "w2", "nowhere", "w3", "</s>"]
    assert [row[5] for row in table.rows] == [True, True, False, True, True]
    assert table.about["model"] == str(model.signature)


@pytest.mark.parametrize("kind", [*ESTIMATORS, "custom"])
def test_frequencies_are_those_of_the_text(made: dict[str, Model], kind: str) -> None:
    found, corpus = word_frequencies(made[kind]), corpus_of(TEXT)
    assert found is not None
    assert found[3:].tolist() == corpus.word_counts[3:].tolist()


def test_unknown_words_have_no_frequency() -> None:
    rules = gapgram.TextRules(min_count=10)  # c is <unk>
    model = gapgram.train(sentences=["a b a", "b a c"] * 9, order=2, model="mkn", rules=rules)
    rows = gapgram.surprisal(model, sentences=["a c gnu"]).rows
    assert [row[6] for row in rows] == [27, 0, 0]


def test_models_that_do_not_tell_frequencies(made: dict[str, Model], tmp_path: Path) -> None:
    pruned = made["mkn"].pruned(counts="0,0,1")
    gapgram.write_arpa(made["mkn"], tmp_path / "arpa")
    for model in (pruned, gapgram.load(tmp_path / "arpa")):
        table = gapgram.surprisal(model, sentences=["w1 w2"])
        assert [row[6] for row in table.rows] == [None, None]
        assert table.about["frequency"] == "empty: this model does not tell"


@pytest.mark.parametrize("kind", [*ESTIMATORS, "custom"])
def test_each_pattern_is_a_distribution(made: dict[str, Model], kind: str) -> None:
    model = made[kind]
    context = model.vocabulary.ids(["<s>", "w1", "w2", "w7"])
    words = [i for i in range(len(model.vocabulary)) if i != 1]
    sums = sum(
        10 ** pattern_scores(model.parts.arrays, np.append(context, np.int32(i)).astype(np.int32))[:, -1] for i in words
    )
    of_lattice = [model.counts.index(pattern) for pattern in model.counts.lattice.patterns]
    assert np.asarray(sums)[of_lattice].tolist() == pytest.approx([1.0] * len(of_lattice))


def test_the_longest_pattern_of_a_chain_is_the_model(made: dict[str, Model]) -> None:
    model = made["mkn"]
    table = gapgram.surprisal(model, sentences=["w1 w2 w3 w4 w5"], measures=Measures(patterns=True, lengths=True))
    places = {name: i for i, name in enumerate(table.columns)}
    last = table.rows[-1]
    assert last[places["pattern_1111"]] == pytest.approx(last[places["surprisal"]])
    assert last[places["last_3"]] == pytest.approx(last[places["surprisal"]])
    assert last[places["last_1"]] == pytest.approx(last[places["pattern_11"]])
    assert math.isnan(table.rows[0][places["pattern_111"]])


def test_lengths_are_shorter_contexts(made: dict[str, Model]) -> None:
    model = made["learned"]
    table = gapgram.surprisal(model, sentences=["w1 w2 w3 w4"], measures=Measures(lengths=True))
    found = dict(zip(table.columns, table.rows[-1], strict=True))
    for length in range(model.order):
        context = ["w1", "w2", "w3"][3 - length :]
        assert found[f"last_{length}"] == pytest.approx(-BITS * model.log10_prob("w4", context))


def test_entropy_is_that_of_the_distribution(made: dict[str, Model]) -> None:
    model = made["learned"]
    table = gapgram.surprisal(model, sentences=["w1 w2"], measures=Measures(entropy=True))
    for row, context in zip(table.rows, (["<s>"], ["<s>", "w1"]), strict=True):
        chances = model.distribution(context)
        assert row[7] == pytest.approx(-sum(p * math.log2(p) for p in chances.tolist() if p))


def test_a_first_word_without_context(made: dict[str, Model]) -> None:
    table = gapgram.surprisal(made["mkn"], sentences=["w1 w2"], measures=Measures(start=False, entropy=True))
    assert table.rows[0][4] == pytest.approx(-BITS * made["mkn"].log10_prob("w1"))
    assert table.about["first word"] == "predicted without context"


def test_unknown_words_left_empty(made: dict[str, Model]) -> None:
    rows = gapgram.surprisal(made["mkn"], sentences=["w1 nowhere"], unknown="empty").rows
    assert (rows[0][4] is None, rows[1][4], rows[1][5]) == (False, None, False)


# Punctuation and regions


ODD = ['"', "'s", "#", "NA", 'a"b', "x,y", "1"]


def test_readers_of_tables_take_every_row(made: dict[str, Model], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = gapgram.surprisal(made["mkn"], sentences=[ODD, ["w1"]])
    table.write(tmp_path / "t.tsv")
    table.write(tmp_path / "t.csv", format="csv")
    table.write(tmp_path / "t.jsonl", format="jsonl")
    # As R's read.table has it: both kinds of quotation marks, # begins a comment.
    lines = (tmp_path / "t.tsv").read_text().splitlines()
    assert all(line.count("\t") == len(table.columns) - 1 for line in lines)
    assert all(cell.startswith('"') for line in lines for cell in line.split("\t") if {*cell} & {*"#'\""})
    for frame in (
        pandas.read_csv(tmp_path / "t.tsv", sep="\t", keep_default_na=False),
        pandas.read_csv(tmp_path / "t.csv", keep_default_na=False),
        pandas.read_json(tmp_path / "t.jsonl", lines=True),
    ):
        assert frame["word"].astype(str).tolist() == [*ODD, "w1"]
        assert frame["surprisal"].tolist() == pytest.approx([row[4] for row in table.rows], abs=1e-5)
    assert "signature" not in lines[0] and (tmp_path / "t.tsv.about.txt").read_text().startswith("model: ")


def test_unknown_words_are_counted_and_named(cli: Cli, made: dict[str, Model], tmp_path: Path) -> None:
    ran = cli("surprisal", made["mkn"].path, "-o", tmp_path / "t", stdin=b"w1 emu w2 emu gnu\n")
    assert ran.err == f"{tmp_path / 't'} written: 5 rows\n3 of 5 words are unknown (60.0%): emu, gnu\n"
    with_marks = trained(["w1 w2 . w3 , w1"] * 9, order=2, model="mkn", output=tmp_path / "m")
    ran = cli("surprisal", with_marks.path, stdin=b"w1. w2 w3,\n")
    assert "most touch a punctuation mark that the model knows by itself: --punctuation join, or split" in ran.err
    assert "unknown" not in cli("surprisal", with_marks.path, "--punctuation", "join", stdin=b"w1. w2 w3,\n").err


def test_a_table_is_not_taken_for_prose(cli: Cli, made: dict[str, Model], tmp_path: Path) -> None:
    tables = {"s.csv": "item,the sentence\n1,w1 w2\n", "text": "item,condition,sentence,RT\n1,a,w1 w2,3\n"}
    for name, data in tables.items():
        (tmp_path / name).write_text(data)
        ran = cli("surprisal", made["mkn"].path, tmp_path / name)
        assert_refused(ran, f"{name}: looks like a table, whose first line names the columns item, ")
        assert "name the one of the sentences (--text-column)" in ran.err
    (tmp_path / "prose").write_text("Yes,no\nw1 w2\n")
    assert cli("surprisal", made["mkn"].path, tmp_path / "prose").code == 0


def test_conditions_of_an_item_stay_apart(cli: Cli, made: dict[str, Model], tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("item,condition,sentence\n1,a,w1 w2\n1,b,w1 w3\n2,a,w1\n")
    ran = cli("surprisal", made["mkn"].path, path, "--text-column", "sentence", "--format", "csv")
    rows = list(csv.DictReader(ran.out.splitlines()))
    assert [(r["item"], r["sentence"], r["word"], r["condition"]) for r in rows] == [
        ("1", "1", "w1", "a"), ("1", "1", "w2", "a"),
        ("1", "2", "w1", "b"), ("1", "2", "w3", "b"),
        ("2", "1", "w1", "a"),
    ]  # fmt: skip
    path.write_text("Item,condition,word\n1,a,w1\n1,a,w2\n1,b,w1\n1,b,w3\n")
    ran = cli("surprisal", made["mkn"].path, path, "--region-column", "word", "--format", "csv")
    assert ran.code == 0, ran
    rows = list(csv.DictReader(ran.out.splitlines()))
    assert [(r["item"], r["sentence"], r["position"]) for r in rows] == [
        ("1", "a", "1"), ("1", "a", "2"), ("1", "b", "1"), ("1", "b", "2"),
    ]  # fmt: skip


def test_marks_and_words() -> None:
    assert split_marks('"so-called"') == ['"', "so-called", '"']
    assert joined(["He", ",", "(", "too", ")", "!"]) == [["He", ","], ["(", "too", ")", "!"]]
    assert joined(["("]) == [["("]]


def test_marks_count_with_the_word_that_they_touch(made: dict[str, Model]) -> None:
    model = made["mkn"]
    apart = gapgram.surprisal(model, sentences=["w1, w2"], punctuation="split").rows
    together = gapgram.surprisal(model, sentences=["w1, w2"], punctuation="join").rows
    assert [row[3] for row in apart] == ["w1", ",", "w2"]
    assert [row[3] for row in together] == ["w1,", "w2"]
    assert together[0][4] == pytest.approx(apart[0][4] + apart[1][4])


def test_a_table_with_a_sentence_a_row(made: dict[str, Model], tmp_path: Path) -> None:
    path = tmp_path / "stimuli.csv"
    path.write_text('item,sentence,condition\n7,w1 w2|w3,"a, b"\n8,w4|w5,c\n')
    columns = StimulusColumns(text="sentence", item="item", separator="|")
    table = gapgram.surprisal(made["mkn"], path, columns=columns)
    scores = -BITS * made["mkn"].scores("w1 w2 w3")
    assert table.columns == (*gapgram.surprisal(made["mkn"], sentences=["w1"]).columns, "condition")
    assert [(row[0], row[2], row[3], row[-1]) for row in table.rows] == [
        ("7", 1, "w1 w2", "a, b"), ("7", 2, "w3", "a, b"), ("8", 1, "w4", "c"), ("8", 2, "w5", "c"),
    ]  # fmt: skip
    assert table.rows[0][4] == pytest.approx(scores[:2].sum())
    assert table.rows[1][4] == pytest.approx(scores[2])


def test_a_table_with_a_region_a_row(made: dict[str, Model], tmp_path: Path) -> None:
    path = tmp_path / "stimuli.tsv"
    path.write_text("item\tword\ttime\n1\tw1\t300\n1\tw2 w3\t410\n2\tw4\t290\n")
    table = gapgram.surprisal(made["mkn"], path, columns=StimulusColumns(region="word", item="item"))
    scores = -BITS * made["mkn"].scores("w1 w2 w3")
    assert [(row[0], row[2], row[-1]) for row in table.rows] == [("1", 1, "300"), ("1", 2, "410"), ("2", 1, "290")]
    assert table.rows[1][4] == pytest.approx(scores[1:3].sum())


# The command


def test_the_command_writes_tables(cli: Cli, made: dict[str, Model], tmp_path: Path) -> None:
    path = made["learned"].path
    ran = cli("surprisal", path, stdin=b"w1 w2\nw3\n\nw4\n")
    assert (ran.code, ran.err) == (0, "")
    rows = list(csv.DictReader(ran.out.splitlines(), delimiter="\t"))
    assert [(row["item"], row["sentence"], row["word"]) for row in rows] == [
        ("1", "1", "w1"), ("1", "1", "w2"), ("1", "2", "w3"), ("2", "1", "w4"),
    ]  # fmt: skip
    for name, read in (("t.csv", csv_rows), ("t.jsonl", json_rows)):
        ran = cli("surprisal", path, "-o", tmp_path / name, "--entropy", stdin=b"w1 w2\nw3\n\nw4\n")
        assert (ran.code, ran.out, ran.err) == (0, "", f"{tmp_path / name} written: 4 rows\n")
        found = read(tmp_path / name)
        about = (tmp_path / f"{name}.about.txt").read_text().splitlines()
        assert about[0] == f"model: {made['learned'].signature}"
        assert "first word: predicted after <s>" in about and "end: not in the table" in about
        assert [float(row["surprisal"]) for row in found] == [float(row["surprisal"]) for row in rows]
        assert all(float(row["entropy"]) > 0 for row in found)


def csv_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def json_rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_frame_has_the_same_rows(made: dict[str, Model]) -> None:
    pytest.importorskip("pandas")
    table = gapgram.surprisal(made["mkn"], sentences=["w1 w2"])
    frame = table.frame()
    assert list(frame.columns) == list(table.columns)
    assert frame["surprisal"].tolist() == [row[4] for row in table.rows]
    assert frame.attrs["model"] == str(made["mkn"].signature)


def test_a_table_of_ones_own(made: dict[str, Model], tmp_path: Path) -> None:
    table = gapgram.surprisal(made["mkn"], sentences=["w1 w2"])
    table.write(tmp_path / "t.tsv")
    assert (tmp_path / "t.tsv").read_text().splitlines()[-1].startswith("1\t1\t2\tw2\t")


@pytest.mark.parametrize(("data", "options", "expected"), [
    (b"w1 <s>\n", [], "text:1: the word <s> is the model's own: leave it out"),
    (b"w1\nw\xff\n", [], "text:2: byte 2 of the line (0xff) is not valid UTF-8"),
    (b"a,b\n1,w1\n", ["--text-column", "c"], "text:1: the column 'c' is not there: there are a, b"),
    (b"b,b\n1,w1\n", ["--text-column", "b"], "text:1: the column 'b' is there more than once"),
    (b"", ["--text-column", "b"], "text:1: the column 'b' is not there: there are none"),
    (b"a,b\n1\n", ["--text-column", "b"], "text:2: 1 cells, the first line names 2 columns"),
    (b'a,b\n1,"w1\n', ["--text-column", "b"], "text:2: not a row of a table: unexpected end of data"),
    (b"a,word\nw1,2\n", ["--text-column", "a"], "the column 'word' of the stimuli has the name of a column of the"),
    (b"a,Word,item,item\nw1,2,3,4\n", ["--text-column", "a"], "the column 'item' is there more than once"),
    (b"a,b\n1,w1\n", ["--region-column", "b"], "regions need the column of items or of sentences, which tells"),
    (b"a,b\n", ["--text-column", "a", "--region-column", "b"], "or the column of regions, one of the two"),
    (b"a,b\n", ["--item-column", "a"], "name its column of sentences (--text-column) or regions (--region-column)"),
    (b"a,b\n", ["--text-column", "a", "--separator", " "], "separator ' ': expected a mark between"),
    (b"w1\n", ["-o", "none/t"], "none does not exist; make it first"),
    (b"w1\n", ["-o", "text"], "text: is read and would be replaced"),
])  # fmt: skip
def test_mistakes(
    cli: Cli, made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, options: list[str],
    expected: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("text").write_bytes(data)
    ran = cli("surprisal", made["mkn"].path, "text", "-o", "t", *options)
    assert_refused(ran, expected)
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_a_history_is_never_replaced_by_a_table(
    cli: Cli, made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("text", "read"):
        Path(name).write_text("w1 w2\n")
    ran = cli("surprisal", made["mkn"].path, "text", "--history", "read", "-o", "read")
    assert_refused(ran, "read: is read and would be replaced")
    assert Path("read").read_text() == "w1 w2\n"


def test_mistakes_in_python(made: dict[str, Model], tmp_path: Path) -> None:
    model = made["mkn"]
    with pytest.raises(gapgram.UsageError, match="give a text file or sentences, one of the two"):
        gapgram.surprisal(model)
    with pytest.raises(gapgram.UsageError, match="punctuation 'off': expected as-is, split, join"):
        gapgram.surprisal(model, sentences=["w1"], punctuation="off")
    with pytest.raises(gapgram.UsageError, match="unknown words 'drop': expected score or empty"):
        gapgram.surprisal(model, sentences=["w1"], unknown="drop")
    with pytest.raises(gapgram.UsageError, match="sentence 1: a word of a list may not be empty or hold white space"):
        gapgram.surprisal(model, sentences=[["w1 w2"]])
    with pytest.raises(gapgram.UsageError, match="format 'xls': expected tsv, csv, jsonl"):
        gapgram.surprisal(model, sentences=["w1"]).write(tmp_path / "t", format="xls")
    gapgram.write_arpa(model, tmp_path / "arpa")
    with pytest.raises(gapgram.UsageError, match="patterns are those of a model that gapgram has trained"):
        gapgram.surprisal(gapgram.load(tmp_path / "arpa"), sentences=["w1"], measures=Measures(patterns=True))


@pytest.mark.parametrize("kind", ["chars", "sentencepiece", "tokenizers", "byte_level"])
def test_of_raw_text_a_word_costs_what_its_tokens_do(kind: str, tmp_path: Path) -> None:
    files: dict[str, Callable[[], Path | str]] = {
        "chars": lambda: "chars",
        "sentencepiece": lambda: sentencepiece_file(tmp_path / "pieces"),
        "tokenizers": lambda: tokenizer_json(tmp_path / "json"),
        "byte_level": lambda: tokenizer_json(tmp_path / "json", byte_level=True),
    }
    model = trained(RAW, order=3, model="mkn", tokenizer=files[kind]())
    line = "The dog didn't see Viktor ."
    table = gapgram.surprisal(model, sentences=[line], measures=Measures(end=True))
    assert [row[3] for row in table.rows] == [*line.split(), "</s>"]
    costs = [row[4] for row in table.rows]
    assert min(costs) > 0 and sum(costs) == pytest.approx(-BITS * model.score(line), abs=1e-6)
    tokens = model.tokens("The")
    assert costs[0] == pytest.approx(-BITS * model.scores(tokens)[: len(tokens)].sum(), abs=1e-6)
    assert "tokens" in table.about


def test_a_tokeniser_that_joins_words_is_refused() -> None:
    whole = SimpleNamespace(encode=lambda text: [text] if text else [])
    with pytest.raises(TextError, match=r"item 1, sentence 1: .* joins 'a' with what comes after it"):
        list(cut([Stimulus("1", "1", [Region("a", ("a",)), Region("b", ("b",))])], whole))  # type: ignore[arg-type]
