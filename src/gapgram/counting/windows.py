"""The unit of counting: a word of the text, the word before it and the words after it that a gram can span.

All grams whose oldest word is at one place are in the window of that place, and so is the word to their
left. So windows that start with different words never have a gram in common, and any set of bands of
oldest words can be counted apart: one after the other where memory is short, side by side on many cores
or machines. The result does not depend on how the bands were cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapgram.arrays import Ids, Integers
from gapgram.kernels import sorting


@dataclass(frozen=True)
class Bands:
    """A text sorted by word; band b, of about as many positions as others, has the words cuts[b] … cuts[b+1] - 1."""

    ids: Ids
    positions: Ids
    starts: Integers
    cuts: tuple[int, ...]

    @classmethod
    def of(cls, ids: Ids, n_words: int, n_bands: int) -> Bands:
        """Cut a text into at most n bands."""
        positions, starts = sorting.positions_by_word(ids, n_words)
        goals = positions.size * np.arange(1, n_bands) // n_bands
        inner = np.unique(np.searchsorted(starts[1:-1], goals) + 1).tolist() if n_words > 1 else []
        return cls(ids, positions, starts, (0, *inner, n_words))

    def windows(self, first_word: int, last_word: int, order: int) -> Ids:
        """The windows of a band from one word up to another, sorted by word, then by position: [window, order + 1]."""
        begin, end = self.starts[first_word], self.starts[last_word]
        windows: Ids = sorting.windows_at(self.ids, self.positions[begin:end], order)
        return windows
