"""Steps of a backoff model: its states hold the grams that can still matter, as those of KenLM hold their words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.kernels import backoff as kernels
from gapgram.kernels.jit import entry
from gapgram.kernels.special_words import START_ID
from gapgram.models.grams import Grams
from gapgram.queries.states import Stepper, other_model


class BackoffStepper(Stepper):
    """Steps of one backoff model. A key holds the numbers of the grams that the words so far end in, shortest first."""

    def __init__(self, grams: Grams) -> None:
        self.null = b""
        self.one = _step(grams)
        self.beginning = self.one(self.null, START_ID)[2]

    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        """(log10 of the probabilities, keys after the words), a word for each key."""
        steps = list(starmap(self.one, zip(keys, words.tolist(), strict=True)))
        return np.array([score for score, _, _ in steps]), [key for _, _, key in steps]


def _step(grams: Grams) -> Callable[[bytes, int], tuple[float, int, bytes]]:
    """A step with all that it needs at hand."""
    kind = np.dtype(np.int32 if len(grams.words) < 1 << 31 else np.int64)
    order, size, empty = grams.order, kind.itemsize, np.empty
    most = (order - 1) * size
    arrays = order, grams.words, grams.children, grams.log10_probs, grams.log10_backoffs
    extend_one = entry(kernels.extend_one, b"", 0, *arrays, empty(order, kind))

    def step(key: bytes, word: int) -> tuple[float, int, bytes]:
        if len(key) > most or len(key) % size:
            raise other_model()
        out = empty(order, kind)
        score, length, kept = extend_one(key, word, *arrays, out)
        if not length:
            raise other_model()
        return score, length, out.tobytes()[: size * kept]

    return step
