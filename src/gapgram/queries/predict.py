"""The most probable next words, exactly, without looking at every word.

A prediction is the head of the model's distribution: more probable words first, and of equally probable
ones (equal as the machine computes them) the one with the smaller id, which is the more frequent word.
`<s>` is never predicted; `<unk>` and `</s>` are no words to type and are left out unless asked for.
Probabilities are the model's own: they are not scaled up for what was left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.errors import UsageError
from gapgram.kernels import topk
from gapgram.kernels.model_arrays import HasArrays
from gapgram.kernels.special_words import SPECIAL, START_ID
from gapgram.kernels.successors import distribution
from gapgram.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Prediction:
    """A word and its probability."""

    word: str
    probability: float


class Source(HasArrays, Protocol):
    """What is needed of a model."""

    @property
    def vocabulary(self) -> Vocabulary: ...
    def _context_ids(self, context: Any) -> Ids: ...


class Predictor:
    """Predicts the next words after a context. Safe to share between threads.

    It remembers which parts of the model's lists hold no frequent words, so it becomes faster with use;
    the words by their bytes, for prefixes, are sorted on first use.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "the cow ran"] * 9, order=3, model="mkn")
    >>> [p.word for p in Predictor(model).predict("the", k=2)]
    ['cat', 'cow']
    >>> [p.word for p in Predictor(model).predict("the cat", k=2, prefix="r")]
    ['ran']
    """

    def __init__(self, model: Source) -> None:
        self._model = model
        self._block_counts = np.zeros(topk.n_blocks(model.arrays.tables.places), np.int64)

    def predict(
        self, context: str | Sequence[str] = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words, fewer where there are not so many.

        prefix: only words that start so.
        special: `<unk>` and `</s>` may be predicted too.
        """
        _check_k(k)
        ids = self._model._context_ids(context)
        words, found = self._completions(ids, prefix, special) if prefix else self._best(ids, k, special)
        vocabulary = self._model.vocabulary
        best = indices_of_top_k(words, found, k)
        return [Prediction(vocabulary[int(words[i])], float(found[i])) for i in best]

    def _best(self, context: Ids, k: int, special: bool) -> tuple[Integers, Floats]:
        model = self._model
        if k <= topk.most_words(len(model.vocabulary)):
            words, found, whole = topk.most_probable(context, model.arrays, self._block_counts, k, special)
            if whole:
                return words, found
        return self._everything(context, special)

    def _everything(self, context: Ids, special: bool) -> tuple[Integers, Floats]:
        """All words: where very many are wanted, or all are about equally probable."""
        found = distribution(context, self._model.arrays)
        words = allowed(np.arange(found.size), special)
        return words, found[words]

    def _completions(self, context: Ids, prefix: str, special: bool) -> tuple[Integers, Floats]:
        vocabulary = self._model.vocabulary
        ranks, by_rank = self._ranking
        text = np.frombuffer(prefix.encode("utf-8", "surrogatepass"), np.uint8)
        first, last = topk.prefix_range(text, by_rank, vocabulary.pool, vocabulary.offsets)
        found = topk.of_range(context, self._model.arrays, ranks, by_rank, first, last)
        words = by_rank[first:last].astype(np.int64)
        kept = np.isin(words, allowed(np.arange(len(SPECIAL)), special)) | (words >= len(SPECIAL))
        return words[kept], found[kept]

    @cached_property
    def _ranking(self) -> tuple[Ids, Ids]:
        """The rank of each word by its bytes, and the words in that order."""
        pool, ends = self._model.vocabulary.pool.tobytes(), self._model.vocabulary.offsets.tolist()
        words = [pool[a:b] for a, b in pairwise(ends)]
        by_rank = np.array(sorted(range(len(words)), key=words.__getitem__), np.int32)
        ranks = np.empty_like(by_rank)
        ranks[by_rank] = np.arange(by_rank.size, dtype=np.int32)
        return ranks, by_rank


def allowed(words: Integers, special: bool) -> Integers:
    """The words that may be predicted."""
    return words[words != START_ID] if special else words[words >= len(SPECIAL)]


def indices_of_top_k(words: Integers, probabilities: Floats, k: int) -> Integers:
    """Where the k most probable words are, of equally probable ones the smaller id first."""
    if probabilities.size > 4 * k:
        kth = np.partition(probabilities, probabilities.size - k)[probabilities.size - k]
        candidates = np.flatnonzero(probabilities >= kth)
    else:
        candidates = np.arange(probabilities.size)
    best: Integers = candidates[np.lexsort((words[candidates], -probabilities[candidates]))[:k]]
    return best


def predict_by_sorting(
    distribution: Floats, vocabulary: Vocabulary, k: int, *, prefix: str = "", special: bool = False
) -> list[Prediction]:
    """What `Predictor.predict` finds, from the whole distribution: for any model, and to check against."""
    _check_k(k)
    words = allowed(np.arange(distribution.size), special)
    if prefix:
        words = np.array([i for i in words.tolist() if vocabulary[i].startswith(prefix)], np.int64)
    best = words[indices_of_top_k(words, distribution[words], k)]
    return [Prediction(vocabulary[i], float(distribution[i])) for i in best.tolist()]


def _check_k(k: int) -> None:
    if k < 1:
        raise UsageError(f"k = {k}: expected how many words to predict, 1 or more")
