"""Scores line by line, for choosing text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from gapgram import Model, TextError, TextRules
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


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("bad", "said"), [
    (b"w1 \xff", r"byte 4 of the line \(0xff\) is not valid UTF-8"),
    (b"w1 <s>", "the word <s> is the model's own"),
])  # fmt: skip
def test_a_line_far_inside_a_text_is_refused_by_its_number(
    made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, bad: bytes, said: str
) -> None:
    monkeypatch.setattr(Model, "piece_bytes", 200)
    text, n = tmp_path / "text", 300
    text.write_bytes(b"w1 w2 w3 \n" * n + bad + b"\n" + b"w1 <s>\n" * n)
    with pytest.raises(TextError, match=f"text:{n + 1}: {said}"):
        made["mkn"].perplexity(text, threads=threads)


def test_bytes_that_are_not_utf8_can_be_replaced(
    made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Model, "piece_bytes", 200)
    text, n = tmp_path / "text", 50
    for name, odd in (("text", b"\xff"), ("replaced", "\ufffd".encode())):
        (tmp_path / name).write_bytes((b"w1 w2 w3\n" * n + b"w1 " + odd + b"\n\n") * 2)
    found = made["mkn"].perplexity(text, rules=TextRules(special="unk", invalid="replace"), threads=2)
    expected = made["mkn"].perplexity(tmp_path / "replaced", threads=2)
    assert replace(found, text_bytes=0) == replace(expected, text_bytes=0)
    assert found.text_bytes == text.stat().st_size - 2  # as it was written, without the empty lines
    assert (found.words, found.unknown_words, found.empty_lines) == (6 * n + 4, 2, 2)


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
