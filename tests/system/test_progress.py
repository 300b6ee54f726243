"""A bar where somebody sees it: on a terminal and in a notebook, not in a pipe."""

from __future__ import annotations

import sys
from itertools import count
from types import ModuleType, SimpleNamespace

import pytest

from gapgram.system import progress
from gapgram.system.progress import progress_bar


def drawn(capsys: pytest.CaptureFixture[str]) -> str:
    with progress_bar("counting", total=2, progress=True) as advance:
        advance(2)
        if not isinstance(getattr(advance, "__self__", None), type(None)):
            advance.__self__.delay = 0  # type: ignore[attr-defined]
            advance.__self__.refresh()  # type: ignore[attr-defined]
    return capsys.readouterr().err


def test_a_notebook_has_a_bar_and_a_pipe_has_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert drawn(capsys) == ""
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    assert "counting" in drawn(capsys)


def test_a_script_is_told_once_what_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=count(0, 60).__next__))
    monkeypatch.setattr(progress, "_told", set())
    for title in ("reading", "sorting"):
        for wanted in (False, True):
            with progress.progress_bar(title, progress=wanted) as advance:
                advance(1)
                advance(1)
    assert capsys.readouterr().err == "gapgram: reading takes long, and goes on (-q hides this)\n"
