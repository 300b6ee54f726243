"""The contiguous grams of a model as the tree that backoff models are (`kernels.backoff`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gapgram.kernels.tables import COUNT_BITS, COUNT_MASK, ROW_BITS
from gapgram.model import Model
from gapgram.pattern import Pattern

Array = npt.NDArray[np.int64]


def contiguous_tree(model: Model) -> tuple[Array, Array, Array, Array]:
    """(base, words, children, counts): the tables of the contiguous patterns are the tree already."""
    patterns = [Pattern.contiguous(k) for k in range(model.order)]
    entries = [model.counts.grams(p) for p in patterns]
    base = np.cumsum([0, *map(len, entries)])
    flat = np.concatenate(entries)
    begins = [(model.counts.contexts(p)[:-1] >> ROW_BITS) + base[k] for k, p in enumerate(patterns) if k > 0]
    children = np.concatenate([*begins, np.full(len(entries[-1]) + 1, base[-1])])
    return base, flat >> COUNT_BITS, children, flat & COUNT_MASK


def word_ids(base: Array, words: Array, children: Array, length: int, shorter: Array) -> Array:
    """[gram, place]: the words of all grams of a length, given those of the grams one word shorter."""
    first, last = base[length - 1 : length + 1]
    if length == 1:
        return words[first:last, None]
    n = np.diff(children[base[length - 2] : first + 1])
    return np.hstack([np.repeat(shorter, n, axis=0), words[first:last, None]])
