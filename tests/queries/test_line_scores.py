"""Scores line by line, for choosing text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gapgram import Model
from gapgram.cli.score import command
from gapgram.queries.line_scores import score_lines

LINES = ["w1 w2  w3", "", "zzz ü w1", "w2\tw3"]


def test_lines_come_back_in_order_with_their_perplexity(made: dict[str, Model], tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("\n".join([*LINES * 2000, ""]), encoding="utf-8")
    model, found = made["learned"], []
    for line in score_lines(model, text, threads=2):
        found.append(line.text)
        if line.words:
            expected = model.perplexity(sentences=[line.text]).perplexity
            assert line.perplexity == pytest.approx(expected)
    assert found == LINES * 2000


def test_the_option(made: dict[str, Model], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join([*LINES, ""]), encoding="utf-8")
    arguments = [str(made["mkn"].path), str(tmp_path / "text"), "--per-line"]
    shown = CliRunner().invoke(command, arguments).stdout.splitlines()
    assert [line.split("\t", 3)[3] if line else "" for line in shown] == LINES
    assert shown[2].split("\t")[1:3] == ["3", "2"]
    as_json = [json.loads(line) for line in CliRunner().invoke(command, [*arguments, "--json"]).stdout.splitlines()]
    assert [line["text"] for line in as_json] == LINES
    refused = CliRunner().invoke(command, [*arguments, "--words"])
    assert "--words or --per-line, one of the two" in str(refused.exception)
