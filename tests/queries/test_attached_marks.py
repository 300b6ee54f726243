"""Text whose words touch marks that the model knows apart is warned of, once, by every reader of texts."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from tests.support.running import Cli

import gapgram
from gapgram.errors import SplitWarning

TEXT = ["the cat , the dog sat .", "a cat ran , too ."] * 9
RAW = "the cat, the dog sat.\na cat ran, too.\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> gapgram.Model:
    return gapgram.train(sentences=TEXT, order=3, model="mkn", output=tmp_path_factory.mktemp("apart") / "m")


def test_every_reader_of_texts_warns(model: gapgram.Model, tmp_path: Path) -> None:
    path = tmp_path / "raw.txt"
    path.write_text(RAW)
    readers = (
        lambda: model.perplexity(path),
        lambda: model.perplexity(sentences=RAW.splitlines()),
        lambda: list(gapgram.score_lines(model, path)),
        lambda: model.session().perplexity(path),
        lambda: gapgram.DocumentScorer(model).score([RAW]),
    )
    for read in readers:
        with pytest.warns(SplitWarning, match=r"44% of the words are unknown .* \(cat,, sat\., ran,\), which"):
            read()


def test_text_that_is_cut_or_that_the_model_cuts_is_not_warned_of(model: gapgram.Model) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.perplexity(sentences=TEXT)
        model.perplexity(sentences=["the zebra. sat", *TEXT * 9])  # one word of many
        model.with_splitting("marks").perplexity(sentences=RAW.splitlines())


@pytest.mark.filterwarnings("always::gapgram.errors.SplitWarning")
def test_the_command_says_it_once(model: gapgram.Model, cli: Cli) -> None:
    ran = cli("score", model.path, stdin=RAW.encode())
    assert ran.code == 0 and len(ran.out.splitlines()) == 2
    assert ran.err.count("warning: standard input: 44% of the words are unknown for the punctuation marks") == 1
    assert "let the model cut raw text (gapgram about MODEL --split marks -o NEW)" in ran.err
