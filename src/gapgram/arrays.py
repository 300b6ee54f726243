"""The names of array types, one for each use; all arrays are one-dimensional unless a docstring says otherwise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]  # of words, or of classes
Integers = npt.NDArray[np.int64]  # counts, offsets, numbers of grams and contexts
Begins = npt.NDArray[np.int64]  # where each sequence of a text begins, rising, and last where the text ends
Floats = npt.NDArray[np.float64]  # probabilities, their logarithms, weights
Singles = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]  # text
BitWords = npt.NDArray[np.uint64]  # packed bits, 64 at a time
Mask = npt.NDArray[np.bool_]
