"""What a text in files and a text on a cluster share: bands of words that are counted at once, and what cuts the rest.

Windows whose oldest words are in different bands have no gram in common (`counting.band`). A word that alone has too
many windows is a band of its own and is cut further: by the words that its windows have some steps behind it. Then one
gram goes across the cut, and its pieces become one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapgram.arrays import Integers
from gapgram.counts.counts import Piece
from gapgram.counts.streaming import StoredPiece
from gapgram.kernels.tables.arrays import ROW_MASK, STATISTICS
from gapgram.pattern import Pattern


def cut_words(counts: Integers, most: int) -> list[int]:
    """Cut words into runs that occur at most so often together; a word more frequent than that is alone."""
    ends = np.cumsum(counts)
    cuts = [0]
    while cuts[-1] < counts.size:
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(int(np.searchsorted(ends, before + most, side="right")), cuts[-1] + 1))
    return cuts


def word_steps(pattern: Pattern) -> tuple[int, ...]:
    """How far behind the oldest the other words of a pattern's grams stand.

    >>> word_steps(Pattern.parse("11011"))
    (1, 3, 4)
    """
    return tuple(pattern.reach - offset for offset in (*reversed(pattern.offsets), 0))[1:] if pattern.mask else ()


def merged(pieces: Sequence[StoredPiece]) -> Piece:
    """One piece of several whose one context is the same."""
    row = np.zeros(STATISTICS, np.int64)
    for piece in pieces:
        row += piece.rows[piece.contexts[0] & ROW_MASK]
    grams = np.concatenate([np.empty(0, np.int64), *(piece.grams for piece in pieces)])
    rows = np.array([np.zeros(STATISTICS, np.int64), row])
    return Piece(grams, np.array([int(row.any())]), rows if row.any() else rows[:1])
