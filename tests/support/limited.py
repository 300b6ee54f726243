"""Training a small text in limited memory, and stopping it, for the tests of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.corpora import toy_text

import gapgram
from gapgram.system.work_folder import WorkFolder

LINES = toy_text(300)
SMALL = 30_000  # bytes: several bands, and words that are cut further


def train(text: Path, **options: Any) -> bytes:
    given = {"order": 4, "memory": SMALL, "threads": 2, "output": text.parent / "model", **options}
    gapgram.train([text], **given)
    return Path(given["output"]).read_bytes()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def interrupt_at(monkeypatch: pytest.MonkeyPatch, stage: str, when: str) -> None:
    """Stop a run just before, or just after, it notes that a stage is done."""
    note = WorkFolder.note

    def stopping(folder: WorkFolder, name: str, values: Any) -> None:
        if name == stage and when == "before":
            raise KeyboardInterrupt
        note(folder, name, values)
        if name == stage:
            raise KeyboardInterrupt

    monkeypatch.setattr(WorkFolder, "note", stopping)
