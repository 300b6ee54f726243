"""The folder of a long run: temporary files, and what is done already, so that an interrupted run can go on.

The folder belongs to one run: to its texts (paths, sizes, times of their last change) and its options. A run that
should go on from it and has others is refused. Each stage, once done, is noted in a small file; what the stage wrote is
on disk before that. It is private to its user, because it may lie where others can write: a folder of that name which
somebody else has made, or a link, is refused.

Not all of it is synced, which would take long, and disks fail: so notes and files have checksums, and what is not as it
was left is made again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

import xxhash

from gapgram.errors import GapgramError, ModelFileError, UsageError

try:
    import fcntl
except ImportError:  # not on Windows, where two runs of one output are not noticed
    fcntl = None  # type: ignore[assignment]

_IDENTITY, _LOCK, _DONE = "run.json", "lock", "done-"
UNFINISHED = "file"  # the stage that notes the name of the unfinished file beside the output
_CHUNK_BYTES = 1 << 22


class WorkFolder:
    """Temporary files of one run."""

    def __init__(self, path: Path, lock: IO[str]) -> None:
        self.path, self._lock = path, lock

    @classmethod
    def begin(cls, path: Path, identity: Mapping[str, Any]) -> WorkFolder:
        """A new folder; what an earlier run left there is removed."""
        lock = _locked(path)
        others = [entry for entry in path.iterdir() if entry.name != _LOCK]
        if not _is_left_by_a_run(path):
            lock.close()
            raise UsageError(f"{path}: holds other files; name another folder for temporary files (--tmp)")
        for entry in others:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        folder = cls(path, lock)
        try:
            with folder.written(_IDENTITY) as file:
                file.write(json.dumps(identity).encode())
        except OSError:
            folder.remove()
            raise
        return folder

    @classmethod
    def resume(cls, path: Path, identity: Mapping[str, Any]) -> WorkFolder | None:
        """The folder of an interrupted run with the same texts and options; None where there is none."""
        if not (path / _IDENTITY).is_file():
            return None
        lock = _locked(path)
        try:
            before = json.loads((path / _IDENTITY).read_text())
            now = json.loads(json.dumps(identity))  # as it was written
            other = {k: before.get(k) for k in {**before, **now} if before.get(k) != now.get(k)}
        except (ValueError, AttributeError, OSError):
            lock.close()
            raise UsageError(f"{path}: not as gapgram leaves it; start anew, without --resume") from None
        if other:
            lock.close()
            name, value = next(iter(other.items()))
            raise UsageError(
                f"{path}: the interrupted run had another {name} ({_short(value)}, now "
                f"{_short(identity.get(name))}): give what it had, or start anew, without --resume"
            )
        return cls(path, lock)

    @classmethod
    def leftover(cls, path: Path) -> WorkFolder | None:
        """The folder of an interrupted run, whatever it had for input, to be removed; None where there is none."""
        if not path.is_dir() or not _is_left_by_a_run(path):
            return None
        return cls(path, _locked(path))

    @property
    def any_done(self) -> bool:
        """Whether a stage is done, so that another run could go on."""
        return any(self.path.glob(f"{_DONE}*"))

    @property
    def bytes(self) -> int:
        """The disk that its files take."""
        return sum(entry.stat().st_size for entry in self.path.rglob("*") if entry.is_file())

    def discard_unfinished(self, output: Path) -> None:
        """Remove the unfinished file that the run has left beside its output."""
        name = self.done(UNFINISHED)
        if name is not None:
            (Path(os.path.realpath(output)).parent / Path(name).name).unlink(missing_ok=True)

    def inside(self, name: str) -> WorkFolder:
        """A folder in this folder, for work that has the same files and stages."""
        (self.path / name).mkdir(exist_ok=True)
        return WorkFolder(self.path / name, self._lock)

    def done(self, stage: str) -> Any:
        """What was noted of a stage; None while it is not done, or where the note is not as it was left."""
        try:
            noted = json.loads((self.path / f"{_DONE}{stage}").read_text("utf-8"))
            return noted["values"] if noted["checksum"] == _checksum_of(noted["values"]) else None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def note(self, stage: str, values: Any) -> None:
        """Note that a stage is done."""
        with self.written(f"{_DONE}{stage}", synced=False) as file:
            file.write(json.dumps({"values": values, "checksum": _checksum_of(values)}).encode())

    def checksums(self, names: Iterable[str]) -> dict[str, str]:
        """The checksum of each of some files of the folder; none of one that cannot be read."""
        checksums = {}
        for name in names:
            checksum = xxhash.xxh3_64()
            try:
                with (self.path / name).open("rb") as file:
                    while chunk := file.read(_CHUNK_BYTES):
                        checksum.update(chunk)
            except OSError:
                continue
            checksums[name] = checksum.hexdigest()
        return checksums

    def forget(self, stages: str) -> None:
        """Forget the stages whose names begin so."""
        for path in self.path.glob(f"{_DONE}{stages}*"):
            path.unlink()

    @contextlib.contextmanager
    def written(self, name: str, *, synced: bool = True) -> Iterator[BinaryIO]:
        """A file of the folder that appears only when it is whole, and, if synced, is on disk then."""
        aside = self.path / f"{name}.unfinished"
        with aside.open("wb") as file:
            yield file
            file.flush()
            if synced:
                os.fsync(file.fileno())
        aside.replace(self.path / name)

    def close(self) -> None:
        """Leave the folder as it is, for another run to go on with."""
        self._lock.close()

    def remove(self) -> None:
        """Remove the folder and all in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


class WorkSession:
    """The work folder of a run, made when it is first needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.folder: WorkFolder | None = None

    def resume(self, identity: Mapping[str, Any]) -> WorkFolder | None:
        """The folder of an interrupted run to go on with; None where there is none."""
        self.folder = WorkFolder.resume(self._path, identity)
        return self.folder

    def begin(self, identity: Mapping[str, Any]) -> WorkFolder:
        """A new folder, unless this run goes on with another."""
        if self.folder is None:
            self.folder = WorkFolder.begin(self._path, identity)
        return self.folder


@contextlib.contextmanager
def work_session(path: Path, output: Path, *, lasting: bool, resume: bool) -> Iterator[WorkSession]:
    """The temporary files of a run to an output, in a folder of this path, while it lasts.

    After an interruption, or an error such as a full disk, the folder stays if a stage was done, for another run to go
    on with; after success and all other errors it is removed. What a run that was killed has left is removed by the
    next run to the same output. `lasting` is False where no other run could have the same input.
    """
    session = WorkSession(path)
    leftover = None if resume else WorkFolder.leftover(path)
    if leftover is not None:
        leftover.discard_unfinished(output)
        leftover.remove()
    try:
        yield session
    except BaseException as error:
        folder = session.folder
        if folder is None or not lasting or not folder.any_done or not _mendable(error):
            if isinstance(error, OSError) and not isinstance(error, GapgramError):
                where = error.filename or path
                raise ModelFileError(f"{where}: cannot be written: {error.strerror}; nothing was kept") from error
            raise
        session.folder = None
        folder.close()
        kept = f"what is done is kept in {folder.path}: go on with --resume, or delete it"
        if isinstance(error, Exception):
            raise UsageError(f"{_said(error)}; {kept}") from error
        error.kept = kept  # type: ignore[attr-defined] # for who tells the user that the run was interrupted
        raise
    finally:
        if session.folder is not None:
            session.folder.discard_unfinished(output)
            session.folder.remove()


def _mendable(error: BaseException) -> bool:
    """Whether the same run could do better another time: it was stopped, or something was lacking."""
    if isinstance(error, GapgramError):
        return isinstance(error, ModelFileError) and isinstance(error.__context__, OSError)
    return isinstance(error, OSError | MemoryError) or not isinstance(error, Exception)


def _said(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError) and not isinstance(error, GapgramError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    return str(error)


def _checksum_of(values: Any) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(values).encode())


def _is_left_by_a_run(path: Path) -> bool:
    """Whether a folder holds what a run writes, or as little as one that was killed at once has left."""
    names = {entry.name for entry in path.iterdir()}
    return _IDENTITY in names or names <= {_LOCK, f"{_IDENTITY}.unfinished"}


def _make_private(path: Path) -> None:
    """Make a folder that only its user may enter, or see to it that one that is there is so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        path.mkdir(0o700)
    facts = path.lstat()
    if stat.S_ISLNK(facts.st_mode) or (fcntl is not None and facts.st_uid != os.geteuid()):
        raise UsageError(
            f"{path}: a link, or another user's: not used for temporary files; name another folder for them (--tmp)"
        )
    if stat.S_IMODE(facts.st_mode) & 0o077 and stat.S_ISDIR(facts.st_mode):
        path.chmod(0o700)


def _locked(path: Path) -> IO[str]:
    try:
        _make_private(path)
        lock = (path / _LOCK).open("a")
    except UsageError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: cannot be used for temporary files: {error.strerror}") from None
    if fcntl is not None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise UsageError(f"{path}: in use by another run; wait for it, or write to another output") from None
    return lock


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
