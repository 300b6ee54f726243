"""How much memory it takes to count a text and to fit weights on a sample of it, before either has begun.

How many different grams a pattern will have is not known before they are counted, but hardly ever more of them
than these shares of the positions of a text, by how many words they have.
"""

from __future__ import annotations

from bisect import bisect_right

from gapgram.counting.in_memory import BAND_POSITIONS, MAX_POSITIONS
from gapgram.lattice import Lattice

COUNTED_GRAM_BYTES, FILE_GRAM_BYTES = 16, 12  # with its context, while counting and in the model file
_READING_BYTES = 256 << 20  # a thread that reads takes a small part of this
_SHARES = {1: 0.1, 2: 0.5, 3: 0.9}
MAX_NUMBERS = 1 << 24  # positions × patterns of a sample
SAMPLE_CHUNK_POSITIONS = 1 << 12  # that a thread looks up at a time


def max_held_positions(memory: int, lattice: Lattice, *, threads: int, fitted: bool) -> int:
    """The positions of a text that can be counted, and weights fitted on it, all in so many bytes of memory."""
    gram_bytes = (COUNTED_GRAM_BYTES + FILE_GRAM_BYTES) * grams_per_position(lattice)
    max_sample = sample_positions(len(lattice.stored)) if fitted else 0
    sample_position_bytes = sample_bytes(len(lattice.stored), lattice.order)
    max_windows, bytes_of_window = threads * BAND_POSITIONS, window_bytes(lattice.order)
    needed = lambda positions: (  # noqa: E731
        int(positions * (16 + gram_bytes))
        + min(positions, max_windows) * bytes_of_window
        + min(positions, max_sample) * sample_position_bytes
    )
    return max(0, bisect_right(range(MAX_POSITIONS), memory, key=needed) - 1)


def reading_threads(memory: int, threads: int) -> int:
    """How many threads may read blocks of text at the same time."""
    return max(1, min(threads, memory // _READING_BYTES))


def grams_per_position(lattice: Lattice) -> float:
    """Different grams of all patterns, for each position of a text, at most."""
    return sum(_SHARES.get(p.mask.bit_count() + 1, 1.0) for p in lattice.stored)


def window_bytes(order: int) -> int:
    """The memory that counting takes for each window at most.

    The window itself and, for each of its words, a byte of reach and a mark for each length; positions, starts and
    begins of a node for each level of the tree of patterns; and what sorting and the tables of one pattern take.
    """
    return (order + 1) * (order + 4) + 12 * order + 80


def sample_positions(n_patterns: int) -> int:
    """The positions that a sample has at most, but for the rest of its last sentence."""
    return MAX_NUMBERS // n_patterns


def crosswise_positions(n_patterns: int) -> int:
    """The positions that a sample of a text that is fitted crosswise has at most, but for the smallest texts."""
    return 4 * sample_positions(n_patterns)


def sample_bytes(n_patterns: int, order: int) -> int:
    """The memory, or disk, of a position of a sample: statistics, features and prior."""
    return n_patterns * (20 + 8) + 4 * (n_patterns + order)


def threads_within(memory: int, n_patterns: int) -> int:
    """How many threads may look up a sample: each has a few thousand positions under way, in two copies."""
    return max(1, memory // (2 * SAMPLE_CHUNK_POSITIONS * n_patterns * (20 + 4 + 8)))
