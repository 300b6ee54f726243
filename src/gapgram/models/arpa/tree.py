"""The contiguous grams of a model as the tree that backoff models are (`kernels.backoff`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.arrays import Integers
from gapgram.kernels.tables import COUNT_BITS, COUNT_MASK, ROW_BITS
from gapgram.models.model import Model
from gapgram.pattern import Pattern


class Tree(NamedTuple):
    """Grams as `kernels.backoff` has them, their counts, and the place of each in its pattern's table."""

    base: Integers
    words: Integers
    children: Integers
    counts: Integers
    numbers: list[Integers]


def contiguous_tree(model: Model) -> Tree:
    """The tables of the contiguous patterns, sorted by word below each gram."""
    words, counts, sizes, numbers = [], [], [], [np.arange(1)]
    for pattern in map(Pattern.contiguous, range(model.order)):
        grams, begins = model.counts.grams(pattern), model.counts.contexts(pattern) >> ROW_BITS
        n = np.diff(begins)[numbers[-1]]
        unsorted = np.arange(grams.size) + np.repeat(begins[:-1][numbers[-1]] - np.cumsum(n) + n, n)
        numbers.append(unsorted[np.lexsort((grams[unsorted] >> COUNT_BITS, np.repeat(np.arange(n.size), n)))])
        words.append(grams[numbers[-1]] >> COUNT_BITS)
        counts.append(grams[numbers[-1]] & COUNT_MASK)
        sizes.append(n)
    base = np.cumsum([0, *map(len, words)])
    ends = base[1] + np.cumsum(np.concatenate([base[:0], *sizes[1:]]))
    children = np.concatenate([base[1:2], ends, np.full(len(words[-1]), base[-1])])
    return Tree(base, np.concatenate(words), children, np.concatenate(counts), numbers[1:])
