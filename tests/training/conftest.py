"""A small text, and the file of the model that it gives whatever the memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.limited import LINES

import gapgram


@pytest.fixture(autouse=True)
def _nothing_else_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests' own process holds would change how texts are cut."""
    monkeypatch.setattr("gapgram.system.memory.resident", lambda: 0)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("\n".join([*LINES, ""]))
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of an unlimited run."""
    path = tmp_path_factory.mktemp("whole") / "model"
    gapgram.train(sentences=LINES, order=4, output=path)
    return path.read_bytes()
