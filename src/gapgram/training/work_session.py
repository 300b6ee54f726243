"""The temporary files of a training run, from its beginning to its end, whatever that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gapgram.errors import GapgramError, ModelFileError, UsageError
from gapgram.models.streamed_file import discard_unfinished
from gapgram.system.work_folder import WorkFolder
from gapgram.training.limits import TrainingLimits


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


@contextmanager
def work_session(limits: TrainingLimits, *, lasting: bool, resume: bool) -> Iterator[WorkSession]:
    """The temporary files of a run while it lasts.

    After an interruption, or an error such as a full disk, the folder stays if a stage was done, for another run to go
    on with; after success and all other errors it is removed. What a run that was killed has left is removed by the
    next run to the same output. `lasting` is False where no other run could have the same input.
    """
    session = WorkSession(limits.work_folder)
    leftover = None if resume else WorkFolder.leftover(limits.work_folder)
    if leftover is not None:
        _remove(leftover, limits)
    try:
        yield session
    except BaseException as error:
        folder = session.folder
        if folder is None or not lasting or not folder.any_done or not _mendable(error):
            if isinstance(error, OSError) and not isinstance(error, GapgramError):
                where = error.filename or limits.work_folder
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
            _remove(session.folder, limits)


def _remove(folder: WorkFolder, limits: TrainingLimits) -> None:
    discard_unfinished(limits.output, folder)
    folder.remove()


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
