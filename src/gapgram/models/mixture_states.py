"""Steps of a mixture: one of each of its models."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.kernels.mixing import mix
from gapgram.queries.states import Stepper, other_model


class MixtureStepper(Stepper):
    """Steps of one mixture. A key holds how many bytes the keys of its models have, then these keys.

    ids, log10_shares: for each model the ids that it has for the words of the mixture, and log10 of a word's share.
    """

    def __init__(
        self, steppers: Sequence[Stepper], ids: Sequence[Ids], log10_shares: Sequence[Floats], weights: Floats
    ) -> None:
        self._parts, self._weights = list(zip(steppers, ids, log10_shares, strict=True)), weights
        self._sizes = struct.Struct(f"<{len(steppers)}H")
        self.null = self._packed([stepper.null for stepper in steppers])
        self.beginning = self._packed([stepper.beginning for stepper in steppers])
        self.one = self._one

    def _one(self, key: bytes, word: int) -> tuple[float, int, bytes]:
        scores, lengths, keys = [], [], []
        for (stepper, ids, log10_shares), own in zip(self._parts, self._unpacked(key), strict=True):
            score, length, after = stepper.checked(own, int(ids[word]))
            scores.append(score + log10_shares[word])
            lengths.append(length)
            keys.append(after)
        return self._mixed(scores), max(lengths), self._packed(keys)

    def _mixed(self, scores: list[float]) -> float:
        return float(mix(np.array(scores).reshape(-1, 1), self._weights)[0])

    def start_score(self, key: bytes) -> float:
        """The mixture of what the models say."""
        keys = self._unpacked(key)
        return self._mixed([stepper.start_score(own) for (stepper, *_), own in zip(self._parts, keys, strict=True)])

    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        """(log10 of the probabilities, keys after the words), model by model."""
        columns = list(zip(*map(self._unpacked, keys), strict=True)) or [()] * len(self._parts)
        scores, after = [], []
        for (stepper, ids, log10_shares), own in zip(self._parts, columns, strict=True):
            own_scores, own_after = stepper.many(own, ids[words], threads)
            scores.append(own_scores + log10_shares[words])
            after.append(own_after)
        return mix(np.stack(scores), self._weights), [self._packed(each) for each in zip(*after, strict=True)]

    def _packed(self, keys: Sequence[bytes]) -> bytes:
        return self._sizes.pack(*map(len, keys)) + b"".join(keys)

    def _unpacked(self, key: bytes) -> list[bytes]:
        if len(key) < self._sizes.size:
            raise other_model()
        sizes = self._sizes.unpack_from(key)
        if sum(sizes) != len(key) - self._sizes.size:
            raise other_model()
        ends = np.cumsum([self._sizes.size, *sizes]).tolist()
        return [key[a:b] for a, b in pairwise(ends)]
