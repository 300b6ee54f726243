"""Where prepare, split and sample write: plain files only, all or nothing, whatever fails."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.faults import each_fault

pytest.importorskip("sentencex", reason="needs the extra gapgram[prepare]")

from gapgram.errors import GapgramError, TextError
from gapgram.preparation import Options, prepare_text
from gapgram.preparation.output import text_outputs
from gapgram.preparation.split import sample_text, split_text

ONE = Options(processes=1)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("One dog sat here . Two cats ran .\n" * 50)
    return path


def prepare(text: Path, output: Path) -> None:
    prepare_text([text], output, "en", ONE)


def split(text: Path, output: Path) -> None:
    split_text(text, str(output).removesuffix(".train.txt"))


def sample(text: Path, output: Path) -> None:
    sample_text(text, output, sequences=5, length=2)


COMMANDS = (prepare, split, sample)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_or_a_device_is_not_replaced(text: Path, command: Callable[[Path, Path], None]) -> None:
    output = text.with_name("out.train.txt")
    for make in (os.mkfifo, lambda path: os.symlink("/dev/null", path)):
        make(output)
        with pytest.raises(TextError, match=r"out\.train\.txt: not a plain file; name a file to write$"):
            command(text, output)
        assert not stat.S_ISREG(output.stat().st_mode)
        assert names(text.parent) == ["out.train.txt", "text.txt"]
        output.unlink()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_leads_to_the_file_that_is_replaced(text: Path, command: Callable[[Path, Path], None]) -> None:
    output, far = text.with_name("out.train.txt"), text.parent / "far"
    far.mkdir()
    output.symlink_to(far / "file")
    command(text, output)
    assert output.is_symlink()
    assert names(far) == ["file"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_place_that_does_not_do_is_found_before_the_text_is_read(
    text: Path, command: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapgram.preparation.split.sentences_of_file", None)
    monkeypatch.setattr("gapgram.preparation.plain.read_chunks", None)
    with pytest.raises(TextError, match=r"does not exist; make it first$"):
        command(text, text.parent / "none" / "out.train.txt")


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_whatever_fails_a_prepared_text_is_the_old_one_or_the_new_one(
    text: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, lasting: bool
) -> None:
    output = text.with_name(f"out{suffix}")
    prepare(text, output)
    new, met = output.read_bytes(), set()
    for fault in each_fault(monkeypatch, lasting=lasting):
        output.write_bytes(b"old")
        with fault:
            prepare(text, output)
        met.add(fault.met)
        assert output.read_bytes() in (b"old", new)
        assert (fault.error is None) == (fault.met == "")
        if fault.error is not None:
            assert str(fault.error) == f"{output}: cannot be written: No space left on device"
        assert names(text.parent) == [f"out{suffix}", "text.txt"]
    assert met == {"write", "fsync", "chmod", "replace", ""}


def test_parts_appear_together(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a rename that fails after another one leaves a new part beside an old one."""
    parts = [text.with_name(f"out.{name}.txt") for name in ("train", "valid", "test")]
    for fault in each_fault(monkeypatch):
        for part in parts:
            part.write_bytes(b"old")
        with fault:
            split_text(text, text.with_name("out"), valid=0.1)
        new = [part.read_bytes() != b"old" for part in parts]
        assert any(new) == all(new) or fault.met in ("chmod", "replace", "fsync")
        assert names(text.parent) == sorted([*(part.name for part in parts), "text.txt"])


def test_an_error_of_the_reader_is_told_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(GapgramError, match=r"^the reader's own$"), text_outputs([tmp_path / "out"]):
        raise TextError("the reader's own")
    assert names(tmp_path) == []


def test_what_a_killed_run_left_is_removed_by_the_next_one(text: Path) -> None:
    output = text.with_name("out")
    program = (
        "import os, signal\n"
        "from gapgram.preparation.output import text_outputs\n"
        f"with text_outputs([{str(output)!r}]) as (file,):\n"
        "    file.write(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == -signal.SIGKILL
    assert len(names(text.parent)) == 2
    prepare(text, output)
    assert names(text.parent) == ["out", "text.txt"]
