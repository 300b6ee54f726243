"""The words that a history makes probable after a context, without looking at all that were read.

A context that few words followed is listed whole. Of one that many followed the words with the largest counts are
kept. Counts that no word was added to decay alike, so that these are still the largest later, but for words read since;
those are looked at as well. What is not looked at has at most a count that is known. Equation (39) of
docs/ideas/mathematics.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.arrays import Floats, Integers
from gapgram.queries.history import ContextViews, History

MOST_LISTED = 512  # words of a context that are looked at
MOST_KEPT = 256  # contexts whose words are kept


class LikelyWords(NamedTuple):
    """Words, what the views that list them give each, and what all views may give a word beside that, at most."""

    words: Integers
    given: Floats
    rest: float


class _Largest(NamedTuple):
    """The words with the largest counts of a context when so many words had been read, and the next smaller share."""

    words: Integers
    next_share: float
    total: float
    words_read: int


class ContextLists:
    """The largest counts of the contexts that were asked for and that many words followed."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], _Largest] = {}

    def clear(self) -> None:
        """Begin anew, where counts are no longer what they were."""
        self._kept.clear()

    def likely(self, history: History, before: ContextViews) -> LikelyWords:
        """The words that views make probable after a context."""
        words, given, rest = [np.empty(0, np.int64)], [np.empty(0)], 0.0
        for view in np.flatnonzero(before.sums > 0.0).tolist():
            weight = float(before.weights[view + 1])
            if before.followers[view] <= MOST_LISTED:
                some, shares = history.listed(before, view)
            else:
                some, shares, at_most = self._of_long_list(history, before, view)
                rest += weight * at_most
            words.append(some)
            given.append(weight * shares)
        different, numbers = np.unique(np.concatenate(words), return_inverse=True)
        sums: Floats = np.bincount(numbers, np.concatenate(given), different.size).astype(np.float64)
        return LikelyWords(different, sums, rest)

    def _of_long_list(self, history: History, before: ContextViews, view: int) -> tuple[Integers, Floats, float]:
        """Words of a context, what the view gives each, and what it gives any other at most."""
        key = view, int(before.keys[view])
        largest = self._kept.pop(key, None)
        since = history.read_since(largest.words_read) if largest is not None else None
        if largest is None or since is None or since.size > MOST_LISTED:
            largest, since = _largest(history, before, view), np.empty(0, np.int64)
        self._kept[key] = largest  # the one that was asked for last is last
        if len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        words = np.union1d(largest.words, since)
        decay = history.weights.views[view].decay ** (history.words_read - largest.words_read)
        at_most = largest.next_share * largest.total * decay / float(before.sums[view])
        return words, history.given_by(before, view, words), at_most * (1 + 1e-9)


def _largest(history: History, before: ContextViews, view: int) -> _Largest:
    words, shares = history.listed(before, view)
    order = np.argsort(-shares, kind="stable")
    next_share = float(shares[order[MOST_LISTED]]) if order.size > MOST_LISTED else 0.0
    return _Largest(words[order[:MOST_LISTED]], next_share, float(before.sums[view]), history.words_read)
