"""The temporary files of a training run, from its beginning to its end, whatever that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gapgram.errors import GapgramError, ModelFileError, UsageError
from gapgram.models.streamed_file import discard_unfinished
from gapgram.system.work_folder import WorkFolder
from gapgram.training.limits import TrainingLimits


class WorkSession:
    """The work folder of a run, made when it is first needed; use it as a context manager.

    After an interruption, or an error such as a full disk, the folder stays if a stage was done, for another run to go
    on with; after success and all other errors it is removed. What a run that was killed has left is removed by the
    next run to the same output. `lasting` is False where no other run could have the same input.
    """

    def __init__(self, limits: TrainingLimits, *, lasting: bool, resume: bool) -> None:
        self._limits, self._lasting = limits, lasting
        self._folder: WorkFolder | None = None
        leftover = None if resume else WorkFolder.leftover(limits.work_folder)
        if leftover is not None:
            self._remove(leftover)

    def resume(self, identity: Mapping[str, Any]) -> WorkFolder | None:
        """The folder of an interrupted run to go on with; None where there is none."""
        self._folder = WorkFolder.resume(self._limits.work_folder, identity)
        return self._folder

    def begin(self, identity: Mapping[str, Any]) -> WorkFolder:
        """A new folder, unless this run goes on with another."""
        if self._folder is None:
            self._folder = WorkFolder.begin(self._limits.work_folder, identity)
        return self._folder

    def _remove(self, folder: WorkFolder) -> None:
        discard_unfinished(self._limits.output, folder)
        folder.remove()

    def __enter__(self) -> WorkSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._folder is None:
            return
        if error is None or not self._lasting or not self._folder.any_done or not _mendable(error):
            self._remove(self._folder)
            return
        self._folder.close()
        kept = f"what is done is kept in {self._folder.path}: go on with --resume, or delete it"
        if isinstance(error, Exception):
            raise UsageError(f"{_said(error)}; {kept}") from error
        error.kept = kept  # type: ignore[attr-defined] # for who tells the user that the run was interrupted


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
