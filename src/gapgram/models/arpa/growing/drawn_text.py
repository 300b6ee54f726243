"""Text that a model draws, and the contexts in it: where a backoff model will be asked.

New text has words that the model does not know, and after these a backoff model is asked too. A word of a text is
unknown to a model of the rest of the text if it occurs once. So there should be as many unknown words as there are
such. They are made of rare words, half of twice as many: a word is drawn, and known where it is predicted, but all that
is drawn after it takes it for an unknown one. It is written as ~word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.kernels.tables.arrays import COUNT_BITS, COUNT_MASK
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.models.model import Model
from gapgram.pattern import Pattern
from gapgram.queries.drawing import Drawer
from gapgram.system.progress import progress_bar

_SENTENCES = 20_000  # that are drawn at a time
_MAX_WORDS = 200  # of a sentence
_AS_MANY = 2  # rare words as are made unknown


def draw_text(
    model: Model, n_words: int, *, seed: int = 1, threads: int | None = None, progress: bool = False
) -> Iterator[Ids]:
    """The ids of sentences, each from `<s>` to `</s>`, of so many words in all, or a few more; some at a time.

    A word that is unknown to those after it is ~word.
    """
    drawer, nothing, hidden = Drawer(model._arrays, threads=threads), np.empty(0, np.int32), hidden_words(model)
    so_far, n = 0, min(_SENTENCES, n_words // 8 + 1)
    start, end = np.array([START_ID], np.int32), np.array([END_ID], np.int32)
    with progress_bar("drawing text", total=n_words, unit="words", progress=progress) as advance:
        while so_far < n_words:
            drawn = list[Ids]()
            for ids in drawer.draw(n, nothing, max_words=_MAX_WORDS, seed=seed, hidden=hidden, threads=threads):
                drawn += [start, ids, end]
                so_far += ids.size + 1
                advance(ids.size + 1)
                if so_far >= n_words:
                    break
            yield np.concatenate(drawn)
            seed += 1


def hidden_words(model: Model) -> Floats:
    """How probably each word, once drawn, is taken for an unknown one. None is where the model has counted `<unk>`."""
    singles = model.counts.grams(Pattern.contiguous(0))
    counts = np.bincount(singles >> COUNT_BITS, singles & COUNT_MASK, len(model.vocabulary)).astype(np.int64)
    if counts[UNKNOWN_ID]:
        return np.zeros(len(counts))
    counts[END_ID] = 0
    occurrences = np.cumsum(np.bincount(counts, counts))
    rare = int(np.searchsorted(occurrences, _AS_MANY * np.count_nonzero(counts == 1)))
    return np.where((counts > 0) & (counts <= rare), 1.0 / _AS_MANY, 0.0)


def predicted(ids: Ids) -> Ids:
    """The words of a text as they are predicted."""
    return np.where(ids < 0, ~ids, ids)


def seen(ids: Ids) -> Ids:
    """The words of a text as those after them see them."""
    return np.where(ids < 0, np.int32(UNKNOWN_ID), ids)


class Contexts(NamedTuple):
    """Contexts of one length: their words [context, place], sorted, and how often each is met."""

    words: Ids
    occurrences: Integers


def contexts_of(ids: Ids, n_ids: int, order: int, least: int) -> Iterator[Contexts]:
    """The contexts of 1, 2 … order-1 words that are met at least so often in a text.

    n_ids: how many words there are.
    """
    # Of each word where a context ends: its place, and the number of the context.
    positions: Integers = np.flatnonzero(ids != END_ID)
    numbers: Integers = np.zeros(positions.size, np.int64)
    words = np.empty((1, 0), np.int32)
    for _ in range(1, order):
        longer = numbers * n_ids + ids[positions]
        keys, inverse, occurrences = np.unique(longer, return_inverse=True, return_counts=True)
        kept = occurrences >= least
        words = np.hstack([words[keys[kept] // n_ids], (keys[kept] % n_ids)[:, None].astype(np.int32)])
        yield Contexts(words, occurrences[kept])
        new_numbers: Integers = np.where(kept, np.cumsum(kept) - 1, -1)[inverse]
        # One word longer: the word after each context, if it is no end.
        goes_on = (new_numbers >= 0) & (positions < ids.size - 1)
        positions, numbers = positions[goes_on] + 1, new_numbers[goes_on]
        inside = ids[positions] != END_ID
        positions, numbers = positions[inside], numbers[inside]
