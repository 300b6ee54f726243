"""Commands with models that hold a tokeniser: raw text in and out, and each mistake in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from tests.support.made_models import trained
from tests.support.made_tokenisers import RAW, sentencepiece_file
from tests.support.running import Ran, assert_refused

from gapgram.errors import UsageError
from gapgram.system.work_folder import WorkFolder

Cli = Callable[..., Ran]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text, a model of it, of characters, and one of words."""
    made = tmp_path_factory.mktemp("tokenised")
    (made / "text").write_text("\n".join([*RAW, ""]))
    trained(RAW, order=6, model="mkn", tokenizer="chars", output=made / "chars.model")
    trained(RAW, order=2, model="mkn", output=made / "words.model")
    return made


def test_training_keeps_the_tokeniser_and_says_so(cli: Cli, folder: Path, tmp_path: Path) -> None:
    tokenizer = sentencepiece_file(tmp_path / "pieces.model")
    ran = cli("train", folder / "text", "-o", tmp_path / "m", "-n", 3, "--model", "mkn", "--tokenizer", tokenizer)
    assert ran.code == 0
    processor = import_module("sentencepiece").SentencePieceProcessor(model_file=str(tokenizer))
    n_tokens = sum(len(processor.encode(line)) for line in RAW)  # one version of the package learns other pieces
    assert f"{n_tokens} tokens in {len(RAW)} sentences" in ran.err
    assert "\ntokenizer           sentencepiece@" in cli("info", tmp_path / "m").out
    assert json.loads(cli("info", tmp_path / "m", "--json").out)["tokenizer"].startswith("sentencepiece@")
    card = cli("card", tmp_path / "m").out
    assert "It takes raw text: the model holds its tokeniser, sentencepiece@" in card
    assert cli("arpa", tmp_path / "m", "-o", tmp_path / "m.arpa", "--encoding", "nemo").code == 0
    assert "\tg\t" in (tmp_path / "m.arpa").read_text("utf-8")


def test_perplexity_prints_figures_per_word_and_byte(cli: Cli, folder: Path) -> None:
    out = cli("perplexity", folder / "chars.model", folder / "text").out
    names = [line[:26].rstrip() for line in out.splitlines()]
    assert names == [
        "perplexity", "without unknown tokens", "tokens", "unknown tokens", "sentences", "words",
        "perplexity per word", "bytes", "perplexity per byte", "bits per byte", "log10 probability", "signature",
    ]  # fmt: skip
    assert f"bytes                     {(folder / 'text').stat().st_size:,}" in out
    learned = cli("perplexity", folder / "chars.model", folder / "text", "--learn").out
    assert "bits per byte" in learned


def test_text_may_be_tokens_already(cli: Cli, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cut").write_text("t h e ▁ c a t\n")
    (tmp_path / "raw").write_text("the cat\n")
    raw = cli("score", folder / "chars.model", tmp_path / "raw", "--words")
    assert raw.out.startswith("t\t")
    assert cli("score", folder / "chars.model", tmp_path / "cut", "--words", "--tokens") == raw
    cut = cli("perplexity", folder / "chars.model", tmp_path / "cut", "--tokens").out
    assert "bits per byte" not in cut
    assert cli("perplexity", folder / "chars.model", tmp_path / "raw").out.splitlines()[0] == cut.splitlines()[0]
    told = cli("predict", folder / "chars.model", "the ca")
    assert cli("predict", folder / "chars.model", "t h e ▁ c a", "--tokens") == told
    for command in ("score", "perplexity"):
        ran = cli(command, folder / "words.model", tmp_path / "raw", "--tokens")
        assert_refused(ran, "--tokens is for models that hold a tokeniser")


def test_whole_words_are_predicted(cli: Cli, folder: Path) -> None:
    assert cli("predict", folder / "chars.model", "the cat", "-k", 1).out.split()[2] in ("▁", ";")
    words = cli("predict", folder / "chars.model", "the cat", "--words", "--prefix", "s", "-k", 1).out
    assert words.split()[2] == "sat"
    typed = cli("predict", folder / "chars.model", "--interactive", stdin=b"The cat s\n")
    assert "sat" in typed.out
    ran = cli("predict", folder / "words.model", "the cat", "--words")
    assert_refused(ran, "whole words: the model has no tokeniser")


def test_text_is_drawn_and_explained(cli: Cli, folder: Path) -> None:
    assert cli("generate", folder / "chars.model", "The cat", "--max-words", 20).out.startswith("The cat")
    sentences = json.loads(cli("generate", folder / "chars.model", "The cat", "--json").out)["sentences"]
    assert sentences[0].startswith("The cat")
    assert cli("explain", folder / "chars.model", "cat", "the").out.startswith("P(t | h e ▁ c a) = ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--tokenizer", "{folder}/text"], "neither a SentencePiece model nor a tokenizer.json"),
        (["--tokenizer", "nowhere"], "nowhere: no such file"),
        (["--tokenizer", "chars", "--engine", "spark"], "tokenizer: Spark counts the words of a text as it is"),
    ],
)
def test_mistakes_of_training(cli: Cli, folder: Path, tmp_path: Path, arguments: list[str], expected: str) -> None:
    given = [argument.format(folder=folder) for argument in arguments]
    assert_refused(cli("train", folder / "text", "-o", tmp_path / "m", *given), expected)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["arpa", "words.model", "-o", "out.arpa", "--encoding", "nemo"], "the encoding nemo writes ids of tokens"),
        (
            ["mix", "words.model", "chars.model", "-o", "out.mix", "--weights", "0.5,0.5"],
            "chars.model has chars; train them with the same",
        ),
        (["correct", "chars.model", "text"], "correction goes word by word"),
        (["predict", "chars.model", "--evaluate", "text"], "predict --evaluate goes word by word"),
    ],
)
def test_mistakes_of_use(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: str
) -> None:
    monkeypatch.chdir(folder)
    assert_refused(cli(*arguments), expected)


def test_work_of_another_tokeniser_is_not_resumed(tmp_path: Path) -> None:
    """What is kept of a run belongs to its tokeniser, also where it had none."""
    for before, now in (({"order": 3}, {"order": 3, "tokenizer": "chars"}), ({"tokenizer": "chars"}, {})):
        WorkFolder.begin(tmp_path / "work", before).close()
        with pytest.raises(UsageError, match="the interrupted run had another tokenizer"):
            WorkFolder.resume(tmp_path / "work", now)
