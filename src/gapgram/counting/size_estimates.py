"""What counting will need of memory and disk, before it begins.

How many different grams a pattern will have is not known before they are counted, but hardly ever more of them
than these shares of the positions of a text, by how many words they have.
"""

from __future__ import annotations

from gapgram.counting.in_memory import BAND_POSITIONS
from gapgram.counting.on_disk.count import window_bytes
from gapgram.lattice import Lattice

_SHARES = {1: 0.1, 2: 0.5, 3: 0.9}
_PIECE_BYTES, _TABLE_BYTES = 16, 12  # of a gram and its context, while counting and in the file


def grams_per_position(lattice: Lattice) -> float:
    """Different grams of all patterns, for each position of a text, at most."""
    return sum(_SHARES.get(len(p) + 1, 1.0) for p in lattice.stored)


def held_bytes(positions: int, lattice: Lattice, threads: int) -> int:
    """The memory that counting takes if all is held in memory: ids, tables, and a band a thread."""
    tables = (_PIECE_BYTES + _TABLE_BYTES) * grams_per_position(lattice)
    bands = min(positions, threads * BAND_POSITIONS) * window_bytes(lattice.order)
    return int(positions * (16 + tables)) + bands


def work_bytes(positions: int, lattice: Lattice) -> int:
    """The disk that counting takes for temporary files: ids, windows and pieces."""
    return int(positions * (8 + 4 * (lattice.order + 1) + _PIECE_BYTES * grams_per_position(lattice)))


def file_bytes(positions: int, lattice: Lattice) -> int:
    """The disk that the tables of a model take."""
    return int(positions * _TABLE_BYTES * grams_per_position(lattice))
