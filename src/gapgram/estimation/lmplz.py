"""How lmplz counts the last n-gram of each order: with its occurrences, where others have the words before them.

It goes through n-grams by their last word, then the one before it, and so on, words by where they are met first. The
last of each order is written after its loop (`adjust_counts.cc`), with its plain count; discounts follow from that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gapgram.arrays import Ids
from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts, discounts_of
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID


def last_grams(ids: Ids, n_words: int, order: int) -> Iterator[tuple[int, int]]:
    """(occurrences, different words before) of the last n-gram of 1, 2 … order-1 words, as far as it has no `<s>`.

    >>> list(last_grams(np.array([1, 3, 4, 2, 1, 3, 5, 2, 1, 3, 5, 2]), 6, 3))
    [(2, 1), (2, 1)]
    """
    met_first = np.full(n_words, -4, np.int64)
    met_first[ids[::-1]] = np.arange(ids.size)[::-1]
    met_first[[UNKNOWN_ID, START_ID, END_ID]] = -3, -2, -1
    ends = np.flatnonzero(ids == met_first.argmax())
    for k in range(1, order):
        before = ids[ends - k]
        if ids[ends[0] - k + 1] <= END_ID:
            return
        yield ends.size, np.unique(before).size
        ends = ends[met_first[before] == met_first[before].max()]


def as_lmplz(discounts: Discounts, counts: Counts, ids: Ids) -> Discounts:
    """The discounts of a chain of patterns as lmplz has them; ids: the text."""
    values, order = discounts.values.copy(), counts.lattice.order
    for p, (occurrences, different) in enumerate(last_grams(ids, len(counts.vocabulary), order)):
        n = list(counts.counts_of_counts(counts.lattice.stored[p]))
        for count, change in ((different, -1), (occurrences, 1)):
            if count <= len(n):
                n[count - 1] += change
        values[p], _ = discounts_of((n[0], n[1], n[2], n[3]))
    return replace(discounts, values=values, as_lmplz=True)
