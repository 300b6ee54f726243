"""How words are spelled: the probabilities of words that a vocabulary does not have.

A word is a sentence of characters under modified Kneser-Ney, by equations (44) to (46) of docs/ideas/mathematics.md. So
what a model gives to `<unk>` is shared out among all strings that are not in its vocabulary.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.errors import TextError
from gapgram.estimation.parts import ModelParts
from gapgram.kernels.probability.query import score_last, score_sequences
from gapgram.kernels.probability.scores import sum_sequences
from gapgram.kernels.text.special_words import END_ID, SPECIAL, START_ID, UNKNOWN_ID
from gapgram.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gapgram.text.word_table import WordSample

MOST_CHARACTERS = 100
UNICODE = 0x110000 - 0x800 - len(" \t\n\v\f\r")  # all characters that a word may hold: no surrogates, no white space
PREFIX = "spelling_"  # of its sections in the file of a model
LEAST_OUTSIDE = sys.float_info.epsilon
_CHUNK = 1 << 14  # words that are spelled at a time


@dataclass(frozen=True)
class Spelling:
    """A model of characters, and what it says of words.

    log10_outside: log10 of the probability that it gives to all words outside of the vocabulary together.
    most_characters: words that begin with the same so many characters are one to it, and share a probability.
    """

    parts: ModelParts
    log10_outside: float = 0.0
    most_characters: int = MOST_CHARACTERS

    @classmethod
    def checked(cls, parts: ModelParts, log10_outside: float, most_characters: int) -> Spelling:
        """What a file has; refuses what spells nothing."""
        characters = list(parts.counts.vocabulary)[len(SPECIAL) :]
        if any(len(character) != 1 for character in characters) or len(set(characters)) != len(characters):
            raise ValueError("a spelling of other things than characters")
        if not math.log10(LEAST_OUTSIDE) - 1 <= log10_outside <= 0.0:
            raise ValueError(f"a spelling that leaves 10 to the power of {log10_outside} to unknown words")
        if not 1 <= most_characters <= 1 << 20:
            raise ValueError(f"a spelling of at most {most_characters:,} characters")
        return cls(parts, log10_outside, most_characters)

    def in_layout(self, layout: str) -> Spelling:
        """The same, its tables in a layout."""
        return replace(self, parts=self.parts.in_layout(layout))

    def contents(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """What goes into the file of a model: arrays by name, and plain values."""
        sections, metadata = self.parts.contents()
        metadata |= {"log10_outside": self.log10_outside, "most_characters": self.most_characters}
        return {PREFIX + name: array for name, array in sections.items()}, metadata

    def log10_prob(self, word: str) -> float:
        """log10 of the probability of a word among all that the vocabulary does not have; (46) without its context."""
        return float(self.log10_probs([word])[0])

    def log10_probs(self, words: Sequence[str]) -> Floats:
        """log10 of the probability of each of some words among all that the vocabulary does not have."""
        some = [self._log10_spelled(words[at : at + _CHUNK]) for at in range(0, len(words), _CHUNK)]
        return np.concatenate([np.empty(0), *some]) - self.log10_outside

    def log10_outside_of(self, vocabulary: Vocabulary) -> float:
        """What `log10_outside` is for a vocabulary: equation (45)."""
        known = 0.0
        for begin in range(0, len(vocabulary), _CHUNK):
            words = (vocabulary[i] for i in range(begin, min(begin + _CHUNK, len(vocabulary))))
            spelled = self._log10_spelled([word for word in words if len(word) < self.most_characters])
            known += math.fsum((10.0**spelled).tolist())
        return math.log10(min(max(1.0 - known, LEAST_OUTSIDE), 1.0))

    def _log10_spelled(self, words: Sequence[str]) -> Floats:
        """log10 of the probability of each word among all strings: equation (44)."""
        ids, begins = self._ids_of([word[: self.most_characters] for word in words])
        arrays, scores = self.parts.arrays, np.empty(ids.size)
        score_sequences(ids, begins, arrays, scores)
        scores[ids == UNKNOWN_ID] -= math.log10(self.other_characters)
        ends = begins[1:] - 1
        scores[ends[np.diff(begins) == self.most_characters + 2]] = 0.0  # there the end comes by itself
        spelled: Floats = sum_sequences(scores, begins) - self._log10_not_empty
        return spelled

    @property
    def other_characters(self) -> int:
        """How many characters there are that training has not shown, white space left out."""
        return max(1, UNICODE - (len(self.parts.counts.vocabulary) - len(SPECIAL)))

    @cached_property
    def _log10_not_empty(self) -> float:
        """log10 of the probability that a word has a character."""
        empty = 10.0 ** float(score_last(np.array([START_ID, END_ID], np.int32), self.parts.arrays))
        return math.log10(max(1.0 - empty, LEAST_OUTSIDE))

    @cached_property
    def _alphabet(self) -> tuple[Integers, Ids]:
        """The numbers of the known characters, rising, and their ids; the newline ends a word."""
        points = np.array([ord("\n"), *map(ord, list(self.parts.counts.vocabulary)[len(SPECIAL) :])])
        ids = np.array([END_ID, *range(len(SPECIAL), len(SPECIAL) + points.size - 1)], np.int32)
        order = np.argsort(points)
        return points[order], ids[order]

    def _ids_of(self, words: Sequence[str]) -> tuple[Ids, Begins]:
        """The ids of the characters of words, `<s> … </s>` for each, and where words begin."""
        points, known_ids = self._alphabet
        text = np.frombuffer("\n".join([*words, ""]).encode("utf-32-le", "replace"), "<u4") if words else points[:0]
        place = np.minimum(np.searchsorted(points, text), points.size - 1)
        ids = np.where(points[place] == text, known_ids[place], UNKNOWN_ID)
        begins = np.cumsum([0, *(len(word) + 2 for word in words)])
        starts = begins[:-1] - np.arange(len(words))
        return np.insert(ids, starts, START_ID).astype(np.int32), begins


def learn_spelling(
    words: WordSample,
    vocabulary: Vocabulary,
    *,
    order: int = 6,
    most_characters: int = MOST_CHARACTERS,
) -> Spelling:
    """What spells words, learned from these.

    vocabulary: the words that need no spelling.
    """
    from gapgram.counting.in_memory import count
    from gapgram.estimation.discounts import estimate_discounts
    from gapgram.estimation.weights.estimators import uniform
    from gapgram.lattice import Lattice
    from gapgram.text.corpus import blocks_of_sentences, read_corpus

    if len(words) < 2:
        raise TextError("open vocabulary: the text has one word, over and over: expected others to learn spelling from")
    corpus = read_corpus(blocks_of_sentences(words.lines()))
    counts = count(corpus, Lattice.chain(min(order, corpus.longest_sentence + 2)), threads=1)
    discounts = estimate_discounts(counts, warned=False)
    parts = ModelParts.of("mkn", counts, discounts, replace(uniform(counts), name="none"))
    spelling = Spelling(parts, most_characters=most_characters)
    return replace(spelling, log10_outside=spelling.log10_outside_of(vocabulary))
