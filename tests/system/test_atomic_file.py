"""Files written aside: the old one or the new one, always; nothing is left behind, whatever fails."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.faults import Fault, each_fault

from gapgram.errors import GapgramError
from gapgram.system import atomic_file
from gapgram.system.atomic_file import Aside, check_writable, short_name, temporary_folder, written_aside


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model"


def write(path: Path, data: bytes = b"new") -> None:
    with written_aside(path) as file:
        file.write(data)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("before", [None, b"old"])
def test_whatever_fails_there_is_the_old_file_or_the_new_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None, lasting: bool
) -> None:
    met = []
    for fault in each_fault(monkeypatch, lasting=lasting):
        path.unlink(missing_ok=True) if before is None else path.write_bytes(before)
        with fault:
            write(path, b"new" * 5000)
        found = path.read_bytes() if path.exists() else None
        renamed = found == b"new" * 5000
        assert renamed or found == before
        assert names(path.parent) == ([] if found is None else ["model"])
        if fault.met:
            met.append(fault.met)
            assert str(fault.error) == (
                f"{path}: no room left while writing (No space left on device); nothing was kept"
            )
            assert renamed == (met[-2:] == ["replace", "fsync"]), "only the last step comes after the new name"
    assert met == ["write", "fsync", "chmod", "replace", "fsync"]


def test_a_killed_writer_leaves_the_old_file_and_the_next_one_clears_up(path: Path) -> None:
    path.write_bytes(b"old")
    program = (
        "import os, signal, sys\n"
        "from gapgram.system.atomic_file import temporary_folder, written_aside\n"
        f"with temporary_folder({str(path)!r}), written_aside({str(path)!r}) as file:\n"
        "    file.write(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert len(names(path.parent)) == 3, "the old file, the unfinished one, the folder"
    assert path.read_bytes() == b"old"
    write(path)
    assert names(path.parent) == ["model"]
    assert path.read_bytes() == b"new"


def test_a_file_that_another_program_is_writing_stays(path: Path) -> None:
    other, folder = Aside(path), temporary_folder(path)
    with folder as temporary:
        write(path)
        assert other.path.exists() and temporary.exists()
    other.discard()
    assert names(path.parent) == ["model"]


def test_leftovers_of_other_names_and_other_files_stay(path: Path) -> None:
    others = [
        ".model.work", ".model.abcdefgh.part", ".model.1.abcdefgh.unfinished", ".other.abcdefgh.unfinished",
        ".model.abcdefghi.unfinished",
    ]  # fmt: skip
    for name in others:
        (path.parent / name).touch()
    (path.parent / ".model.link0000.unfinished").symlink_to(path.parent / ".model.work")
    (path.parent / ".model.abcdefgh.unfinished").touch()
    write(path)
    assert names(path.parent) == sorted([*others, ".model.link0000.unfinished", "model"])


def test_leftovers_of_others_stay(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path.parent / ".model.abcdefgh.unfinished").touch()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    write(path)
    assert names(path.parent) == [".model.abcdefgh.unfinished", "model"]


def test_a_file_that_is_taken_for_a_leftover_before_it_is_locked_is_made_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []
    flock = fcntl.flock

    def late(handle: int, operation: int) -> None:
        if not taken:
            taken.extend(name for name in names(path.parent) if name.endswith(".unfinished"))
            (path.parent / taken[0]).unlink()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    write(path)
    assert taken and path.read_bytes() == b"new"
    assert names(path.parent) == ["model"]


def test_where_there_are_no_locks_nothing_is_taken_for_a_leftover(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", none)
    (path.parent / ".model.abcdefgh.unfinished").touch()
    with temporary_folder(path):
        write(path)
    assert names(path.parent) == [".model.abcdefgh.unfinished", "model"]


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o660, 0o755])
def test_a_replaced_file_keeps_its_permissions(path: Path, mode: int) -> None:
    path.write_bytes(b"old")
    path.chmod(mode)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_usual_permissions(path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_group_that_cannot_be_kept_loses_its_permissions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"old")
    path.chmod(0o664)
    found = os.stat(path)

    def other_group(name: str | Path) -> os.stat_result:
        values = list(found)
        values[5] += Path(name) == path
        return os.stat_result(values)

    def refused(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "chown", refused)
        patch.setattr(os, "stat", other_group)
        aside_path = path.with_name("aside")
        aside_path.touch()
        atomic_file._take_permissions(aside_path, path)
    assert stat.S_IMODE(aside_path.stat().st_mode) == 0o644


def test_a_link_leads_to_the_file_that_is_replaced(path: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    path.symlink_to(tmp_path / "far" / "file")
    write(path)
    assert path.is_symlink() and names(tmp_path / "far") == ["file"]


@pytest.mark.parametrize(("make", "expected"), [
    (lambda path: path.mkdir(), "a folder; name a file to write"),
    (lambda path: os.mkfifo(path), "not a plain file; name a file to write"),
    (lambda path: path.symlink_to("/dev/null"), "not a plain file; name a file to write"),
    (lambda path: path.symlink_to(path), "no name for a file: Too many levels of symbolic links"),
    (lambda path: path.symlink_to("/none/at/all"), "the folder /none/at does not exist; make it first"),
])  # fmt: skip
def test_places_where_no_file_can_be_written(path: Path, make: Callable[[Path], object], expected: str) -> None:
    make(path)
    for refuse in (check_writable, write):
        with pytest.raises(GapgramError) as error:
            refuse(path)
        assert str(error.value) == f"{path}: {expected}"
    assert names(path.parent) == ["model"]


def test_a_folder_that_may_not_be_written_to_is_found_behind_a_link(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far").mkdir()
    path.symlink_to(tmp_path / "far" / "file")
    monkeypatch.setattr(os, "access", lambda folder, mode: Path(folder) != tmp_path / "far")
    with pytest.raises(GapgramError, match=r"model: the folder .*far may not be written to$"):
        check_writable(path)


def test_what_is_read_is_not_replaced(path: Path) -> None:
    path.write_bytes(b"old")
    (path.parent / "link").symlink_to(path)
    with pytest.raises(GapgramError, match=r"model: is read and would be replaced; name another file to write$"):
        check_writable(path, [path.parent / "none", path.parent / "link"])


def test_names_as_long_as_they_may_be(tmp_path: Path) -> None:
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    for length in (201, 236, longest):
        path = tmp_path / ("n" * length)
        check_writable(path)
        write(path)
        assert path.read_bytes() == b"new"
    with pytest.raises(GapgramError, match=r"no name for a file: File name too long$"):
        check_writable(tmp_path / ("n" * (longest + 1)))
    assert len(names(tmp_path)) == 3
    assert short_name("n" * 201) != short_name("n" * 202)


def test_the_layer_of_faults_writes_half_and_lets_other_errors_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Fault(monkeypatch, 1, lasting=True) as fault:
        file = (tmp_path / "f").open("wb", buffering=0)
        with pytest.raises(OSError, match="No space left"):
            file.write(b"12345678")
            file.close()
    assert (fault.met, fault.error) == ("write", None)
    assert (tmp_path / "f").read_bytes() == b"1234"
    with pytest.raises(KeyError), Fault(monkeypatch, 9):
        raise KeyError
