"""Interrupted runs go on where they stopped, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.limited import LINES, SMALL, interrupt_at, names, train
from tests.support.running import HANGING_SECONDS

import gapgram
from gapgram import GapgramError, TextRules
from gapgram.counting.on_disk.count import SpilledCount
from gapgram.counting.on_disk.piece_files import PieceFile
from gapgram.system.work_folder import WorkFolder
from gapgram.text.corpus import Reader
from gapgram.training.limits import TrainingLimits

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

STAGES = ("text", "windows", "split-pieces-1", "tables")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupted_run_goes_on(
    text: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch, stage: str, when: str
) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, stage, when)
        with pytest.raises(KeyboardInterrupt):
            train(text)
    kept = ".model.work" in names(text.parent)
    assert kept == ((stage, when) != ("text", "before"))
    with monkeypatch.context() as patch:
        if kept:
            patch.setattr(Reader, "read", None)
        if (stage, when) == ("tables", "after"):
            patch.setattr(SpilledCount, "pieces", None)
        assert train(text, resume=True) == whole
    assert names(text.parent) == {"text", "model"}


def damage(path: Path) -> None:
    """Zeros where a page was not written, as a power cut leaves a file that was not synced."""
    data = bytearray(path.read_bytes())
    first = len(data) // 3
    data[first : first + 64] = bytes(min(64, len(data) - first))
    path.write_bytes(data)


@pytest.mark.parametrize(("name", "stage"), [
    *(("*", stage) for stage in (*STAGES, "counted")), ("ids", "text"), ("ids", "windows"), ("word_slots.npy", "text"),
    ("word_slots.npy", "counted"), ("done-*", "windows"), ("done-*", "tables"), ("done-*", "counted"),
    ("windows*", "windows"), ("windows*", "split-pieces-1"), ("pieces*", "tables"), ("pieces*", "counted"),
])  # fmt: skip
def test_damaged_work_is_done_again(
    text: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch, stage: str, name: str
) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, stage, "after")
        with pytest.raises(KeyboardInterrupt):
            train(text)
    folder = text.parent / ".model.work"
    damaged = [path for path in folder.glob(name) if path.is_file() and path.name not in ("run.json", "lock")]
    for path in damaged:
        damage(path)
    assert damaged
    assert train(text, resume=True) == whole
    assert names(text.parent) == {"text", "model"}


def test_a_damaged_unfinished_model_is_made_again(text: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, "tables", "after")
        with pytest.raises(KeyboardInterrupt):
            train(text)
    (unfinished,) = (path for path in text.parent.iterdir() if path.name.endswith(".unfinished"))
    damage(unfinished)
    assert train(text, resume=True) == whole
    assert names(text.parent) == {"text", "model"}


def test_bands_that_are_counted_are_not_counted_again(
    text: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    write = PieceFile.write

    def noting(file: Any, pieces: Any) -> None:
        write(file, pieces)
        counted.append(Path(file.name).name)

    def stopping(file: Any, pieces: Any) -> None:
        if len(counted) == 5:
            raise KeyboardInterrupt
        noting(file, pieces)

    with monkeypatch.context() as patch:
        patch.setattr(PieceFile, "write", staticmethod(stopping))
        with pytest.raises(KeyboardInterrupt):
            train(text, threads=1)
        first, counted[:] = list(counted), []
        patch.setattr(PieceFile, "write", staticmethod(noting))
        assert train(text, resume=True) == whole
    assert len(first) == 5
    assert not set(first) & set(counted)


@pytest.mark.parametrize("memory", [20_000, 3_000_000])
def test_a_run_goes_on_with_less_or_more_memory(
    text: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch, memory: int
) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, "windows", "after")
        with pytest.raises(KeyboardInterrupt):
            train(text, memory=100_000)
    assert train(text, memory=memory, resume=True) == whole


def test_a_killed_process_leaves_what_it_has_done(text: Path, whole: bytes) -> None:
    program = (
        "import os, signal, sys, gapgram\n"
        "from gapgram.system.work_folder import WorkFolder\n"
        "note = WorkFolder.note\n"
        "def killed(folder, stage, values):\n"
        "    note(folder, stage, values)\n"
        "    if stage == 'windows': os.kill(os.getpid(), signal.SIGKILL)\n"
        "WorkFolder.note = killed\n"
        f"gapgram.train([{str(text)!r}], order=4, memory={SMALL}, output={str(text.parent / 'model')!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=HANGING_SECONDS)
    assert done.returncode == -signal.SIGKILL
    assert names(text.parent) == {"text", ".model.work"}
    assert train(text, resume=True) == whole
    assert names(text.parent) == {"text", "model"}


def test_a_run_without_resume_starts_anew_and_clears_up(
    text: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, "tables", "after")
        with pytest.raises(KeyboardInterrupt):
            train(text)
    assert len(names(text.parent)) == 3, "the text, the work folder and the unfinished file"
    assert train(text, memory="1T") == whole
    assert names(text.parent) == {"text", "model"}


def test_resume_without_anything_to_go_on_with(text: Path, whole: bytes) -> None:
    assert train(text, resume=True) == whole


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("order", {"order": 3}),
        ("seed", {"seed": 2}),
        ("min_count", {"rules": TextRules(min_count=2)}),
        ("vocab_limit", {"rules": TextRules(vocab_limit=9)}),
        ("layout", {"layout": "compact"}),
        ("prune", {"prune": "0,0,1"}),
        ("size", {"size": "9M"}),
    ],
)
def test_another_option_is_not_resumed(
    text: Path, monkeypatch: pytest.MonkeyPatch, name: str, option: dict[str, Any]
) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, "windows", "after")
        with pytest.raises(KeyboardInterrupt):
            train(text)
    with pytest.raises(GapgramError, match=rf"the interrupted run had another {name} \(.*, now .*without --resume"):
        train(text, **option, resume=True)


def test_another_text_is_not_resumed(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, "windows", "after")
        with pytest.raises(KeyboardInterrupt):
            train(text)
    text.write_text("\n".join([*LINES, "one more", ""]))
    with pytest.raises(GapgramError, match="the interrupted run had another text"):
        train(text, resume=True)


def test_what_cannot_be_read_again_is_not_resumed(text: Path) -> None:
    with pytest.raises(GapgramError, match="cannot be read again; name text files"):
        gapgram.train(sentences=LINES, output=text.parent / "model", resume=True)
    with pytest.raises(GapgramError, match="cannot be read again; name text files"):
        gapgram.train("-", output=text.parent / "model", resume=True)


def test_an_interrupted_run_from_sentences_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_at(monkeypatch, "tables", "after")
    with pytest.raises(KeyboardInterrupt):
        gapgram.train(sentences=LINES, order=4, memory=SMALL, output=tmp_path / "model")
    assert not names(tmp_path)


def test_the_command_says_what_is_kept(
    text: Path, whole: bytes, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = WorkFolder.note

    def stopping(folder: WorkFolder, name: str, values: Any) -> None:
        note(folder, name, values)
        if name == "windows":
            os.kill(os.getpid(), signal.SIGTERM)

    arguments = ("train", text, "-o", text.parent / "model", "-n", 4, "--memory", f"{SMALL}B", "--quiet")
    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "note", stopping)
        stopped = cli(*arguments)
    assert stopped.code == 128 + signal.SIGTERM
    assert stopped.err == (
        f"gapgram: interrupted; what is done is kept in {text.parent / '.model.work'}: go on with --resume, "
        "or delete it\n"
    )
    assert cli(*arguments, "--resume").code == 0
    assert (text.parent / "model").read_bytes() == whole


def test_an_address_is_for_spark(text: Path) -> None:
    with pytest.raises(gapgram.UsageError, match=r"^hdfs://there/m\.model: only Spark writes models there"):
        gapgram.train(text, output="hdfs://there/m.model", model="mkn")


def test_two_runs_to_one_output(text: Path) -> None:
    limits = TrainingLimits.of(SMALL, 1, text.parent / "model", None)
    running = WorkFolder.begin(limits.work_folder, {})
    for resume in (False, True):
        with pytest.raises(GapgramError, match="in use by another run"):
            train(text, resume=resume)
    running.remove()
