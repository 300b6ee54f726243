"""A model file whose tables are never whole in memory: written piece by piece, mapped, then completed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gapgram.classes.classes import Classes, flat_classes
from gapgram.counting.in_memory import check_longest, counts_in_memory
from gapgram.counting.text_source import TextSource
from gapgram.counts.assemble import NO_COUNTS
from gapgram.counts.counts import Counts
from gapgram.counts.streaming import table_streams
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.history_weights import HistoryWeights
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights import Weights
from gapgram.kernels.tables import Tables
from gapgram.lattice import Lattice
from gapgram.models import file as model_file
from gapgram.system import array_file as container
from gapgram.system.array_file import Unfinished
from gapgram.system.array_reading import Mapped
from gapgram.system.atomic_file import cannot_write
from gapgram.system.mapped_pages import PageBudget, release_pages
from gapgram.system.work_folder import WorkFolder

_BEGUN, _TABLES, _MODEL = "file", "tables", "model"  # stages that are noted in the work folder


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

    def count(self, text: TextSource, lattice: Lattice, classes: Sequence[Classes]) -> Counts:
        """The counts of a text, in tables that are mapped from this file; counted now unless an earlier run did."""
        check_longest(text.longest_sentence, lattice.order)
        noted = self._folder.done(_TABLES)
        resumed = Unfinished.resumed(self.path, container.MODEL, noted) if noted else None
        self._file = resumed or self._written(text, lattice, classes)
        self._mapped = Mapped(self._file.aside)
        arrays, pages = self._mapped.arrays_of(self._file.sections), PageBudget(self._most_resident, self._mapped.map)
        tables = Tables(**{name: arrays[name] for name in Tables._fields if name in arrays})
        return Counts(lattice, text.vocabulary, text.facts, tables, flat_classes(classes)[1], pages=pages)

    def _written(self, text: TextSource, lattice: Lattice, classes: Sequence[Classes]) -> Unfinished:
        """A new file with the words and tables of a text."""
        pieces = text.pieces(lattice, classes)
        class_of, word_counts = flat_classes(classes)[0], text.word_counts if classes else NO_COUNTS
        file = Unfinished.new(self.path, container.MODEL)
        discard_unfinished(self.path, self._folder)
        self._folder.note(_BEGUN, file.aside.name)
        try:
            for section, array in Counts.word_arrays(text.vocabulary).items():
                file.add(section, array)
            for stream in table_streams(lattice.stored, pieces, class_of, word_counts):
                file.add_stream(stream)
            self._folder.note(_TABLES, file.state)
        except BaseException:
            if self._folder.done(_TABLES) is None:
                file.discard()
            raise
        return file

    def finish(
        self, name: str, counts: Counts, discounts: Discounts, weights: Weights, history: HistoryWeights | None = None
    ) -> ModelParts:
        """Add what is not there yet, give the file its name, and map it."""
        release_pages(self._mapped.map)
        sections, metadata = ModelParts.of(name, counts, discounts, weights, history).contents()
        written = {section.name for section in self._file.sections}
        for section, array in sections.items():
            if section not in written:
                self._file.add(section, array)
        self._file.finish(metadata)
        self._folder.note(_MODEL, self.path.name)
        return model_file.read(self.path, most_resident=self._most_resident)


class TablesWrittenAhead:
    """Tables in memory that are written to the file of the model while the rest of it is worked out.

    The file has the same bytes as one that `Model.save` writes.
    """

    def __init__(self, path: Path, *, threads: int) -> None:
        self._path, self._threads, self._pool = path, threads, ThreadPoolExecutor(1)
        self._file: Unfinished | None = None

    def count(self, text: TextSource, lattice: Lattice, classes: Sequence[Classes]) -> Counts:
        """The counts of a text, in memory."""
        counts = counts_in_memory(text, lattice, classes, threads=self._threads)
        self._file = Unfinished.new(self._path, container.MODEL)
        self._writing = self._pool.submit(self._write, self._file, counts)
        return counts

    def _write(self, file: Unfinished, counts: Counts) -> set[str]:
        """Write what counts consist of, to the disk itself; the names of the sections."""
        sections, _ = counts.contents()
        try:
            for name, array in sections.items():
                file.add(name, array)
            file.sync()
        except OSError as error:
            raise cannot_write(self._path, error) from None
        return set(sections)

    def finish(
        self, name: str, counts: Counts, discounts: Discounts, weights: Weights, history: HistoryWeights | None = None
    ) -> ModelParts:
        """Add what is not there yet, and give the file its name."""
        assert self._file is not None, "counting comes first"
        parts = ModelParts.of(name, counts, discounts, weights, history)
        sections, metadata = parts.contents()
        written = self._writing.result()
        for section, array in sections.items():
            if section not in written:
                self._file.add(section, array)
        self._file.finish(metadata)
        self._pool.shutdown()
        return parts

    def discard(self) -> None:
        """Remove what was written."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._file is not None:
            self._file.discard()


def discard_unfinished(path: Path, folder: WorkFolder) -> None:
    """Remove the unfinished file that a run has left beside a model."""
    name = folder.done(_BEGUN)
    if name is not None:
        (Path(os.path.realpath(path)).parent / Path(name).name).unlink(missing_ok=True)
