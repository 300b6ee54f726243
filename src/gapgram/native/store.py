"""Where machine code is kept: beside the sources, else in the user's cache folder, else nowhere.

`NUMBA_CACHE_DIR` names a folder to be used instead. The code lies in a folder of its own for all but the sources of its
kernel that it depends on (`_key`), and its name ends in their digest (`sources`), so that nothing old is ever found.
Since it is executed, a file is read only if it belongs to this user, to the owner of the sources or to root, and nobody
else can write it. What is not there may have come with the wheel (`shipped`), unless a setting of Numba's asks for
other code.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import llvmlite
import numpy as np
import xxhash
from llvmlite import binding as llvm

from gapgram.errors import CacheWarning
from gapgram.native.shipped import shipped_folder

_PACKAGE = Path(__file__).parent.parent
_BESIDE = _PACKAGE / "kernels" / "__pycache__"
_UNUSED_SECONDS = 30 * 24 * 3600  # after which the code of another version goes
_CHECKSUM_BYTES = 16
_CANNOT_KEEP = "kernels that are compiled now cannot be kept, and will be compiled again next time"
_WHAT_TO_DO = "to keep them, set NUMBA_CACHE_DIR to a folder that you alone can write"


def read(name: str) -> bytes | None:
    """The code kept or shipped under a name; None where there is none, or where it is not to be trusted."""
    shipped = _shipped()
    for folder in (*_folders(), *([shipped] if shipped else [])):
        with contextlib.suppress(OSError), open(folder / name, "rb") as file:
            content = file.read() if folder == shipped or _is_trusted(os.fstat(file.fileno())) else b""
            if content[:_CHECKSUM_BYTES] == _checksum(name, content[_CHECKSUM_BYTES:]):
                return content[_CHECKSUM_BYTES:]
    return None


def write(name: str, code: bytes) -> None:
    """Keep code under a name; other processes see all of it or nothing."""
    folder = folder_to_write()
    if folder is None:
        return
    aside = folder / f"{name}.{os.getpid()}.{time.monotonic_ns()}"
    try:
        with open(aside, "xb") as file:
            file.write(_checksum(name, code) + code)
        aside.chmod(0o644)
        aside.replace(folder / name)
        _forget_older(folder, name)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        warnings.warn(f"{_CANNOT_KEEP} ({folder}: {error.strerror})", CacheWarning, stacklevel=2)


@cache
def folder_to_write() -> Path | None:
    """The first folder that can be written, made where it is missing; None, and a warning, where there is none."""
    refusals = []
    for folder in _folders():
        try:
            return _made(folder)
        except OSError as error:
            refusals.append(f"{error.filename or folder}: {error.strerror}")
    warnings.warn(f"{_CANNOT_KEEP} ({'; '.join(refusals)}); {_WHAT_TO_DO}", CacheWarning, stacklevel=2)
    return None


def _checksum(name: str, code: bytes) -> bytes:
    return xxhash.xxh3_128_digest(name.encode() + b"\0" + code)


def _is_trusted(about: os.stat_result) -> bool:
    """Whether only this user, the owner of the sources or root can have written a file or what is in a folder."""
    if sys.platform == "win32":
        return True
    return about.st_uid in (os.getuid(), _PACKAGE.stat().st_uid, 0) and not about.st_mode & 0o022


@cache
def _folders() -> tuple[Path, ...]:
    """The folders that code may be in, the best one first."""
    return tuple(cache / _key() for cache in _caches())


def _caches() -> list[Path]:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        own = Path(chosen).absolute() / "gapgram"
        try:
            own.mkdir(parents=True, exist_ok=True, mode=0o700)
            return [own]
        except OSError as error:
            warnings.warn(f"NUMBA_CACHE_DIR={chosen} is not used: {error.strerror}", CacheWarning, stacklevel=2)
    try:
        return [_BESIDE, _user_cache() / "gapgram"]
    except RuntimeError:  # the user has no home
        return [_BESIDE]


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else Path.home() / ".cache"


def _made(folder: Path) -> Path:
    """A folder that this process can write and others cannot; OSError where it cannot be had."""
    parent, mode = folder.parent, 0o755 if folder.parent == _BESIDE else 0o700
    parent.mkdir(parents=True, exist_ok=True, mode=mode)
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(mode)
        _forget_unused(parent)
    for each in {folder, parent} - {_BESIDE}:
        if not _is_trusted(each.stat()):
            raise PermissionError(0, "it belongs to somebody else, or others can write there", str(each))
    probe = folder / f"{os.getpid()}.{time.monotonic_ns()}"
    probe.touch()
    probe.unlink()
    return folder


def _forget_unused(parent: Path) -> None:
    """Remove the code of other versions that has not grown for long."""
    for folder in parent.glob("kernels-*"):
        if _is_old(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _forget_older(folder: Path, name: str) -> None:
    """Remove code that was made long ago of other sources of the same kernel, for arguments of the same kinds."""
    for other in folder.glob(f"{name.rpartition('.')[0]}.*"):
        with contextlib.suppress(OSError):  # another process may have done it
            if _is_old(other):
                other.unlink()


def _is_old(path: Path) -> bool:
    return path.stat().st_mtime < time.time() - _UNUSED_SECONDS


@cache
def _key() -> str:
    """A name that is another one for another `native`, NumPy, Numba, LLVM, Python or processor, or other settings."""
    parts = (
        digest_of_native().encode(), _version_of_numba(),
        repr((
            np.__version__, llvmlite.__version__, object.__basicsize__, llvm.get_process_triple(),
            llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), _settings(),
        )).encode(),
    )  # fmt: skip
    return f"kernels-{xxhash.xxh3_128_hexdigest(b''.join(parts))}"


@cache
def _shipped() -> Path | None:
    """The folder with the code that came with the wheel, where it is what would be compiled."""
    return None if _settings() else shipped_folder(digest_of_native(), llvm.get_host_cpu_features)


def digest_of_native() -> str:
    """A word that is another one for another `native`."""
    hashed = xxhash.xxh3_128()
    for path in sorted(_PACKAGE.glob("native/*.py")):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def _settings() -> list[str]:
    """The settings that change what Numba compiles."""
    changing = {name for name in os.environ if name.startswith("NUMBA_")} - {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"}
    return sorted(f"{name}={os.environ[name]}" for name in changing)


def _version_of_numba() -> bytes:
    """The file in which Numba says which version it is: importing Numba takes longer than most commands."""
    numba = find_spec("numba")
    if numba is None or numba.origin is None:
        return b""
    with contextlib.suppress(OSError):
        return Path(numba.origin).with_name("_version.py").read_bytes()
    return numba.origin.encode()
