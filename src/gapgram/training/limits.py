"""Training within a limit of memory: what a run may hold, and the folder it works in where that is not enough."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapgram.counting.size_estimates import file_bytes, held_bytes, work_bytes
from gapgram.errors import GapgramError, ModelFileError, UsageError
from gapgram.estimation.weights.sample import sample_bytes, sample_positions
from gapgram.lattice import Lattice
from gapgram.models.streamed_file import discard_tables
from gapgram.signature import __version__
from gapgram.system.atomic_file import short_name
from gapgram.system.memory import PROGRAM, check_room, default_memory, parse_size, resident, show_size, trim
from gapgram.system.parallel import checked_threads
from gapgram.system.work_folder import WorkFolder
from gapgram.text.compressed import decompressed
from gapgram.text.corpus import Paths, as_paths
from gapgram.text.files import open_raw

_WORD_BYTES = 5  # of a word of plain text, with its space: for a first guess
_PACKED = 4  # how much larger a compressed text is inside


@dataclass(frozen=True)
class Limits:
    """The memory a run may take, and where it may write temporary files."""

    memory: int
    threads: int
    output: Path
    tmp: Path
    held_before: int

    @classmethod
    def of(cls, memory: str | int | None, threads: int | None, output: str | Path, tmp: str | Path | None) -> Limits:
        """Limits from what a user says; by default half of the memory there is, and the folder of the output."""
        place = Path(os.path.realpath(output))
        folder = Path(tmp) if tmp is not None else place.parent
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder for temporary files; make it, or name another (--tmp)")
        limit = default_memory() if memory is None else parse_size(memory)
        return cls(limit, checked_threads(threads), place, folder.resolve(), resident())

    @property
    def work_folder(self) -> Path:
        """The folder of temporary files, the same for the same output, so that it is found again."""
        if self.tmp == self.output.parent:
            return self.tmp / f".{short_name(self.output.name)}.work"
        return self.tmp / f"gapgram-{hashlib.sha256(os.fsencode(self.output)).hexdigest()[:16]}.work"

    def most_held(self, lattice: Lattice, *, learned: bool) -> int:
        """The ids of a text that can be counted, and weights learned from it, all in memory."""

        def needed(positions: int) -> int:
            sample = min(positions, sample_positions(len(lattice.stored))) if learned else 0
            return held_bytes(positions, lattice, self.threads) + sample * self._sample_bytes(lattice)

        return max(0, bisect_right(range(1 << 31), self.memory, key=needed) - 1)

    def sample_fits(self, lattice: Lattice) -> bool:
        """Whether a sample to learn weights from may be held in memory."""
        return 2 * sample_positions(len(lattice.stored)) * self._sample_bytes(lattice) <= self.left()

    @staticmethod
    def _sample_bytes(lattice: Lattice) -> int:
        return sample_bytes(len(lattice.stored), lattice.order)

    def left(self) -> int:
        """The memory that the next stage may take: what is not held already, by a vocabulary for example."""
        trim()
        held = max(0, resident() - self.held_before - PROGRAM)
        return max(self.memory - held, self.memory // 2)

    @property
    def most_resident(self) -> int:
        """What the process may hold in all."""
        return self.memory + self.held_before + PROGRAM

    def check_memory(self, needed: int, what: str, otherwise: str) -> None:
        """Refuse work that takes more memory than there may be."""
        if needed > self.left():
            raise UsageError(
                f"{what} takes about {show_size(needed)} of memory, and {show_size(self.left())} are left: "
                f"allow more (--memory), or {otherwise}"
            )

    def check_room(self, positions: int, lattice: Lattice, used: int = 0) -> None:
        """Refuse work for which the disks have too little room; `used` bytes are there already."""
        needed = {self.tmp: max(0, work_bytes(positions, lattice) - used)}
        needed[self.output.parent] = needed.get(self.output.parent, 0) + file_bytes(positions, lattice)
        check_room(needed)


def guessed_positions(texts: Paths) -> int:
    """About how many ids text files will have, by their sizes; standard input counts as nothing."""
    total = 0
    for path in as_paths(texts):
        if os.path.isfile(path):
            with open_raw(path) as raw:
                kind, _ = decompressed(raw)
            total += os.path.getsize(path) * (1 if kind == "plain" else _PACKED)
    return total // _WORD_BYTES


def identity(read: Mapping[str, Paths | None], options: Mapping[str, Any]) -> dict[str, Any]:
    """What a work folder belongs to: files as they are now, and options."""
    files = {name: [_file(path) for path in as_paths(paths)] for name, paths in read.items() if paths is not None}
    return {"gapgram": __version__, **files, **options}


def _file(path: str | Path) -> list[Any]:
    try:
        facts = os.stat(path)
    except OSError:
        return [str(path)]
    return [os.path.abspath(path), facts.st_size, facts.st_mtime_ns]


class Work:
    """The work folder of a run, made when it is first needed; use it as a context manager.

    After an interruption, or an error such as a full disk, the folder stays if a stage was done, for another run to go
    on with; after success and all other errors it is removed. `lasting` is False where no other run could have the
    same input.
    """

    def __init__(self, limits: Limits, belongs_to: Mapping[str, Any], *, resume: bool, lasting: bool) -> None:
        self._limits, self._identity, self._lasting = limits, belongs_to, lasting
        path = limits.work_folder
        self.found = WorkFolder.resume(path, belongs_to) if resume else None
        self._folder = self.found
        if not resume and (leftover := WorkFolder.leftover(path)) is not None:
            self._remove(leftover)

    def folder(self) -> WorkFolder:
        """The folder; a new one unless this run goes on with another."""
        if self._folder is None:
            self._folder = WorkFolder.begin(self._limits.work_folder, self._identity)
        return self._folder

    def _remove(self, folder: WorkFolder) -> None:
        discard_tables(self._limits.output, folder)
        folder.remove()

    def __enter__(self) -> Work:
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
        return isinstance(error, ModelFileError) and isinstance(error.__context__, OSError)  # not written
    return isinstance(error, OSError | MemoryError) or not isinstance(error, Exception)


def _said(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    return str(error)
