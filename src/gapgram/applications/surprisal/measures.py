"""What is asked of a model for the words of some sentences: surprisal, and on request entropy, lengths and patterns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Floats
from gapgram.errors import UsageError
from gapgram.kernels.special_words import START, UNKNOWN_ID
from gapgram.models.model import Model
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.pattern_scores import pattern_scores
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
