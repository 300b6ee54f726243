"""Steps of a model in a binary file of KenLM: its states are those of KenLM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.kernels import kenlm_scoring as kernels
from gapgram.kernels.jit import entry
from gapgram.kernels.kenlm_arrays import KenlmFile
from gapgram.models.kenlm_binary.header import bad_grams
from gapgram.queries.states import Stepper, other_model

KEY_BYTES = 8  # of a state, for each of its words: the id and the backoff


class KenlmStepper(Stepper):
    """Steps of one mapped file. A key holds the file's ids of the words that can still matter, and their backoffs."""

    def __init__(self, path: Path, file: KenlmFile, handle: Any) -> None:
        self._path, self._file, self.null = path, file, b""
        out = np.empty(2, np.uint32)
        kernels.start_state(file, out)
        self.beginning = out.tobytes()
        self.one = self._one(handle)

    def _one(self, handle: Any) -> Callable[[bytes, int], tuple[float, int, bytes]]:
        """A step with all that it needs at hand."""
        most, path, empty, kind = 2 * (self._file.order - 1), self._path, np.empty, np.uint32
        extend_one = entry(kernels.extend_one, b"", 0, 0, handle, empty(0, kind))

        def step(key: bytes, word: int) -> tuple[float, int, bytes]:
            n, out = len(key) >> 2, empty(most, kind)
            if n > most or len(key) % KEY_BYTES:
                raise other_model()
            score, length, kept = extend_one(key, n >> 1, word, handle, out)
            if score != score or length == 0:
                raise bad_grams(path) if length else other_model()
            return score, length, out.tobytes()[: KEY_BYTES * kept]

        return step

    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        """(log10 of the probabilities, keys after the words), a word for each key."""
        order, n = self._file.order, len(keys)
        sizes = np.array([len(key) for key in keys], np.int64)
        if (sizes % KEY_BYTES).any() or (sizes > KEY_BYTES * (order - 1)).any():
            raise other_model()
        joined = np.frombuffer(b"".join(keys), np.uint8)
        scores, lengths, kept = np.empty(n), *np.empty((2, n), np.int64)
        out = np.empty((n, 2 * order), np.uint32)
        kernels.extend(joined, np.cumsum([0, *sizes]), words, self._file, scores, lengths, out, kept)
        if (lengths == 0).any():
            raise other_model()
        if np.isnan(scores).any():
            raise bad_grams(self._path)
        return scores, [row[: 2 * held].tobytes() for row, held in zip(out, kept.tolist(), strict=True)]
