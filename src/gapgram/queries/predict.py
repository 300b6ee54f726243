"""The most probable next words, exactly, without looking at every word.

A prediction is the head of the model's distribution: more probable words first, and of equally probable
ones (equal as the machine computes them) the one with the smaller id, which is the more frequent word.
`<s>` is never predicted; `<unk>` and `</s>` are no words to type and are left out unless asked for.
Probabilities are the model's own: they are not scaled up for what was left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from gapgram.arguments import checked_whole, wrong_type
from gapgram.arrays import Floats, Ids, Integers
from gapgram.errors import UsageError
from gapgram.kernels.probability.successors import distribution
from gapgram.kernels.tables.model_arrays import ModelArrays
from gapgram.kernels.text.special_words import SPECIAL, START_ID
from gapgram.kernels.topk import completions
from gapgram.kernels.topk import exact as topk
from gapgram.text.vocabulary import Vocabulary

NO_WORDS, NO_SHARES = np.empty(0, np.int64), np.empty(0)


@dataclass(frozen=True)
class Prediction:
    """A word and its probability.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "the cow ran"] * 9, order=3, model="mkn")
    >>> [p.word for p in model.predict("the", k=2)]
    ['cat', 'cow']
    >>> [p.word for p in model.predict("the cat", k=2, prefix="r")]
    ['ran']
    """

    word: str
    probability: float


class NamesWords(Protocol):
    """What gives words their names: a vocabulary, or that of a session."""

    def __getitem__(self, word_id: int, /) -> str: ...


class Predictor:
    """Predicts the next words after a context of word ids. Safe to share between threads; a model has one.

    It remembers which parts of the model's lists hold no frequent words, so it becomes faster with use;
    the words by their bytes, for prefixes, are sorted on first use.
    """

    def __init__(self, arrays: ModelArrays, vocabulary: Vocabulary) -> None:
        self.arrays, self._vocabulary = arrays, vocabulary
        self.block_counts = np.zeros(topk.n_blocks(arrays.tables.places), np.int64)

    def predict(self, context: Ids, k: int, *, prefix: str = "", special: bool = False) -> list[Prediction]:
        """The k most probable next words, fewer where there are not so many.

        prefix: only words that start so.
        special: `<unk>` and `</s>` may be predicted too.
        """
        check_k(k, prefix)
        if prefix:
            words, probabilities = self.completions(context, prefix, special)
        else:
            words, probabilities = self._best(context, k, special)
        best = indices_of_top_k(words, probabilities, k)
        return [Prediction(self._vocabulary[int(words[i])], float(probabilities[i])) for i in best]

    def _best(self, context: Ids, k: int, special: bool) -> tuple[Integers, Floats]:
        """Words among which are the k most probable, and their probabilities."""
        if k <= topk.most_words(len(self._vocabulary)):
            words, probabilities, whole = topk.most_probable(context, self.arrays, self.block_counts, k, special)
            if whole:
                return words, probabilities
        # Very many are wanted, or all are about equally probable.
        everything = distribution(context, self.arrays)
        words = allowed(np.arange(everything.size), special)
        return words, everything[words]

    def completions(self, context: Ids, prefix: str, special: bool) -> tuple[Integers, Floats]:
        """All words that start so, and their probabilities."""
        vocabulary = self._vocabulary
        ranks, by_rank = self._ranking
        text = np.frombuffer(prefix.encode("utf-8", "surrogatepass"), np.uint8)
        first, last = completions.prefix_range(text, by_rank, vocabulary.pool, vocabulary.offsets)
        probabilities = completions.probabilities_of_range(context, self.arrays, ranks, by_rank, first, last)
        words = by_rank[first:last].astype(np.int64)
        kept = np.isin(words, allowed(np.arange(len(SPECIAL)), special)) | (words >= len(SPECIAL))
        return words[kept], probabilities[kept]

    @cached_property
    def _ranking(self) -> tuple[Ids, Ids]:
        """The rank of each word by its bytes, and the words in that order."""
        pool, ends = self._vocabulary.pool.tobytes(), self._vocabulary.offsets.tolist()
        words = [pool[a:b] for a, b in pairwise(ends)]
        by_rank = np.array(sorted(range(len(words)), key=words.__getitem__), np.int32)
        ranks = np.empty_like(by_rank)
        ranks[by_rank] = np.arange(by_rank.size, dtype=np.int32)
        return ranks, by_rank


class ByModel(NamedTuple):
    """What a model of patterns says after some ids, for a search among more than its own words.

    seen: the ids that the patterns look at. share: theirs of what the model says. words, shares: what else it gives
    some words, which rise.
    """

    predictor: Predictor
    seen: Ids
    share: float = 1.0
    words: Integers = NO_WORDS
    shares: Floats = NO_SHARES


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
    distribution: Floats, vocabulary: NamesWords, k: int, *, prefix: str = "", special: bool = False
) -> list[Prediction]:
    """What `Predictor.predict` finds, from the whole distribution: for any model, and to check against."""
    check_k(k, prefix)
    words = allowed(np.arange(distribution.size), special)
    if prefix:
        words = np.array([i for i in words.tolist() if vocabulary[i].startswith(prefix)], np.int64)
    best = words[indices_of_top_k(words, distribution[words], k)]
    return [Prediction(vocabulary[i], float(distribution[i])) for i in best.tolist()]


def check_k(k: int, prefix: str) -> None:
    """Refuse what is no number of words, or no prefix."""
    if not isinstance(prefix, str):
        raise wrong_type("prefix", prefix, "a string")
    if checked_whole("k", k, "how many words to predict, a whole number") < 1:
        raise UsageError(f"k = {k}: expected how many words to predict, 1 or more")
