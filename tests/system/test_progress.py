"""A bar where somebody sees it: on a terminal and in a notebook, not in a pipe."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

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
