"""Steps of a backoff model: its states hold the grams that can still matter, as those of KenLM hold their words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.kernels import backoff as kernels
from gapgram.kernels.special_words import START_ID
from gapgram.models.grams import Grams
from gapgram.queries.states import Stepper


class BackoffStepper(Stepper):
    """Steps of one backoff model. A key holds the numbers of the grams that the words so far end in, shortest first."""

    def __init__(self, grams: Grams) -> None:
        none = np.empty(0, np.int32 if len(grams.words) < 1 << 31 else np.int64)
        figures = grams.log10_probs, grams.log10_backoffs
        constants = grams.order, grams.words, grams.children, *figures, none
        self.one, self.null = kernels.extend_one.bind(constants, b"", 0), b""
        self.beginning = self.one(self.null, START_ID)[2]

    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        """(log10 of the probabilities, keys after the words), a word for each key."""
        steps = [self.checked(key, word) for key, word in zip(keys, words.tolist(), strict=True)]
        return np.array([score for score, _, _ in steps]), [key for _, _, key in steps]
