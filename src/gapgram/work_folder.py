"""The folder of a long run: temporary files, and what is done already, so that an interrupted run can go on.

The folder belongs to one run: to its texts (paths, sizes, times of their last change) and its options. A run that
should go on from it and has others is refused. Stages, once done, are noted in one small file that is replaced, never
changed; what a stage wrote is on disk before it is noted.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

from gapgram.errors import UsageError

try:
    import fcntl
except ImportError:  # not on Windows, where two runs of one output are not noticed
    fcntl = None  # type: ignore[assignment]

_NOTES, _LOCK = "run.json", "lock"


class WorkFolder:
    """Temporary files of one run."""

    def __init__(self, path: Path, notes: dict[str, Any], lock: IO[str]) -> None:
        self.path, self._notes, self._lock = path, notes, lock

    @classmethod
    def begin(cls, path: Path, identity: Mapping[str, Any]) -> WorkFolder:
        """A new folder; what an earlier run left there is removed."""
        lock = _locked(path)
        others = [entry for entry in path.iterdir() if entry.name != _LOCK]
        if others and not (path / _NOTES).is_file():
            lock.close()
            raise UsageError(f"{path}: holds other files; name another folder for temporary files (--tmp)")
        for entry in others:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        folder = cls(path, {"identity": _plain(identity), "stages": {}}, lock)
        folder._write_notes()
        return folder

    @classmethod
    def resume(cls, path: Path, identity: Mapping[str, Any]) -> WorkFolder | None:
        """The folder of an interrupted run with the same texts and options; None where there is none."""
        if not (path / _NOTES).is_file():
            return None
        lock = _locked(path)
        try:
            notes = json.loads((path / _NOTES).read_text())
            other = {k: v for k, v in notes["identity"].items() if v != _plain(identity).get(k)}
            notes["stages"].items()
        except (ValueError, KeyError, AttributeError, OSError):
            lock.close()
            raise UsageError(f"{path}: not as gapgram leaves it; start anew, without --resume") from None
        if other:
            lock.close()
            name, before = next(iter(other.items()))
            raise UsageError(
                f"{path}: the interrupted run had another {name} ({_short(before)}, now "
                f"{_short(identity.get(name))}): give what it had, or start anew, without --resume"
            )
        return cls(path, notes, lock)

    @classmethod
    def leftover(cls, path: Path) -> WorkFolder | None:
        """The folder of an interrupted run, whatever it had for input, to be removed; None where there is none."""
        if not (path / _NOTES).is_file():
            return None
        lock = _locked(path)
        try:
            notes = json.loads((path / _NOTES).read_text())
        except ValueError:
            notes = {}
        return cls(path, notes if "stages" in notes else {"stages": {}}, lock)

    @property
    def any_done(self) -> bool:
        """Whether a stage is done, so that another run could go on."""
        return bool(self._notes["stages"])

    @property
    def bytes(self) -> int:
        """The disk that its files take."""
        return sum(entry.stat().st_size for entry in self.path.iterdir())

    def done(self, stage: str) -> Any:
        """What was noted of a stage; None while it is not done."""
        return self._notes["stages"].get(stage)

    def note(self, stage: str, values: Any) -> None:
        """Note that a stage is done."""
        self._notes["stages"][stage] = values
        self._write_notes()

    def forget(self, stages: str) -> None:
        """Forget the stages whose names begin so."""
        for stage in [stage for stage in self._notes["stages"] if stage.startswith(stages)]:
            del self._notes["stages"][stage]
        self._write_notes()

    def _write_notes(self) -> None:
        with self.written(_NOTES) as file:
            file.write(json.dumps(self._notes).encode())

    @contextlib.contextmanager
    def written(self, name: str) -> Iterator[BinaryIO]:
        """A file of the folder that appears, on disk, only when it is whole."""
        aside = self.path / f"{name}.unfinished"
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self.path / name)

    def close(self) -> None:
        """Leave the folder as it is, for another run to go on with."""
        self._lock.close()

    def remove(self) -> None:
        """Remove the folder and all in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def _locked(path: Path) -> IO[str]:
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / _LOCK).open("a")
    except OSError as error:
        raise UsageError(f"{path}: cannot be used for temporary files: {error.strerror}") from None
    if fcntl is not None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise UsageError(f"{path}: in use by another run; wait for it, or write to another output") from None
    return lock


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back."""
    plain: dict[str, Any] = json.loads(json.dumps(values))
    return plain


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
