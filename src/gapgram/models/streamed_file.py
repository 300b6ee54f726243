"""A model file whose tables are never whole in memory: written piece by piece, mapped, then completed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gapgram.classes.classes import Classes
from gapgram.counting.band import NO_CUTS, Cuts
from gapgram.counting.in_memory import check_longest
from gapgram.counting.text_source import TextSource
from gapgram.counts.assemble import NO_COUNTS, flat_classes
from gapgram.counts.counts import Counts
from gapgram.estimation.parts import ModelParts
from gapgram.kernels.tables.arrays import Tables
from gapgram.lattice import Lattice
from gapgram.models import file as model_file
from gapgram.system import array_file as container
from gapgram.system.array_file import Unfinished
from gapgram.system.array_reading import Mapped
from gapgram.system.mapped_pages import PageBudget, release_pages
from gapgram.system.work_folder import UNFINISHED, WorkFolder

_TABLES, _MODEL = "tables", "model"  # stages that are noted in the work folder


class TablesInFile:
    """The tables of a model in its own file, which has the same bytes as one that `Model.save` writes.

    folder: of the run, where it is noted what is done, for another run to go on with.
    most_resident: pages of the file are given back when the process holds more bytes.
    """

    def __init__(self, path: Path, folder: WorkFolder, *, most_resident: int) -> None:
        self.path, self._folder, self._most_resident = path, folder, most_resident

    def finished(self) -> ModelParts | None:
        """The model, where an earlier run has finished it."""
        if self._folder.done(_MODEL) is None or not self.path.is_file():
            return None
        return model_file.read(self.path, most_resident=self._most_resident)

    def count(
        self, text: TextSource, lattice: Lattice, classes: Sequence[Classes], cuts: Cuts = NO_CUTS
    ) -> Counts:
        """The counts of a text, in tables that are mapped from this file; counted now unless an earlier run did."""
        check_longest(text.longest_sentence, lattice.order)
        noted = self._folder.done(_TABLES)
        resumed = Unfinished.resumed(self.path, container.MODEL, noted) if noted else None
        self._file = resumed or self._written(text, lattice, classes, cuts)
        numbers = self._folder.done(_TABLES)["seen"]
        seen = {pattern: np.array(numbers[str(pattern)]) for pattern in cuts}
        self._mapped = Mapped(self._file.aside)
        arrays, pages = self._mapped.arrays_of(self._file.sections), PageBudget(self._most_resident, self._mapped.map)
        tables = Tables(**{name: arrays[name] for name in Tables._fields if name in arrays})
        return Counts(lattice, text.vocabulary, text.facts, tables, flat_classes(classes)[1], pages=pages, seen=seen)

    def _written(self, text: TextSource, lattice: Lattice, classes: Sequence[Classes], cuts: Cuts) -> Unfinished:
        """A new file with the words and tables of a text."""
        tables = text.tables(lattice, classes, cuts)
        class_of, word_counts = flat_classes(classes)[0], text.word_counts if classes else NO_COUNTS
        file = Unfinished(self.path, container.MODEL)
        self._folder.discard_unfinished(self.path)
        self._folder.note(UNFINISHED, file.aside.name)
        try:
            for section, array in Counts.word_arrays(text.vocabulary).items():
                file.add(section, array)
            for stream in tables.streams(class_of, word_counts, whole=not cuts):
                file.add_stream(stream)
            seen = {str(pattern): tables.seen[pattern].tolist() for pattern in cuts}
            self._folder.note(_TABLES, {**file.state, "seen": seen})
        except BaseException:
            if self._folder.done(_TABLES) is None:
                file.discard()
            raise
        return file

    def finish(self, parts: ModelParts) -> ModelParts:
        """Add what is not there yet, give the file its name, and map it."""
        release_pages(self._mapped.map)
        self._file.complete(*parts.contents())
        self._folder.note(_MODEL, self.path.name)
        return model_file.read(self.path, most_resident=self._most_resident)
