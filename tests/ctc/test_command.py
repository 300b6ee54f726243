"""gapgram decode: logits in files to text, and weights tuned on logits whose texts are known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.ctc.test_decoder import LABELS, logits_of

from gapgram import Model
from gapgram.applications.decoding.tuning import tune_weights
from gapgram.ctc import Decoder
from gapgram.ctc.files import read_hot_words, read_labels, read_logits
from gapgram.errors import GapgramError, TextError, TextFileError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
Cli = Callable[..., Any]


@pytest.fixture
def files(made: dict[str, Model], tmp_path: Path) -> dict[str, Path]:
    np.savez(tmp_path / "x.npz", one=logits_of(len(LABELS), 1, 12), two=logits_of(len(LABELS), 2, 12))
    (tmp_path / "labels.json").write_text(json.dumps(LABELS))
    (tmp_path / "hot").write_text("w12\t5\nw3\n")
    return {"model": Path(str(made["mkn"].path)), **{path.stem: path for path in tmp_path.iterdir()}}


def test_texts(cli: Cli, made: dict[str, Model], files: dict[str, Path]) -> None:
    decoder = Decoder(LABELS, made["mkn"])
    ran = cli("decode", files["model"], files["x"], "--labels", files["labels"])
    expected = [decoder.decode(logits_of(len(LABELS), seed, 12)) for seed in (1, 2)]
    assert (ran.code, ran.out) == (0, f"one\t{expected[0]}\ntwo\t{expected[1]}\n")
    ran = cli("decode", files["model"], files["x"], "--labels", files["labels"], "--hot-words", files["hot"], "--json")
    first = json.loads(ran.out.splitlines()[0])
    best = decoder.decode_beams(logits_of(len(LABELS), 1, 12), {"w12": 5.0, "w3": 10.0}, distinct=True)[0]
    assert (first["id"], first["text"], first["total"]) == ("one", best.text, pytest.approx(best.total))


def test_lists_are_rescored(cli: Cli, files: dict[str, Path], tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    ran = cli("decode", files["model"], files["x"], "--labels", files["labels"], "--nbest", 5, "-o", lists, "--known")
    assert ran.code == 0 and 2 < len(lists.read_text().splitlines()) <= 10
    ran = cli("rescore", files["model"], lists)
    assert ran.code == 0 and [line.split("\t")[0] for line in ran.out.splitlines()] == ["one", "two"]


def test_weights_are_tuned(cli: Cli, made: dict[str, Model], files: dict[str, Path], tmp_path: Path) -> None:
    decoder = Decoder(LABELS, made["mkn"])
    sounds = [logits_of(len(LABELS), seed, 12) for seed in (1, 2)]
    said = [decoder.decode(one, alpha=0.8, beta=2.0) for one in sounds]
    tuned = tune_weights(decoder, sounds, said, alphas=(0.1, 0.8), betas=(-3.0, 2.0))
    assert tuned.rates[1, 1] == 0.0 == tuned.rates.min()
    (tmp_path / "said").write_text("\n".join(["w1 w2", "w2", ""]))
    ran = cli("decode", files["model"], files["x"], "--labels", files["labels"], "--tune", tmp_path / "said", "--json")
    assert np.array(json.loads(ran.out)["rates"]).shape == (6, 5)
    options = ["--tune", tmp_path / "said", "--picture", tmp_path / "grid.svg"]
    ran = cli("decode", files["model"], files["x"], "--labels", files["labels"], *options)
    assert "fewest word errors" in ran.out
    drawn = ElementTree.fromstring((tmp_path / "grid.svg").read_text())
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}rect"))) == 1 + 6 * 5
    with pytest.raises(UsageError, match="2 utterances and 1 references: expected a text for each"):
        tune_weights(decoder, sounds, ["w1"])
    with pytest.raises(UsageError, match="references without a word"):
        tune_weights(decoder, sounds, ["", " "])


@pytest.mark.parametrize(("options", "said"), [
    (["--nbest", 0], "--nbest 0: expected 1 or more"),
    (["--picture", "x.svg"], "--picture shows what --tune finds"),
    (["--known", "--unknown", -3], "--known or --unknown, one of the two"),
    (["--alpha", -1], "alpha -1.0: expected the weight of the model"),
], ids=str)  # fmt: skip
def test_mistakes(cli: Cli, files: dict[str, Path], options: list[Any], said: str) -> None:
    ran = cli("decode", files["model"], files["x"], "--labels", files["labels"], *options)
    assert ran.code == 2 and said in ran.err


def test_bad_logits_and_labels(cli: Cli, files: dict[str, Path], tmp_path: Path) -> None:
    """One sentence that says where, and nothing is written."""
    good, empty = logits_of(len(LABELS), 1, 4), np.zeros((0, len(LABELS)))
    (tmp_path / "two").write_text(json.dumps(["", "<pad>", *LABELS[2:]]))
    (tmp_path / "others").write_text(json.dumps(["", *"abcdefghijkl"]))
    (tmp_path / "naive").write_text("naïve\n")
    np.savez(tmp_path / "x.npz", good=good, empty=empty)
    for labels, hot, said in (
        ("two", "hot", "may each be the blank; name it"), ("others", "hot", "spell no word of the model"),
        ("labels.json", "naive", "hot word 'naïve': no label has the letter 'n'"),
    ):  # fmt: skip
        ran = cli("decode", files["model"], files["x"], "--labels", tmp_path / labels, "--hot-words", tmp_path / hot)
        assert ran.code == 2 and said in ran.err and ran.out == "" and len(ran.err.splitlines()) == 1
    ran = cli("decode", files["model"], files["x"], "--labels", files["labels"], "--beam", 1)
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == ["good", "empty"] and ran.out.endswith("empty\t\n")
    for bad, said in ((good * np.nan, "frame 0: the highest is nan"), (good[:, :5], "5 columns for 13 labels")):
        np.savez(tmp_path / "x.npz", good=good, bad=bad)
        written = tmp_path / "texts"
        ran = cli("decode", files["model"], files["x"], "--labels", files["labels"], "-o", written)
        assert ran.code == 2 and "x.npz: bad: logits of " in ran.err and said in ran.err and not written.exists()


def test_files_of_logits(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text('{"logits": [[0, 1]]}\n\n{"id": "b", "logits": [[1, 0], [0, 1]]}\n')
    assert [(name, one.shape) for name, one in read_logits(file)] == [("1", (1, 2)), ("b", (2, 2))]
    np.save(tmp_path / "y.npy", np.zeros((3, 2)))
    assert [(name, one.shape) for name, one in read_logits(tmp_path / "y.npy")] == [("y", (3, 2))]
    for content, said in (
        (b"no json", "x:1: .*expected JSON with"), (b'{"id": 1}', "x:1: "), (b"[]", "x:1: "),
        (b"PK\x03\x04broken", "no whole file of arrays"), (b"\x93NUMPY\x01\x00", "no whole file of arrays"),
    ):  # fmt: skip
        file.write_bytes(content)
        with pytest.raises(GapgramError, match=said):
            list(read_logits(file))
    with pytest.raises(GapgramError, match="no such file"):
        list(read_logits(tmp_path / "nowhere"))
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object))
    with pytest.raises(GapgramError, match="no whole file of arrays"):
        list(read_logits(tmp_path / "objects.npz"))


def test_files_that_are_damaged_or_would_forge_lines_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "y.npz"
    np.savez_compressed(file, one=np.ones((60, 30)))
    data = bytearray(file.read_bytes())
    data[len(data) // 3 : len(data) // 3 + 9] = b"\xff" * 9
    file.write_bytes(data)
    with pytest.raises(TextFileError, match=r"no whole file of arrays"):
        list(read_logits(file))
    lines = tmp_path / "y.jsonl"
    lines.write_text('{"id": "a\\nb\\tforged", "logits": [[0.0]]}\n')
    with pytest.raises(TextError, match=r"id 'a.nb.tforged': expected no tab"):
        list(read_logits(lines))
    for odd in ("[" * 100_000, '{"logits": [[' + "9" * 400 + "]]}"):
        lines.write_text(odd)
        with pytest.raises(TextError, match=r"expected JSON with"):
            list(read_logits(lines))


def test_files_of_labels_and_hot_words(tmp_path: Path) -> None:
    file = tmp_path / "x"
    for content, expected in (
        ('["a", " "]', ["a", " "]), ("a\n \nb\n", ["a", " ", "b"]), ('{"b": 1, "a": 0}', ["a", "b"]),
        ("[\na\n", ["[", "a"]),
    ):  # fmt: skip
        file.write_text(content)
        assert read_labels(file) == expected
    file.write_text('{"labels": ["a", ""], "is_bpe": false}')
    assert Decoder(read_labels(file)).alphabet.texts == ("a", "")
    for content, said in (('{"a": 0, "b": 5}', "other than 0 to 1"), ('{"labels": 3}', "expected a list of labels")):
        file.write_text(content)
        with pytest.raises(GapgramError, match=said):
            read_labels(file)
    file.write_bytes(b"\xff")
    with pytest.raises(GapgramError, match="labels that are not UTF-8"):
        read_labels(file)
    file.write_text("new york\t3\n\nrome\n")
    assert read_hot_words(file, 2.0) == {"new york": 3.0, "rome": 2.0}
    file.write_text("a\nb\tmuch\n")
    with pytest.raises(GapgramError, match="x:2: weight 'much': expected a number after the tab"):
        read_hot_words(file, 2.0)
