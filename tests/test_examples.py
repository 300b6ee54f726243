"""The examples run and show what they claim."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from gapgram import Model

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_the_keyboard_learns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run("keyboard.py", monkeypatch, capsys).splitlines()
    assert any(line.endswith("Zorblax") or "Zorblax " in line.split("|")[-1] for line in lines)  # it is suggested
    counted = [re.findall(r" (\d+) ", line) for line in lines if line.startswith("a keyboard")]
    (static, letters), (learning, _) = (map(int, found) for found in counted)
    assert learning < 0.9 * static < 0.6 * letters


def test_the_decoder_hears_better(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    alone, decoded = run("decoder.py", monkeypatch, capsys).splitlines()
    assert "valley" in alone
    assert "the value of an expression is evaluated" in decoded


def test_the_filter_keeps_sentences(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = run("filter.py", monkeypatch, capsys)
    _, kept, sentences, noise, shuffled = map(int, re.findall(r"\d+", out))
    assert kept > 0.7 * sentences
    assert noise < 0.1 * shuffled


def test_memory_is_worth_more_to_the_glm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    mkn, glm = run("surprisal.py", monkeypatch, capsys).splitlines()
    shorter, longer = (float(re.findall(r"\d+\.\d+", line)[i]) for line, i in ((glm, 1), (glm, 3)))
    assert longer < shorter
    assert longer < float(re.findall(r"\d+\.\d+", mkn)[3])


def test_with_models_of_ones_own(
    made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(made["learned"].path)
    (tmp_path / "typed").write_text("w1 w2 zebra\nw1 zebra\n\nw3 w4\nw5 w6\n")
    assert " letters and spaces" in run("keyboard.py", monkeypatch, capsys, path, str(tmp_path / "typed"), "3")
    assert "with the model:" in run("decoder.py", monkeypatch, capsys, path)
    (tmp_path / "text").write_text("w1 w2 w3 w4\nw9 zzz zzz yyy\n")
    assert run("filter.py", monkeypatch, capsys, path, str(tmp_path / "text"), "500") == "w1 w2 w3 w4\n"


def test_packages_are_told_apart(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    accuracy = re.search(r"accuracy ([\d.]+) %", run("classify.py", monkeypatch, capsys))
    assert accuracy is not None
    assert float(accuracy[1]) > 70


def test_planted_errors_are_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    right, lines = map(int, re.findall(r"(\d+) of (\d+) lines", run("correct.py", monkeypatch, capsys))[0])
    assert right > 0.5 * lines


def test_ranking_anew_helps(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rates = [float(rate) for rate in re.findall(r"([\d.]+) %", run("rescore.py", monkeypatch, capsys))]
    assert rates[1] < 0.7 * rates[0]


def test_a_name_is_heard_once_it_was_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    alone, model, hot, read, *words = run("ctc.py", monkeypatch, capsys).splitlines()
    right = "the method of the zorblax class is called"
    assert "mathod" in alone
    assert "the method of the" in model and right not in model
    assert hot.endswith(right) and read.endswith(right)
    assert len(words) == len(right.split())
