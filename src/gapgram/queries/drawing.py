"""Sentences drawn from the arrays of a model, many side by side (`kernels.sampling.draw`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.kernels.sampling.draw import STEP, RunningSums, draw_sentences, sum_grams
from gapgram.kernels.tables.arrays import N_GRAMS, NEAREST
from gapgram.kernels.tables.model_arrays import ModelArrays
from gapgram.system.parallel import checked_threads, parallel_map

NOTHING_HIDDEN: Floats = np.empty(0)
_COLUMNS = 128  # sentences that are drawn side by side
_MAX_WORDS_PER_CALL = 1 << 18


class Drawer:
    """Draws sentences from one model. Safe to share between threads."""

    def __init__(self, arrays: ModelArrays, *, threads: int | None = None) -> None:
        self._arrays = arrays
        self._sums = _running_sums(arrays, checked_threads(threads))
        self._side_by_side = lru_cache(2)(self._strided)

    def _strided(self, columns: int) -> ModelArrays:
        """The model with every distance multiplied by a number of columns."""
        places = self._arrays.tables.places.copy()
        places[:, NEAREST] *= columns
        return self._arrays._replace(tables=self._arrays.tables._replace(places=places))

    def draw(
        self,
        n: int,
        begin: Ids,
        *,
        max_words: int,
        seed: int,
        hidden: Floats = NOTHING_HIDDEN,
        threads: int | None = None,
    ) -> Iterator[Ids]:
        """The ids of the words of n sentences. The same seed gives the same, whatever the number of threads.

        hidden: how probably each word is an unknown one to all that follow; it is then ~word.
        """
        each = max(min(_MAX_WORDS_PER_CALL // max_words, n), 1)

        def work(first: int) -> list[Ids]:
            size = min(each, n - first)
            out, lengths = np.empty((size, max_words), np.int32), np.empty(size, np.int64)
            columns = min(_COLUMNS, size)
            model = self._side_by_side(columns)
            draw_sentences(
                first, begin, max_words, seed % (1 << 63), hidden, columns, model, self._sums, out, lengths
            )
            return [row[:length] for row, length in zip(out, lengths.tolist(), strict=True)]

        for drawn in parallel_map(work, range(0, n, each), threads):
            yield from drawn


def _running_sums(arrays: ModelArrays, threads: int) -> RunningSums:
    sizes = -(-arrays.tables.places[:, N_GRAMS] // STEP)
    first = np.cumsum([0, *sizes])
    of_grams = np.empty(int(first[-1]))

    def work(p: int) -> None:
        sum_grams(arrays.tables, p, arrays.discounts, of_grams[first[p] : first[p + 1]])

    for _ in parallel_map(work, range(len(sizes)), threads):
        pass
    members, n_words = arrays.members, max(arrays.tables.word_counts.size, 1)
    given = arrays.given_class[members + np.arange(members.size) // n_words * n_words]
    return RunningSums(first[:-1], of_grams, np.concatenate([[0.0], np.cumsum(given)]))
