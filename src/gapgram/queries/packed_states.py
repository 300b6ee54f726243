"""States of decoders whose states are single numbers: the last words of a hypothesis, packed."""

from __future__ import annotations

from typing import Any

from gapgram.errors import UsageError

STATE_BITS = 63  # of a whole number that is not negative


class PackedStates:
    """States as whole numbers: the last order - 1 labels, the nearest in the lowest bits.

    Code 0 is no word, code v + 1 label v, and the one after all labels <s>.

    >>> states = PackedStates(1024, 3)
    >>> states.bits, states.beginning, states.after(states.beginning, 5) == states.beginning << 11 | 6
    (11, 1025, True)
    """

    def __init__(self, n_labels: int, order: int) -> None:
        self.n_labels, self.order = n_labels, order
        self.bits = (n_labels + 1).bit_length()
        if self.bits * (order - 1) > STATE_BITS:
            raise UsageError(
                f"{n_labels:,} labels and order {order}: a state has {STATE_BITS} bits, and {order - 1} labels need "
                f"{self.bits * (order - 1)}; train with order {STATE_BITS // self.bits + 1} or fewer labels"
            )
        self.kept = (1 << self.bits * (order - 1)) - 1
        self.beginning = (n_labels + 1) & self.kept

    def after(self, states: Any, labels: Any) -> Any:
        """The states after labels: numbers, or arrays of any kind."""
        return (states << self.bits | (labels + 1)) & self.kept

    def labels(self, state: int) -> list[int]:
        """The labels of a state, the oldest first; n_labels stands for <s>."""
        codes: list[int] = []
        while state and len(codes) < self.order - 1:
            codes.append((state & ((1 << self.bits) - 1)) - 1)
            state >>= self.bits
        return codes[::-1]
