"""What the tables of counts say of the positions of some sentences.

Where the tables are mapped from a file and pages must be few, they are read one pattern at a time: then as many
positions are looked up at once as there is room for the places of the file that they may touch.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Ids
from gapgram.counts.counts import Counts
from gapgram.kernels.fitting import sample as fitting
from gapgram.kernels.lookup.lookup import Found
from gapgram.kernels.tables.arrays import N_CONTEXTS, N_GRAMS, N_ROWS, STATISTICS, STRIDE, TAIL, WIDTH, Tables
from gapgram.pattern import Pattern
from gapgram.system.mapped_pages import AROUND, PageBudget

_PLACES = 6  # of the file that one lookup reads: contexts, a few steps of a search, statistics


def statistics_of(counts: Counts, words: Ids, available: npt.NDArray[np.int16], threads: int = 1) -> Ids:
    """[position, pattern, 5]: the count of the gram, and total, N1, N2, N3+ of its context (`kernels.fitting.sample`).

    threads: that look things up at the same time.
    """
    if counts.pages is None:
        whole: Ids = fitting.statistics_of(words, available, counts.tables)
        return whole
    n = len(counts.lattice.stored)
    entries = np.full((2 + n, words.size), -1, np.int64)
    found = Found(entries, np.zeros((2, words.size), np.int64), np.zeros((2, words.size), np.int64))
    out = np.zeros((words.size, n, 5), np.int32)
    for p in range(n):
        tables = _tables_of(counts, p)
        for begin, end in _spans(counts.pages, _bytes_of(tables), words.size, threads):
            fitting.add_statistics(words, available, begin, end, found, tables, out, p)
    return out


def _spans(pages: PageBudget, table_bytes: int, size: int, threads: int) -> Iterator[tuple[int, int]]:
    """Bounds of runs of positions for which there is room: for all that they may touch, or for all tables.

    A part of the room at a time, since other threads are in the midst of reading what they found room for.
    """
    begin = 0
    while begin < size:
        free_bytes = pages.release()
        free_bytes = max(free_bytes // 8, min(free_bytes, pages.least_bytes)) // threads
        end = size if table_bytes <= free_bytes else min(size, begin + max(1, free_bytes // (_PLACES * AROUND)))
        yield begin, end
        begin = end


def _bytes_of(tables: Tables) -> int:
    """What there is to read of the tables of a few patterns, with the contexts of others that lie among theirs."""
    grams = tables.places[:, N_GRAMS] * tables.places[:, WIDTH] // 8
    contexts = (tables.places[:, N_CONTEXTS] + 1) * tables.places[:, STRIDE] * 8
    return int((grams + contexts + tables.places[:, N_ROWS] * 8 * STATISTICS).sum())


def _tables_of(counts: Counts, p: int) -> Tables:
    """The tables of the empty pattern and of pattern p, as `add_statistics` takes them."""
    tables, root = counts.tables, counts.index(Pattern(0, counts.lattice.stored[p].classes))
    places, parts = tables.places[[root, p]], tables.parts[[root, p]]
    places[:, TAIL] += 2
    parts = np.where(parts > root, parts + 2, 0)
    return tables._replace(places=places, parts=parts)
