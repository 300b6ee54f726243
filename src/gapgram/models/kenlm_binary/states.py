"""Steps of a model in a binary file of KenLM: its states are those of KenLM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.kernels import kenlm_scoring as kernels
from gapgram.kernels.kenlm_arrays import KenlmFile
from gapgram.models.kenlm_binary.header import bad_grams
from gapgram.queries.states import Stepper, other_model

KEY_BYTES = 8  # of a state, for each of its words: the id and the backoff


class KenlmStepper(Stepper):
    """Steps of one mapped file. A key holds the file's ids of the words that can still matter, and their backoffs."""

    def __init__(self, path: Path, file: KenlmFile) -> None:
        self._path, self._file, self.null = path, file, b""
        out = np.empty(2, np.uint32)
        kernels.start_state(file, out)
        self.beginning, self.one = out.tobytes(), kernels.extend_one.bind((file,), b"", 0)

    def fault(self, length: int) -> Exception:
        """What a length below 1 says."""
        return bad_grams(self._path) if length < 0 else other_model()

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
