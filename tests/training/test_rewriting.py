"""A model that is pruned or laid out anew appears under its name once, whole, or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.limited import LINES, SMALL, interrupt_at, names, train

import gapgram
from gapgram import GapgramError

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

WAYS: list[dict[str, Any]] = [{"layout": "compact"}, {"prune": "0,0,1"}, {"size": "150K"}]
MEMORIES = [SMALL, "1T"]  # through files, and in memory
SECOND_STEP = "gapgram.training.run.model_file.write"


def stop_with(error: BaseException) -> Callable[..., None]:
    def stop(*_: object, **__: object) -> None:
        raise error

    return stop


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_same_file_in_memory_and_through_files(text: Path, way: dict[str, Any]) -> None:
    whole = gapgram.train(text, order=4)
    output = text.parent / "expected"
    if "layout" in way:
        whole.with_layout(way["layout"], output=output)
    else:
        whole.pruned(counts=way.get("prune"), size=way.get("size"), output=output)
    expected = (text.parent / "expected").read_bytes()
    for memory in MEMORIES:
        assert train(text, memory=memory, **way) == expected
    assert names(text.parent) == {"text", "model", "expected"}


@pytest.mark.parametrize(("way", "error", "memory"), [
    *((way, KeyboardInterrupt(), SMALL) for way in WAYS), (WAYS[1], KeyboardInterrupt(), "1T"),
    *((WAYS[1], ZeroDivisionError(), memory) for memory in MEMORIES),
], ids=repr)  # fmt: skip
def test_an_older_model_stays_where_the_second_step_is_stopped(
    text: Path, monkeypatch: pytest.MonkeyPatch, way: dict[str, Any], error: BaseException, memory: int | str
) -> None:
    (text.parent / "model").write_bytes(b"older")
    monkeypatch.setattr(SECOND_STEP, stop_with(error))
    with pytest.raises(type(error)):
        train(text, memory=memory, **way)
    assert (text.parent / "model").read_bytes() == b"older"
    kept = memory == SMALL and isinstance(error, KeyboardInterrupt)
    assert names(text.parent) == {"text", "model"} | ({".model.work"} if kept else set())


def test_a_run_that_was_stopped_in_the_second_step_goes_on_there(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = train(text, prune="0,0,1", memory="1T")
    (text.parent / "model").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(SECOND_STEP, stop_with(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            train(text, prune="0,0,1")
    assert names(text.parent) == {"text", ".model.work"}
    monkeypatch.setattr("gapgram.training.run.count_text", None)
    assert train(text, prune="0,0,1", resume=True) == expected
    assert names(text.parent) == {"text", "model"}


def test_a_run_that_was_stopped_before_the_second_step_goes_on(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = train(text, layout="compact", memory="1T")
    (text.parent / "model").unlink()
    with monkeypatch.context() as patch:
        interrupt_at(patch, "tables", "after")
        with pytest.raises(KeyboardInterrupt):
            train(text, layout="compact")
    assert names(text.parent) == {"text", ".model.work"}, "the unfinished model is in the work folder"
    assert train(text, layout="compact", resume=True) == expected
    assert names(text.parent) == {"text", "model"}


def test_what_a_run_has_left_is_removed_by_the_next(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(SECOND_STEP, stop_with(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            train(text, prune="0,0,1")
    train(text, memory="1T")
    assert names(text.parent) == {"text", "model"}


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_full_disk_in_the_second_step(text: Path, monkeypatch: pytest.MonkeyPatch, memory: int | str) -> None:
    (text.parent / "model").write_bytes(b"older")
    monkeypatch.setattr(SECOND_STEP, stop_with(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "model")))
    with pytest.raises((GapgramError, OSError), match="No space left on device"):
        train(text, prune="0,0,1", memory=memory)
    assert (text.parent / "model").read_bytes() == b"older"


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_size_that_cannot_be_is_refused_before_anything_is_counted(
    text: Path, monkeypatch: pytest.MonkeyPatch, memory: int | str
) -> None:
    (text.parent / "model").write_bytes(b"older")
    monkeypatch.setattr("gapgram.counting.band.Band.each", None)
    with pytest.raises(GapgramError, match=r"size=1 is 1 bytes: the words alone, without a gram of two, take"):
        train(text, size=1, memory=memory)
    assert (text.parent / "model").read_bytes() == b"older"
    assert names(text.parent) == {"text", "model"}


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_size_that_is_a_little_too_small_leaves_the_older_model(text: Path, memory: int | str) -> None:
    (text.parent / "model").write_bytes(b"older")
    with pytest.raises(GapgramError, match="the words alone, without a gram of two, take"):
        train(text, size=5000, memory=memory)
    assert (text.parent / "model").read_bytes() == b"older"
    assert names(text.parent) == {"text", "model"}


def test_pruning_by_patterns_that_the_text_is_too_small_for(text: Path) -> None:
    """Patterns of classes are not there where the text goes without classes: said before it is counted."""
    with pytest.raises(GapgramError, match="22"):
        gapgram.train(sentences=LINES, order=3, prune="22=1")
