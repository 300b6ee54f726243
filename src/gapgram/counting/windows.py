"""The unit of counting: a word of the text, the word before it and the words after it that a gram can span.

All grams whose oldest word is at one place are in the window of that place, and so is the word to their
left. So windows that start with different words never have a gram in common, and any set of bands of
oldest words can be counted apart: one after the other where memory is short, side by side on many cores
or machines. The result does not depend on how the bands were cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gapgram.arrays import Ids, Integers
from gapgram.kernels import sorting


@dataclass(frozen=True)
class Bands:
    """A text sorted by word, and words that cut it into bands of about as many positions each."""

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

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The first word of each band, and the first word after it."""
        return iter(list(zip(self.cuts, self.cuts[1:], strict=False)))

    def windows(self, band: tuple[int, int], order: int) -> Ids:
        """The windows of a band, sorted by word, then by place: [window, order + 1]."""
        begin, end = self.starts[band[0]], self.starts[band[1]]
        windows: Ids = sorting.windows_at(self.ids, self.positions[begin:end], order)
        return windows
