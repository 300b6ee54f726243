"""States of decoders that do not fit into 63 bits: a place in a table of rows, and the label after it.

Where there are many labels, or the order is high, the words of a state are a row of a table, on PyTorch's device. A
state that is asked for gets the next place; when all places were given, the oldest are given again. So a step takes
some more kernels, and a state serves until ROWS states more were asked for: 16,384 steps of a batch of 256.
"""

from __future__ import annotations

from typing import Any

import torch

from gapgram.arrays import Ids
from gapgram.kernels.text.special_words import START_ID

ROWS = 1 << 22
_FIRST = 2  # rows that stay: nothing is known; the beginning of a sentence


class LongStates:
    """States `place << bits | label + 1`; without a label, the row itself. words: of each label."""

    def __init__(self, words: Ids, order: int, rows: int = ROWS) -> None:
        self.bits, self.order = len(words).bit_length(), order
        self.beginning = 1 << self.bits
        self._words = torch.from_numpy(words.astype("int32"))
        self._table = torch.full((rows, order), -1, dtype=torch.int32)
        self._table[0, 0], self._table[1, 0], self._table[1, 1] = 0, 1, START_ID
        self._given = torch.zeros(1, dtype=torch.int64)  # places: counted on the device, so that graphs count, too

    def to(self, device: Any) -> None:
        """Keep the table there."""
        self._words, self._table, self._given = (each.to(device) for each in (self._words, self._table, self._given))

    def rows(self, states: Any) -> tuple[Any, Any]:
        """(new places, int32 [state, order]: how many words are known, and these, the nearest first)."""
        before = self._table[(states >> self.bits).clamp(0, len(self._table) - 1)]
        codes = (states & (1 << self.bits) - 1).clamp(max=len(self._words))
        words = self._words[(codes - 1).clamp(min=0)]
        known = (before[:, :1] + 1).clamp(max=self.order - 1)
        rows = torch.where(codes[:, None] > 0, torch.cat([known, words[:, None], before[:, 1:-1]], dim=1), before)
        places = self._given + torch.arange(len(states), device=states.device)
        places = _FIRST + places % (len(self._table) - _FIRST)
        self._table.index_copy_(0, places, rows)
        self._given += len(states)
        return places, rows

    def after(self, states: Any, labels: Any) -> Any:
        """The states after a label each."""
        return self.rows(states)[0] << self.bits | labels + 1
