"""Pieces of counts to a model file, without ever holding its tables in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.counts.assemble import NO_CLASSES, NO_COUNTS
from gapgram.counts.counts import Counts, TextInfo
from gapgram.counts.streaming import Pieces, table_streams
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights import Weights
from gapgram.kernels.tables import Tables
from gapgram.lattice import Lattice
from gapgram.system import array_file as container
from gapgram.system.array_file import Unfinished
from gapgram.system.mapped_pages import Pages, let_go
from gapgram.system.work_folder import WorkFolder
from gapgram.text.vocabulary import Vocabulary

_BEGUN, _STAGE = "file", "tables"

Weigh = Callable[[Counts], tuple[Weights, Discounts]]


def build_model_file(
    output: str | Path,
    *,
    name: str,
    lattice: Lattice,
    vocabulary: Vocabulary,
    text: TextInfo,
    pieces: Callable[[], Pieces],
    weigh: Weigh,
    classes: Classes | None = None,
    word_counts: Integers = NO_COUNTS,
    memory: int | None = None,
    folder: WorkFolder | None = None,
) -> None:
    """Write the model of a text that was counted piece by piece: the same file as `Model.save` would write.

    pieces: counts, or gives what was counted; not called where an earlier run has written the tables.
    weigh: chooses weights and discounts, looking things up in counts that are mapped from the unfinished file.
    classes, word_counts: the classes of words where the lattice has patterns of them, and how often each word is met.
    memory: pages of that file are given back when the process holds more than this.
    folder: where it is noted that the tables are written; without it an interrupted run leaves nothing.
    """
    of_word, names = (classes.of_word, classes.names) if classes is not None else (NO_CLASSES, ())
    file = _tables(output, lattice, vocabulary, pieces, of_word, word_counts, folder)
    try:
        mapped = file.mapped()
        pages = Pages(memory, mapped.map) if memory is not None else None
        tables = _tables_of(mapped.arrays)
        counts = Counts(lattice, vocabulary, text, tables, names, pages=pages)
        weights, discounts = weigh(counts)
        let_go(mapped.map)
        parts = ModelParts.of(name, counts, discounts, weights)
        for section, array in parts.sections().items():
            if section not in mapped.arrays:
                file.add(section, array)
        file.finish(parts.metadata)
    except BaseException:
        if folder is None:  # else who has the folder knows whether another run may go on
            file.discard()
        raise


def _tables_of(arrays: container.Arrays) -> Tables:
    return Tables(**{name: arrays[name] for name in Tables._fields if name in arrays})


def _tables(
    output: str | Path,
    lattice: Lattice,
    vocabulary: Vocabulary,
    pieces: Callable[[], Pieces],
    class_of: Ids,
    word_counts: Integers,
    folder: WorkFolder | None,
) -> Unfinished:
    """An unfinished file with the words and tables, of an earlier run where there is one."""
    noted = folder.done(_STAGE) if folder is not None else None
    found = Unfinished.resumed(output, container.MODEL, noted) if noted else None
    if found is not None:
        return found
    counted = pieces()
    file = Unfinished.new(output, container.MODEL)
    if folder is not None:
        discard_tables(output, folder)
        folder.note(_BEGUN, file.aside.name)
    try:
        for section, array in Counts.word_arrays(vocabulary).items():
            file.add(section, array)
        for stream in table_streams(lattice.stored, counted, class_of, word_counts):
            file.add_stream(stream)
        if folder is not None:
            folder.note(_STAGE, file.state)
    except BaseException:
        if folder is None or folder.done(_STAGE) is None:
            file.discard()
        raise
    return file


def discard_tables(output: str | Path, folder: WorkFolder) -> None:
    """Remove the unfinished file that a run has left."""
    name = folder.done(_BEGUN)
    if name is not None:
        (Path(os.path.realpath(output)).parent / Path(name).name).unlink(missing_ok=True)
