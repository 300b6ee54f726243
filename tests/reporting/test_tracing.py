"""Runs of words that a text has in common with a training text."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.support.running import Cli

import gapgram
from gapgram.errors import UsageError
from gapgram.reporting.tracing import Tracer, as_svg
from gapgram.text.files import Block

RUN = "the quick brown fox jumps over the lazy dog and runs far away"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> gapgram.Model:
    folder = tmp_path_factory.mktemp("trace")
    lines = [f"w{i} w{(7 * i) % 40} w{(3 * i) % 11} x y" for i in range(200)]
    (folder / "train.txt").write_text("\n".join([*lines[:120], RUN, *lines[120:]]) + "\n")
    return gapgram.train(folder / "train.txt", order=3, unbounded=True, output=folder / "model")


def test_runs_and_scores(model: gapgram.Model) -> None:
    text = f"zebra {RUN} zebra\nw1 zebra\n\nthe quick brown bear\n".encode()
    first, second = Tracer(model, least=8).documents([Block("t", 1, text)])
    assert [line.line for line in first.lines] == [1, 2] and second.lines[0].line == 4
    line = first.lines[0]
    assert line.lengths.tolist() == [0, *range(13, 0, -1), 0]
    assert line.copied.tolist() == [False, *[True] * 13, False]
    assert line.longest == (1, 14) and line.source.endswith("train.txt") and line.source_line == 121
    assert first.score == 13 / 17 and second.score == 0.0
    assert second.lines[0].lengths.tolist() == [3, 2, 1, 0]
    counts = dict(zip(line.words, line.counts.tolist(), strict=False))
    assert counts["fox"] == 1 and counts["zebra"] == 0
    picture = ET.fromstring(as_svg([first, second]))
    assert sum(part.tag.endswith("text") for part in picture) == first.words + second.words


def test_as_a_command(cli: Cli, model: gapgram.Model, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(f"so {RUN} zebra\n")
    told = cli("trace", tmp_path / "t.txt", "--index", model.path, "--least", "8")
    assert told.code == 0 and "86.7% copied" in told.out and "train.txt:121" in told.out
    found = json.loads(cli("trace", tmp_path / "t.txt", "--index", model.path, "--json").out)
    assert found["words"] == 15 and found["lines"][0]["source_line"] == 121
    shown = cli("explain", model.path, "fox", "the quick brown", "--evidence", "1")
    assert "longest end" in shown.out and "train.txt:121: the quick brown fox" in shown.out
    assert cli("explain", model.path, "fox", "the", "--evidence", "-1").code == 2
    with pytest.raises(UsageError, match="at least one sentence, found -1"):
        model.evidence("fox", ["the"], most=-1)


def test_what_cannot_be_traced(model: gapgram.Model) -> None:
    with pytest.raises(UsageError, match="keeps no text"):
        Tracer(gapgram.train(sentences=["a b c"] * 9, order=2, model="mkn"))
    with pytest.raises(UsageError, match="least 0"):
        Tracer(model, least=0)
