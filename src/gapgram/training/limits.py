"""The memory and disk of a training run: what it may take, what it will need before it begins, and where it works."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gapgram.classes.classes import Classes
from gapgram.counting.band import NO_CUTS, Cuts
from gapgram.counting.in_memory import counts_in_memory
from gapgram.counting.memory_needs import (
    COUNTED_GRAM_BYTES,
    FILE_GRAM_BYTES,
    crosswise_positions,
    grams_per_position,
    sample_bytes,
    sample_positions,
    threads_within,
)
from gapgram.counting.text_source import TextSource
from gapgram.counts.counts import Counts
from gapgram.errors import UsageError
from gapgram.lattice import Lattice
from gapgram.models.streamed_file import TablesInFile
from gapgram.system.atomic_file import check_writable, short_name
from gapgram.system.memory import MemoryLimit, check_disk_space
from gapgram.system.work_folder import WorkFolder, WorkSession


@dataclass(frozen=True)
class TrainingLimits:
    """The memory and threads a run may take, the file it writes, and where its temporary files go.

    work_folder: the same for the same output, so that it is found again.
    """

    memory: MemoryLimit
    threads: int
    output: Path
    tmp: Path
    work_folder: Path

    @classmethod
    def of(
        cls,
        memory: str | int | None,
        threads: int,
        output: str | Path,
        tmp: str | Path | None,
        inputs: Iterable[str | Path] = (),
    ) -> TrainingLimits:
        """Limits from what a user says; by default half of the memory there is, and the folder of the output.

        An output that cannot be written, or is one of the inputs, is refused.
        """
        check_writable(output, inputs)
        path = Path(os.path.realpath(output))
        folder = Path(tmp) if tmp is not None else path.parent
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder for temporary files; make it, or name another (--tmp)")
        tmp = folder.resolve()
        if tmp == path.parent:
            work_folder = tmp / f".{short_name(path.name)}.work"
        else:
            work_folder = tmp / f"gapgram-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}.work"
        return cls(MemoryLimit.of(memory), threads, path, tmp, work_folder)

    def check_disk(self, positions: int, lattice: Lattice, *, used: int = 0, copies: int = 0) -> None:
        """Refuse work for which the disks have too little room.

        used: bytes of temporary files that are there already. copies: of the model, among the temporary files.
        """
        grams = grams_per_position(lattice)
        ids_and_windows = 8 + 4 * (lattice.order + 1)
        temporary = int(positions * (ids_and_windows + (COUNTED_GRAM_BYTES + copies * FILE_GRAM_BYTES) * grams))
        needed = {self.tmp: max(0, temporary - used)}
        model = int(positions * FILE_GRAM_BYTES * grams)
        needed[self.output.parent] = needed.get(self.output.parent, 0) + model
        check_disk_space(needed)


@dataclass(frozen=True)
class Workspace:
    """Where a run works: in memory alone, or within limits, what is too large for them in files.

    session: begins and resumes the folder of such files. tables: the file in which the tables are made.
    """

    limits: TrainingLimits | None = None
    session: WorkSession | None = None
    folder: WorkFolder | None = None
    tables: TablesInFile | None = None

    @property
    def memory(self) -> MemoryLimit | None:
        """What it may take, if there is a limit."""
        return self.limits.memory if self.limits is not None else None

    def count(
        self, text: TextSource, lattice: Lattice, classes: Sequence[Classes], threads: int, cuts: Cuts = NO_CUTS
    ) -> Counts:
        """The counts of a text."""
        if self.tables is not None:
            return self.tables.count(text, lattice, classes, cuts)
        return counts_in_memory(text, lattice, classes, threads=threads, cuts=cuts)

    def of_sample(self, lattice: Lattice, threads: int, *, crosswise: int = 0) -> tuple[int, Path | None]:
        """How many threads may look a sample up, and where it is kept, if not in memory.

        crosswise: the positions of a text that is fitted crosswise.
        """
        if self.limits is None or self.folder is None:
            return threads, None
        n_patterns, left = len(lattice.stored), self.limits.memory.left()
        positions = min(crosswise, crosswise_positions(n_patterns)) or sample_positions(n_patterns)
        fits = 2 * positions * sample_bytes(n_patterns, lattice.order) <= left
        return min(self.limits.threads, threads_within(left, n_patterns)), None if fits else self.folder.path

    def inside(self, name: str) -> Workspace:
        """That of a part of the run, with files and tables of its own."""
        if self.limits is None or self.folder is None:
            return Workspace()
        folder = self.folder.inside(name)
        tables = TablesInFile(folder.path / "model", folder, most_resident=self.limits.memory.most_resident)
        return Workspace(self.limits, folder=folder, tables=tables)


IN_MEMORY = Workspace()
