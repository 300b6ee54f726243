"""The figures of predictions, against a plain keyboard that asks for every suggestion."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.corpora import toy_text
from tests.support.made_models import sorted_words

from gapgram import Model
from gapgram.cli.predict import command
from gapgram.errors import TextError
from gapgram.reporting.prediction_quality import judge, word_tally

TEXT = ["w1 w2 w3 zzz w5", "", "w10 w100 w1", "näher w2", *toy_text(12, seed=9, vocabulary=900)]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("\n".join([*TEXT, ""]), encoding="utf-8")
    return path


def keys_typed(model: Model, context: list[str], word: str) -> int:
    """Letters until three suggestions hold the word, and the pick; or all letters and the space."""
    for typed in range(len(word)):
        if word in [p.word for p in model.predict(context, 3, prefix=word[:typed])]:
            return typed + 1
    return len(word) + 1


@pytest.mark.parametrize("name", ["mkn", "learned"])
def test_figures_equal_those_of_a_plain_keyboard(made: dict[str, Model], name: str, text: Path) -> None:
    model = made[name]
    ranks, keys, letters = [], 0, 0
    for line in TEXT:
        words = line.split()
        for i, word in enumerate(words):
            context = ["<s>", *words[:i]]
            order = [w for w, _ in sorted_words(model, context)]
            ranks.append(order.index(word) + 1 if word in order else np.inf)
            keys += keys_typed(model, context, word)
            letters += len(word) + 1
    result = judge(model, text, threads=2)
    assert (result.words, result.keystrokes, result.letters) == (len(ranks), keys, letters)
    assert result.unknown_words == ranks.count(np.inf)
    assert result.accuracy == {f"top_{k}": np.mean(np.array(ranks) <= k) for k in (1, 3, 5, 10)}
    assert result.mean_reciprocal_rank == pytest.approx(np.mean(1 / np.array(ranks)))
    assert result.keystrokes_saved == 1 - keys / letters


def test_letters_are_counted_not_bytes() -> None:
    """ä is two bytes: three words that outrank it share it, one shares äh."""
    assert word_tally(np.array([0, 0, 2, 1, 0]), "äh".encode() + b"e").keystrokes == 3


def test_the_table_has_a_column_a_model(made: dict[str, Model], text: Path) -> None:
    paths = [str(made[name].path) for name in ("mkn", "learned")]
    out = CliRunner().invoke(command, [*paths, "--evaluate", str(text), "--limit", "3", "-q"])
    assert out.stdout.splitlines()[1].split() == ["words", "10", "10"]
    as_json = CliRunner().invoke(command, [*paths, "--evaluate", str(text), "--json", "-q"])
    results = json.loads(as_json.stdout)["results"]
    assert [r["model"] for r in results] == paths
    assert results[0]["signature"].startswith("order:4|model:mkn")


def test_a_text_without_sentences_is_refused(made: dict[str, Model], tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n\n")
    with pytest.raises(TextError, match="no sentence in it"):
        judge(made["mkn"], tmp_path / "empty")
