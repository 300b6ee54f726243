"""Files written aside and renamed, so that a name never stands for half a file.

A file under way is called `.NAME.XXXXXXXX.unfinished`, lies beside its place, and is locked by who writes it; so is a
folder of temporary files, `.NAME.XXXXXXXX.work`. What a killed program has left is not locked: the next one that writes
to the same name removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from gapgram.arguments import checked_path
from gapgram.errors import GapgramError, ModelFileError

try:
    import fcntl
except ImportError:  # not on Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

_LONGEST_STEM_BYTES = 200  # of 255 that most systems allow
_FILE, _FOLDER = ".unfinished", ".work"
_LEADS_NOWHERE = (errno.ELOOP, errno.ENAMETOOLONG)


def no_folder(path: str | Path, parent: Path) -> ModelFileError:
    """What is said of a file whose folder is none."""
    if parent.exists():
        return ModelFileError(f"{path}: {parent} is a file, not a folder; write to another place")
    return ModelFileError(f"{path}: the folder {parent} does not exist; make it first")


def check_writable(path: str | Path, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse a place where no file can be written, or that holds what is read; worth asking before long work."""
    target = Path(os.path.realpath(checked_path("file to write", path)))
    mode = _mode_of(path)
    if str(path) == "-":
        raise ModelFileError("-: a file gets its name once it is whole, so none goes to standard output; name one")
    if not target.parent.is_dir():
        raise no_folder(path, target.parent)
    if stat.S_ISDIR(mode):
        raise ModelFileError(f"{path}: a folder; name a file to write")
    if mode and not stat.S_ISREG(mode):
        raise ModelFileError(f"{path}: not a plain file; name a file to write")
    if mode and any(os.path.exists(i) and os.path.samefile(i, target) for i in inputs):
        raise ModelFileError(f"{path}: is read and would be replaced; name another file to write")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise ModelFileError(f"{path}: the folder {target.parent} may not be written to")


def _mode_of(path: str | Path) -> int:
    """Type and permissions of what is at a place, links followed; 0 where nothing is."""
    try:
        return os.stat(path).st_mode
    except OSError as error:
        if error.errno in _LEADS_NOWHERE:
            raise ModelFileError(f"{path}: no name for a file: {error.strerror}") from None
        return 0


class Aside:
    """A file under way: beside its place, private, locked until it has its name or is discarded."""

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        """Begin a file, or take up again the one that another process began under a name."""
        self.target = Path(os.path.realpath(path))
        if name is None:
            check_writable(path)
            self.path, lock = _created(self.target.name, self.target.parent, _FILE)
        else:
            self.path = self.target.parent / name
            lock = _locked(self.path, wait=False)
        self._unlock = weakref.finalize(self, _close, lock)

    def put_in_place(self) -> None:
        """Give the file its name; it must be whole and on disk."""
        move_into_place(self.path, self.target)
        self.release()

    def discard(self) -> None:
        """Remove what was written; nothing happens once the file has its name."""
        self.path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Leave the file as it is, for another process to take up."""
        self._unlock()


def move_into_place(aside: Path, path: str | Path) -> None:
    """Give a file of the same file system, whole and on disk, its name; a link stays, what it leads to changes."""
    target = Path(os.path.realpath(path))
    _take_permissions(aside, target)
    aside.replace(target)
    sync_folder(target.parent)


@contextlib.contextmanager
def written_aside(path: str | Path) -> Iterator[BinaryIO]:
    """A file that takes its final name only when all went well; where that is a link, what it leads to does."""
    aside = None
    try:
        aside = Aside(path)
        with aside.path.open("w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.put_in_place()
    except GapgramError:
        raise
    except OSError as error:
        raise cannot_write(Path(path), error) from None
    finally:
        if aside is not None:
            aside.discard()


def sync_folder(folder: Path) -> None:
    """Have it on disk which names a folder holds; where a system cannot say so, it is left to it."""
    if fcntl is None:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def short_name(name: str) -> str:
    """A name to make others from, which must not become too long: itself, or a digest of it.

    >>> short_name("model"), len(short_name(200 * "é"))
    ('model', 32)
    """
    data = os.fsencode(name)
    if len(data) <= _LONGEST_STEM_BYTES:
        return name
    import hashlib  # takes as long to load as all else that a command needs of this module

    return hashlib.sha256(data).hexdigest()[:32]


@contextlib.contextmanager
def temporary_folder(path: str | Path) -> Iterator[Path]:
    """A private folder for the temporary files of who writes to a place, beside that."""
    target = Path(os.path.realpath(path))
    try:
        folder, lock = _created(target.name, target.parent, _FOLDER)
    except OSError as error:
        raise cannot_write(Path(path), error) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _close(lock)


def _created(name: str, folder: Path, suffix: str) -> tuple[Path, int | None]:
    """A new file or folder for a name, and its lock; leftovers of that name are removed first."""
    _remove_leftovers(name, folder)
    while True:
        made = _make(prefix=_prefix(name), suffix=suffix, dir=folder)
        lock = _locked(Path(made), wait=True)
        if lock is None or os.path.exists(made):
            return Path(made), lock
        os.close(lock)  # another process took it for a leftover before it was locked


def _make(*, prefix: str, suffix: str, dir: Path) -> str:
    if suffix == _FOLDER:
        return tempfile.mkdtemp(suffix, prefix, dir)
    handle, name = tempfile.mkstemp(suffix, prefix, dir)
    os.close(handle)
    return name


def _prefix(name: str) -> str:
    return f".{short_name(name)}."


def _locked(path: Path, *, wait: bool) -> int | None:
    """A lock on a file or folder; None where it cannot be had."""
    if fcntl is None:
        return None
    handle = None
    try:
        handle = os.open(path, (os.O_RDONLY if path.is_dir() else os.O_RDWR) | os.O_NOFOLLOW)
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        _close(handle)
        return None
    return handle


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def _remove_leftovers(name: str, folder: Path) -> None:
    """Remove what programs that were killed have left of a name: what this user has and nobody has locked."""
    if fcntl is None:
        return
    leftover = re.compile(rf"{re.escape(_prefix(name))}[a-z0-9_]{{8}}(?:{re.escape(_FILE)}|{re.escape(_FOLDER)})")
    with os.scandir(folder) as entries:
        leftovers = [Path(entry.path) for entry in entries if leftover.fullmatch(entry.name) and _is_ours(entry)]
    for path in leftovers:
        lock = _locked(path, wait=False)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
            os.close(lock)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.is_symlink() and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except FileNotFoundError:  # removed by another process meanwhile
        return False


def _take_permissions(aside: Path, target: Path) -> None:
    """Those of the file that is replaced, and its owner where that may be given; else those of any new file."""
    try:
        old = os.stat(target)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        aside.chmod(0o666 & ~mask)
        return
    mode, new = stat.S_IMODE(old.st_mode) & 0o777, os.stat(aside)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.chown(aside, old.st_uid, old.st_gid)
        except OSError:
            mode &= 0o707 | (mode & 0o007) << 3  # another group now: it may do what all others may
    aside.chmod(mode)


def cannot_write(path: Path, error: OSError, outcome: str = "; nothing was kept") -> OSError:
    """What to say of a file that could not be written; what already says so itself, as it is."""
    if isinstance(error, GapgramError):
        return error
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ModelFileError(f"{path}: no room left while writing ({error.strerror}){outcome}")
    return ModelFileError(f"{path}: cannot be written: {error.strerror}")
