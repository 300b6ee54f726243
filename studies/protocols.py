"""Two ways of measuring a model by test text.

sequences    The paper's: isolated sequences of words, drawn from the test text. The probability of the first
             n words is the product over i = 1 … n of P(word i | words 1 … i-1), each by the model whose
             order is i, so that the whole beginning of the sequence is its context and absolute counts are
             its top counts, as in the paper. Perplexity is per predicted word; `<s>`, where a sequence
             starts with it, is given and not predicted.
running      Whole sentences after `<s>`, their ends `</s>` predicted (`Model.perplexity`).

Both are told with and without the predictions of unknown words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
import xxhash

from gapgram.arrays import Floats, Ids, Integers, Mask
from gapgram.errors import TextError
from gapgram.kernels.text.special_words import START_ID, UNKNOWN_ID
from gapgram.models.model import Model
from gapgram.text.vocabulary import Vocabulary

PARTS = ("complete", "unseen", "observed")


@dataclass(frozen=True)
class Tally:
    """Predictions and the sum of their log10 probabilities; the same without unknown words.

    >>> (Tally(2, 0, -3.0, -3.0) + Tally(1, 1, -6.0, 0.0)).perplexity
    1000.0
    """

    predictions: int = 0
    unknown_words: int = 0
    log10_prob: float = 0.0
    log10_prob_known: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    @property
    def perplexity(self) -> float:
        """With unknown words."""
        return _perplexity(self.log10_prob, self.predictions)

    @property
    def perplexity_known(self) -> float:
        """Without unknown words."""
        return _perplexity(self.log10_prob_known, self.predictions - self.unknown_words)

    @classmethod
    def sum(cls, tallies: Iterable[Tally]) -> Tally:
        """All of them together."""
        return reduce(add, tallies, cls())


@dataclass(frozen=True)
class Sequences:
    """Isolated sequences, all of one length."""

    words: Sequence[Sequence[str]]
    length: int

    @cached_property
    def digest(self) -> str:
        """Of the sequences in their order."""
        return xxhash.xxh64("\n".join(map(" ".join, self.words)).encode()).hexdigest()

    def ids(self, vocabulary: Vocabulary) -> Ids:
        """[sequence, place]: the ids of the words."""
        known = {word: vocabulary.id(word) for word in {w for sequence in self.words for w in sequence}}
        flat = [known[word] for sequence in self.words for word in sequence]
        return np.array(flat, np.int32).reshape(-1, self.length)


def draw_sequences(lines: Sequence[str], *, number: int, length: int, seed: int) -> Sequences:
    """Runs of `length` words inside sentences, all equally likely, none twice; all runs where there are fewer.

    >>> draw_sequences(["a b c d", "e f"], number=9, length=3, seed=1).words
    [['a', 'b', 'c'], ['b', 'c', 'd']]
    """
    # Words are apart by ASCII white space, as everywhere in gapgram; str.split would split at more.
    sentences = [line.encode().split() for line in lines]
    ends = np.cumsum([max(0, len(words) - length + 1) for words in sentences])
    if not ends.size or not ends[-1]:
        raise TextError(f"the test text has no sentence of {length} words or more to draw sequences from")
    runs = int(ends[-1])
    drawn = np.sort(np.random.default_rng(seed).choice(runs, min(number, runs), replace=False))
    sampled = []
    for sentence, run in zip(np.searchsorted(ends, drawn, side="right").tolist(), drawn.tolist(), strict=True):
        begin = run - (int(ends[sentence - 1]) if sentence else 0)
        sampled.append([word.decode() for word in sentences[sentence][begin : begin + length]])
    return Sequences(sampled, length)


def observed(training: Ids, sequences: Ids) -> Mask:
    """[sequence, n-1]: whether the first n words of a sequence stand somewhere in the training text."""
    flags = np.zeros(sequences.shape, bool)
    n_words = int(max(training.max(initial=0), sequences.max(initial=0))) + 1
    # Numbers of the beginnings so far, -1 where a place of the text begins none.
    of_text, of_sequences = np.zeros(training.size, np.int64), np.zeros(len(sequences), np.int64)
    for n in range(sequences.shape[1]):
        keys = of_sequences * n_words + sequences[:, n]
        beginnings, of_sequences = np.unique(keys, return_inverse=True)
        of_text = _numbers(of_text[: training.size - n], training[n:], n_words, beginnings)
        seen = np.zeros(beginnings.size, bool)
        seen[of_text[of_text >= 0]] = True
        flags[:, n] = seen[of_sequences] & (sequences[:, : n + 1] != UNKNOWN_ID).all(1)
    return flags


def _numbers(
    before: Integers, words: Ids, n_words: int, beginnings: Integers
) -> Integers:
    keys = before * n_words + words
    nearest = np.minimum(np.searchsorted(beginnings, keys), beginnings.size - 1)
    return np.where((before >= 0) & (beginnings[nearest] == keys), nearest, -1)


def place_tallies(model: Model, sequences: Ids, seen: Mask, *, threads: int | None = None) -> dict[int, list[Tally]]:
    """Of the words at the place that is the model's order: for each n from there on, a tally for each of `PARTS`.

    The parts of n are those of the sequences' first n words: all, not observed, observed.
    """
    order = model.order
    begins = np.arange(len(sequences) + 1, dtype=np.int64) * order
    scores = model.score_ids(sequences[:, :order].reshape(-1), begins, threads=threads).reshape(-1, order)[:, -1]
    words = sequences[:, order - 1]
    every = np.ones(len(sequences), bool)
    tallies = {}
    for n in range(order, sequences.shape[1] + 1):
        masks = (every, ~seen[:, n - 1], seen[:, n - 1])
        tallies[n] = [_tally(scores[mask], words[mask]) for mask in masks]
    return tallies


def _tally(scores: Floats, words: Ids) -> Tally:
    predicted, unknown = words != START_ID, words == UNKNOWN_ID
    return Tally(
        int(predicted.sum()), int(unknown.sum()), float(scores[predicted].sum()),
        float(scores[predicted & ~unknown].sum()),
    )  # fmt: skip


def _perplexity(log10_prob: float, predictions: int) -> float:
    return float(10.0 ** (-log10_prob / predictions)) if predictions else float("nan")
