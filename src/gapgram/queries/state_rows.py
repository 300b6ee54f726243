"""States of a search, a row each: what a decoder steps from many times a frame.

A search numbers its states. What a state holds lies in arrays, from which kernels step to other rows without making an
object of any; a kind of model without such a kernel keeps the keys of its states in a list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Floats, Ids, Integers


class StateRows(ABC):
    """States of one search; not to be shared between threads."""

    @abstractmethod
    def begin(self, key: bytes) -> None:
        """Let the first row hold the state of a key."""

    @abstractmethod
    def make_room(self, n: int) -> None:
        """Let there be n rows."""

    @abstractmethod
    def extend(self, asked: Ids, n: int, answers: Floats) -> None:
        """Score words after states: log10 of the probabilities go to `answers`.

        asked: [i], from which row, the id of the word, and the row of the state after it, -1 where it is not needed.
        """

    @abstractmethod
    def key(self, row: int) -> bytes:
        """What the state of a row holds."""

    @abstractmethod
    def keep(self, rows: Integers) -> None:
        """Let these be the first rows, in this order; it rises."""


class KeyRows(StateRows):
    """States of any model, by their keys.

    many: (scores, keys after the words) of keys and the ids of words.
    """

    def __init__(self, many: Callable[[Sequence[bytes], Ids, int], tuple[Floats, list[bytes]]]) -> None:
        self._many, self._keys = many, [b""]

    def begin(self, key: bytes) -> None:
        self._keys[0] = key

    def make_room(self, n: int) -> None:
        self._keys += [b""] * (n - len(self._keys))

    def extend(self, asked: Ids, n: int, answers: Floats) -> None:
        before = [self._keys[row] for row in asked[:n, 0].tolist()]
        answers[:n], after = self._many(before, np.ascontiguousarray(asked[:n, 1]), 1)
        for row, key in zip(asked[:n, 2].tolist(), after, strict=True):
            if row >= 0:
                self._keys[row] = key

    def key(self, row: int) -> bytes:
        return self._keys[row]

    def keep(self, rows: Integers) -> None:
        self._keys[: rows.size] = [self._keys[row] for row in rows.tolist()]


class ArrayRows(StateRows):
    """States in an array, a row each: the numbers of a key, and before them how many there are if not always as many.

    step: scores words after rows (`StateRows.extend`) of an array of states.
    """

    def __init__(
        self,
        step: Callable[[npt.NDArray[Any], Ids, int, Floats], object],
        width: int,
        kind: np.dtype[Any],
        *,
        of_any_length: bool,
    ) -> None:
        self._step, self._first = step, int(of_any_length)
        self._states = np.zeros((1, self._first + width), kind)

    def begin(self, key: bytes) -> None:
        numbers = np.frombuffer(key, self._states.dtype)
        self._states[0, 0] = numbers.size
        self._states[0, self._first : self._first + numbers.size] = numbers

    def make_room(self, n: int) -> None:
        if n > len(self._states):
            larger = np.empty((n, self._states.shape[1]), self._states.dtype)
            larger[: len(self._states)] = self._states
            self._states = larger

    def extend(self, asked: Ids, n: int, answers: Floats) -> None:
        self._step(self._states, asked, n, answers)

    def key(self, row: int) -> bytes:
        held = self._states[row]
        if self._first:
            held = held[1 : 1 + int(held[0])]
        return bytes(held.tobytes())

    def keep(self, rows: Integers) -> None:
        self._states[: rows.size] = self._states[rows]


class MixedRows(StateRows):
    """States of a mixture: those of its models, which have rows of their own.

    parts: the rows of each model, the ids that it has for the words of the mixture, and log10 of a word's share.
    mix: log10 of the mixed probabilities of [model, i]. packed, unpacked: a key of the keys of the models, and back.
    """

    def __init__(
        self,
        parts: Sequence[tuple[StateRows, Ids, Floats]],
        mix: Callable[[Floats], Floats],
        packed: Callable[[Sequence[bytes]], bytes],
        unpacked: Callable[[bytes], list[bytes]],
    ) -> None:
        self._parts, self._mix, self._packed, self._unpacked = parts, mix, packed, unpacked

    def begin(self, key: bytes) -> None:
        for (rows, *_), own in zip(self._parts, self._unpacked(key), strict=True):
            rows.begin(own)

    def make_room(self, n: int) -> None:
        for rows, *_ in self._parts:
            rows.make_room(n)

    def extend(self, asked: Ids, n: int, answers: Floats) -> None:
        scores, own = np.empty((len(self._parts), n)), asked[:n].copy()
        for (rows, ids, log10_shares), out in zip(self._parts, scores, strict=True):
            own[:, 1] = ids[asked[:n, 1]]
            rows.extend(own, n, out)
            out += log10_shares[asked[:n, 1]]
        answers[:n] = self._mix(scores)

    def key(self, row: int) -> bytes:
        return self._packed([rows.key(row) for rows, *_ in self._parts])

    def keep(self, rows: Integers) -> None:
        for own, *_ in self._parts:
            own.keep(rows)
