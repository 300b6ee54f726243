"""What is asked of a model for the words of some sentences: surprisal, and on request entropy, lengths and patterns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.counts.counts import Counts
from gapgram.errors import UsageError
from gapgram.kernels.probability.query import Found, locate_all
from gapgram.kernels.tables.arrays import COUNT_BITS, COUNT_MASK, N_GRAMS, ROW_BITS, clustering_of
from gapgram.kernels.tables.model_arrays import BACKOFF, SCALE, WEIGHT, ModelArrays
from gapgram.kernels.text.special_words import START, START_ID, UNKNOWN_ID
from gapgram.models.model import Model
from gapgram.pattern import Pattern
from gapgram.queries.language_model import LanguageModel
from gapgram.text.corpus import blocks_of_sentences

BITS = math.log2(10)  # in a unit of log10
_REMEMBERED = 1 << 14  # contexts and the entropies after them


@dataclass(frozen=True)
class Measures:
    """What is measured.

    start: the first word comes after `<s>`; otherwise nothing is known before it.
    end: the end of a sentence is a row too.
    entropy: of the distribution of the next word, before the word is known.
    lengths: the surprisal if only so many last words were known, 0 to order - 1.
    patterns: the surprisal that each pattern of the model gives by itself.
    """

    start: bool = True
    end: bool = False
    entropy: bool = False
    lengths: bool = False
    patterns: bool = False


class Measured(NamedTuple):
    """Of each word of a sentence, and of its end: bits, whether it is known, its id, other columns [column, word]."""

    surprisal: Floats
    ids: list[int]
    others: Floats

    @property
    def known(self) -> list[bool]:
        """Whether each word is one of the vocabulary."""
        return [i != UNKNOWN_ID for i in self.ids]


class Measurer:
    """Measures sentences with one model; safe to share between threads."""

    def __init__(self, model: LanguageModel, measures: Measures) -> None:
        if measures.patterns and not isinstance(model, Model):
            raise UsageError("surprisal: patterns are those of a model that gapgram has trained; this one has none")
        self.model, self.measures = model, measures
        unknown = model.tokeniser.unknown if model.tokeniser is not None else None
        self._unknown = UNKNOWN_ID if unknown is None else model.vocabulary.id(unknown)
        self._entropy = lru_cache(_REMEMBERED)(self._entropy_after)

    @property
    def columns(self) -> list[str]:
        """The names of the other columns."""
        names = ["entropy"] if self.measures.entropy else []
        if self.measures.lengths:
            names += [f"last_{length}" for length in range(self.model.order)]
        if self.measures.patterns and isinstance(self.model, Model):
            names += [f"pattern_{pattern}" for pattern in self.model.counts.lattice.patterns]
        return names

    def measure(self, sentences: Sequence[Sequence[str]]) -> list[Measured]:
        """The measures of all words of sentences, and of their ends."""
        (block,) = blocks_of_sentences(sentences, block_bytes=1 << 62)
        scored = self.model.score_block(block, bos=self.measures.start)
        bounds, skipped = scored.begins.tolist(), int(self.measures.start)
        out = []
        for words, a, b in zip(sentences, bounds, bounds[1:], strict=False):
            ids, scores = scored.ids[a:b], scored.scores[a:b]
            known = np.where(ids == self._unknown, UNKNOWN_ID, ids)[skipped:]
            out.append(Measured(-BITS * scores[skipped:], known.tolist(), self._others(words, ids)))
        return out

    def _others(self, words: Sequence[str], ids: np.ndarray) -> Floats:
        n, skipped = len(words) + 1, int(self.measures.start)
        rows_of_measures = [np.empty((0, n))]
        if self.measures.entropy:
            before = [*([START] if skipped else []), *words]
            seen = self.model.order - 1
            ends = range(skipped, skipped + n)
            rows_of_measures.append(np.array([[self._entropy(tuple(before[max(0, t - seen) : t])) for t in ends]]))
        if self.measures.lengths:
            rows_of_measures.append(-BITS * self._by_length(ids)[:, skipped:])
        if self.measures.patterns and isinstance(self.model, Model):
            rows = [self.model.counts.index(pattern) for pattern in self.model.counts.lattice.patterns]
            rows_of_measures.append(-BITS * pattern_scores(self.model.parts.arrays, ids)[rows, skipped:])
        return np.concatenate(rows_of_measures)

    def _by_length(self, ids: np.ndarray) -> Floats:
        """[length, position]: log10 of the probability of each word after so many last words, or all there are."""
        windows = [ids[max(0, t - length) : t + 1] for length in range(self.model.order) for t in range(ids.size)]
        begins = np.cumsum([0, *map(len, windows)])
        scores = self.model.score_checked_ids(np.concatenate(windows), begins)
        by_length: Floats = scores[begins[1:] - 1].reshape(self.model.order, ids.size)
        return by_length

    def _entropy_after(self, context: tuple[str, ...]) -> float:
        probabilities = self.model.distribution(list(context))
        possible = probabilities[probabilities > 0]
        return float(-(possible * np.log2(possible)).sum())


def pattern_scores(arrays: ModelArrays, ids: Ids) -> Floats:
    """[pattern, position]: log10 of the probability of each word of one sequence under each pattern by itself.

    A pattern takes off its discounts and falls back as it does inside the model, equations (8), (15) and (24) of
    docs/ideas/mathematics.md, so that each is a distribution that sums to one. Not a number where the sequence has no
    word at one of the pattern's places yet, and for patterns that are only stored for others' sake.
    """
    found = locate_all(ids, arrays.start_base.size - 1, arrays.tables)
    n_words, ones = arrays.tables.word_counts.size, np.ones(ids.size)
    of_clusterings = arrays.given_class.reshape(-1, n_words or 1)
    given = [ones, *(np.append(own, 0.0)[np.minimum(ids, n_words)] for own in of_clusterings)]
    values = np.empty((arrays.discounts.shape[0], ids.size))
    for p in range(values.shape[0]):
        own_given = given[clustering_of(arrays.tables.places, p)]
        values[p] = _kept(arrays, found, p) * own_given + _passed(arrays, found, values, p)
    values[found.rows < 0] = np.nan
    return np.log10(values)


def _kept(arrays: ModelArrays, found: Found, p: int) -> Floats:
    """The discounted relative frequency of each word under a pattern."""
    counts, rows = found.counts[p], np.maximum(found.rows[p], 0)
    left: Floats = (counts - arrays.discounts[p, np.minimum(counts, 3)]) * arrays.row_values[rows, SCALE]
    return left


def _passed(arrays: ModelArrays, found: Found, values: Floats, p: int) -> Floats:
    """What a pattern adds from those that it falls back on, or, where it keeps no word, from the even distribution."""
    backoff: Floats = arrays.row_values[np.maximum(found.rows[p], 0), BACKOFF]
    if p == 0:
        return backoff / (int(arrays.tables.places[0, N_GRAMS]) - 1)  # `<s>` is never predicted
    edges = slice(int(arrays.edge_base[p]), int(arrays.edge_base[p + 1]))
    below = arrays.edge_to[edges]
    if not below.size:
        return np.full(backoff.size, np.nan)
    weights = np.ones((below.size, backoff.size))
    if below.size > 1:
        rows = np.maximum(found.rows[below], 0)
        weights = arrays.edge_weight[edges][:, None] * arrays.row_values[rows, WEIGHT]
    mixed: Floats = (weights * values[below]).sum(axis=0) / weights.sum(axis=0)
    return backoff * mixed


def word_frequencies(model: LanguageModel) -> Integers | None:
    """How often the training text has each word of the vocabulary, by id; None where the model does not tell.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> word_frequencies(model)[model.vocabulary.id("cat")]
    np.int64(18)
    """
    if not isinstance(model, Model):
        return None
    counts = model.counts
    if counts.tables.word_counts.size:
        return counts.tables.word_counts
    return None if counts.pruned or counts.quantised else _added_up(counts)


def _added_up(counts: Counts) -> Integers:
    """Every word ends one gram of the longest contiguous pattern, or a shorter one that begins with `<s>`.

    Only these have been counted as they occur; others as the number of different words before them.
    """
    n_words, order = len(counts.vocabulary), counts.lattice.order
    frequencies, first, last = np.zeros(n_words, np.int64), START_ID, START_ID + 1
    for length in range(order):
        pattern = Pattern.contiguous(length)
        if length:
            begins = counts.contexts(pattern) >> ROW_BITS
            first, last = int(begins[first]), int(begins[last])
        grams = counts.grams(pattern)
        taken = grams if length == order - 1 else grams[first:last] if length else grams[:0]
        frequencies += np.bincount(taken >> COUNT_BITS, taken & COUNT_MASK, n_words).astype(np.int64)
    return frequencies
