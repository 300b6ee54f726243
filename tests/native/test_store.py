"""Where compiled kernels are kept, by whom they are trusted, and what happens where they cannot be kept."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import llvmlite
import numpy as np
import pytest
from llvmlite import binding as llvm

import gapgram
from gapgram.errors import CacheWarning
from gapgram.native import shipped, store

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="permissions as Linux has them")

_PACKAGE = Path(gapgram.__file__).parent
_NOBODY = 65534
_DROP_CAPABILITY, _OVERRIDE_PERMISSIONS = 24, 1  # of prctl and capabilities, on Linux
_PROGRAM = """
from gapgram.kernels import jit
from gapgram.kernels.bits import width_of
from gapgram.native import store
print(width_of(5), jit.compiled, store.folder_to_write())
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of one's own."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    _forget()
    yield tmp_path / "cache" / "gapgram"
    _forget()


def _folder() -> Path:
    folder = store.folder_to_write()
    assert folder is not None
    return folder


def _forget() -> None:
    for each in (store.folder_to_write, store._folders, store._key, store._shipped):
        each.cache_clear()


def test_what_is_written_is_read(place: Path) -> None:
    assert store.read("a") is None
    store.write("a", b"code")
    assert store.read("a") == b"code" and store.read("b") is None
    folder = _folder()
    assert folder.parent == place and [path.name for path in folder.iterdir()] == ["a"]
    assert folder.stat().st_mode & 0o777 == place.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", ["shorter", "longer", "other", "renamed", "empty"])
def test_what_is_damaged_is_not_read(place: Path, damage: str) -> None:
    store.write("a", b"code")
    file = _folder() / "a"
    whole = file.read_bytes()
    if damage == "renamed":
        file.rename(file.with_name("b"))
        assert store.read("b") is None
        return
    file.write_bytes({"shorter": whole[:-1], "longer": whole + b"x", "other": whole[:-1] + b"x", "empty": b""}[damage])
    assert store.read("a") is None


def test_a_file_that_others_can_write_is_not_read(place: Path) -> None:
    store.write("a", b"code")
    (_folder() / "a").chmod(0o666)
    assert store.read("a") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give files away")
def test_a_file_of_another_user_is_not_read(place: Path) -> None:
    store.write("a", b"code")
    os.chown(_folder() / "a", _NOBODY, _NOBODY)
    assert store.read("a") is None


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_is_refused(place: Path, mode: int) -> None:
    place.mkdir(parents=True)
    place.chmod(mode)
    with pytest.warns(CacheWarning) as warned:
        store.write("a", b"code")
    assert len(warned) == 1
    assert str(warned[0].message) == (
        "kernels that are compiled now cannot be kept, and will be compiled again next time "
        f"({place}: it belongs to somebody else, or others can write there); "
        "to keep them, set NUMBA_CACHE_DIR to a folder that you alone can write"
    )
    assert store.read("a") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give folders away")
def test_a_folder_of_another_user_is_refused(place: Path) -> None:
    place.mkdir(parents=True, mode=0o755)
    os.chown(place, _NOBODY, _NOBODY)
    with pytest.warns(CacheWarning, match="belongs to somebody else"):
        store.write("a", b"code")


def test_a_full_disk_is_a_warning(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _folder()

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.warns(CacheWarning, match="No space left on device"):
        store.write("a", b"code")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("nonsense", ["/dev/null/there", "/proc/nothing", "x" * 5000])
def test_a_cache_folder_that_cannot_be_is_passed_over(nonsense: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, "NUMBA_CACHE_DIR": nonsense})
    with pytest.warns(CacheWarning, match=r"^NUMBA_CACHE_DIR=.* is not used: "):
        places = store._caches()
    assert places[0] == _PACKAGE / "kernels" / "__pycache__"


def test_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert store._user_cache() == tmp_path / "x"
    for meaningless in ("", "relative/x"):
        monkeypatch.setenv("XDG_CACHE_HOME", meaningless)
        assert store._user_cache() == tmp_path / ".cache"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert store._user_cache() == tmp_path / "Library" / "Caches"


def test_another_version_is_another_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [store._key.__wrapped__()]
    monkeypatch.setenv("NUMBA_OPT", "1")
    keys.append(store._key.__wrapped__())
    for place, name, value in (
        (np, "__version__", "9.9"),
        (llvmlite, "__version__", "9.9"),
        (store, "_version_of_numba", lambda: b"9.9"),
        (llvm, "get_host_cpu_name", lambda: "another"),
    ):
        monkeypatch.setattr(place, name, value)
        keys.append(store._key.__wrapped__())
    assert len(set(keys)) == len(keys)


def test_what_was_not_used_for_long_goes(place: Path) -> None:
    for age_days, name in ((40, "kernels-old"), (5, "kernels-new"), (40, "other")):
        (place / name).mkdir(parents=True)
        time = (place / name).stat().st_mtime - age_days * 24 * 3600
        os.utime(place / name, (time, time))
    place.chmod(0o700)
    store.write("a", b"code")
    assert {path.name for path in place.iterdir()} == {"kernels-new", "other", _folder().name}


def test_what_was_made_long_ago_of_other_sources_goes(place: Path) -> None:
    for name in ("k.kinds.old", "k.kinds.older", "k.others.old"):
        store.write(name, b"code")
        if name != "k.kinds.old":
            time = (_folder() / name).stat().st_mtime - 40 * 24 * 3600
            os.utime(_folder() / name, (time, time))
    store.write("k.kinds.new", b"code")
    assert {path.name for path in _folder().iterdir()} == {"k.kinds.new", "k.kinds.old", "k.others.old"}


def _obey_permissions() -> None:
    """Let a process of root's be refused what the permissions of files refuse."""
    ctypes.CDLL(None).prctl(_DROP_CAPABILITY, _OVERRIDE_PERMISSIONS)


def _run(package: Path, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a process that uses one kernel."""
    own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
        env={**own, **environment}, preexec_fn=_obey_permissions if os.geteuid() == 0 else None,
    )  # fmt: skip


def _result(process: subprocess.Popen[str]) -> tuple[str, list[str]]:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out.strip(), [line for line in error.splitlines() if "Warning" in line]


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Path]:
    """A copy of the package that nobody can write."""
    package = tmp_path / "site" / "gapgram"
    shutil.copytree(_PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    _allow_writing(package, False)
    yield package
    _allow_writing(package, True)


def _allow_writing(package: Path, allowed: bool) -> None:
    for path in (package, *package.rglob("*")):
        path.chmod((0o755 if allowed else 0o555) if path.is_dir() else 0o644)


def test_a_read_only_installation_uses_the_users_cache_folder(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    out, warned = _result(_run(installed, {"HOME": str(home)}))
    assert out.startswith(f"3 ['bits.width_of'] {home}/.cache/gapgram/kernels-") and not warned
    assert (home / ".cache" / "gapgram").stat().st_mode & 0o777 == 0o700
    out, warned = _result(_run(installed, {"HOME": str(home)}))
    assert out.startswith("3 [] ") and not warned


@pytest.mark.parametrize("home", ["/nonexistent", "/proc", "/dev/null"])
def test_where_nothing_can_be_kept_one_line_says_so(installed: Path, home: str) -> None:
    if home == "/nonexistent":
        home = str(installed / "nothing")
    out, warned = _result(_run(installed, {"HOME": home}))
    assert out == "3 ['bits.width_of'] None"
    assert len(warned) == 1 and "NUMBA_CACHE_DIR" in warned[0]


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", none)
    assert store._caches() == [_PACKAGE / "kernels" / "__pycache__"]


def test_a_warmed_installation_needs_no_place_to_write(installed: Path) -> None:
    beside = installed / "kernels" / "__pycache__"
    _allow_writing(installed, True)
    out, _ = _result(_run(installed, {"HOME": "/dev/null"}))
    assert out.startswith(f"3 ['bits.width_of'] {beside}/kernels-")
    _allow_writing(installed, False)
    out, warned = _result(_run(installed, {"HOME": "/dev/null"}))
    assert out == "3 [] None" and len(warned) == 1  # the program asks where it could write; a command does not


def test_an_upgrade_of_gapgram_compiles_again(tmp_path: Path) -> None:
    package = tmp_path / "gapgram"
    shutil.copytree(_PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    assert _result(_run(package, {}))[0].startswith("3 ['bits.width_of']")
    source = package / "kernels" / "bits.py"
    source.write_text(source.read_text().replace("    width = 1\n", "    width = 5\n"))
    assert _result(_run(package, {}))[0].startswith("5 ['bits.width_of']")
    assert _result(_run(package, {}))[0].startswith("5 []")


def test_several_processes_compile_at_once(tmp_path: Path) -> None:
    running = [_run(_PACKAGE, {"NUMBA_CACHE_DIR": str(tmp_path)}) for _ in range(4)]
    results = [_result(process) for process in running]
    assert all(out.startswith("3 ") and not warned for out, warned in results)
    (kept,) = (tmp_path / "gapgram").glob("kernels-*/*")
    assert kept.name.startswith("bits.width_of.")


_SHIPS = pytest.mark.skipif(platform.machine() not in shipped.PROCESSORS, reason="no code is shipped for this machine")


@_SHIPS
def test_shipped_code_is_for_processors_that_have_what_it_needs(tmp_path: Path) -> None:
    name = shipped.folder_name(platform.machine(), "digest")
    has = dict.fromkeys(shipped.PROCESSORS[platform.machine()][1], True)
    assert shipped.shipped_folder("digest", lambda: has, within=tmp_path) is None
    (tmp_path / name).mkdir()
    assert shipped.shipped_folder("digest", lambda: has, within=tmp_path) == tmp_path / name
    assert shipped.shipped_folder("another", lambda: has, within=tmp_path) is None
    for missing in has:
        features = {**has, missing: False}.copy
        assert shipped.shipped_folder("digest", features, within=tmp_path) is None


@_SHIPS
def test_shipped_code_is_used_unless_it_is_damaged_or_other_code_is_asked_for(tmp_path: Path) -> None:
    package = tmp_path / "site" / "gapgram"
    shutil.copytree(_PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    _result(_run(package, {"NUMBA_CACHE_DIR": str(tmp_path / "first")}))
    (made,) = (tmp_path / "first" / "gapgram").glob("kernels-*")
    ships = package / "kernels" / "shipped" / shipped.folder_name(platform.machine(), store.digest_of_native())
    shutil.copytree(made, ships)
    (file,) = ships.iterdir()
    file.chmod(0o666)  # as the sources beside it may be
    empty = {"NUMBA_CACHE_DIR": str(tmp_path / "second")}
    assert _result(_run(package, empty))[0].startswith("3 [] ")
    assert _result(_run(package, {**empty, "NUMBA_OPT": "1"}))[0].startswith("3 ['bits.width_of'] ")
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert _result(_run(package, empty))[0].startswith("3 ['bits.width_of'] ")
    file.write_bytes(whole)
    ships.rename(ships.with_name(shipped.folder_name(platform.machine(), "of another version")))
    assert _result(_run(package, {"NUMBA_CACHE_DIR": str(tmp_path / "third")}))[0].startswith("3 ['bits.width_of'] ")
