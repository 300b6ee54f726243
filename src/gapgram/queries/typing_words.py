"""Words for people who type: words alone, found from plain small letters, with one letter wrong.

A word is found by its beginning without regard to case and accents: `lon` finds London, `eta` État. A beginning of
`LEAST_LETTERS` letters or more may have one letter wrong, missing, too many, or two in the wrong order; such words have
`TYPO` of their probability. Marks and numbers are no words.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from gapgram.arguments import checked_whole
from gapgram.arrays import Floats, Ids
from gapgram.errors import UsageError
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.queries.language_model import LanguageModel, check_counts_words
from gapgram.queries.predict import Prediction, indices_of_top_k
from gapgram.queries.session import Session

LEAST_LETTERS = 3
TYPO = 0.02  # how often a beginning that was typed has an error, about
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_LAST = chr(0x10FFFF)


class TypedWords:
    """Predicts words for who types, with a model or a session of one.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["in London , 1914", "in Paris , too"] * 9, order=3, model="mkn")
    >>> typed = TypedWords(model)
    >>> [typed.predict("in", k=1, prefix=letters)[0].word for letters in ("lon", "lodn")]
    ['London', 'London']
    >>> [p.word for p in typed.predict("in London", k=9)]
    ['in', 'London', 'Paris', 'too']
    """

    def __init__(self, asked: LanguageModel | Session) -> None:
        check_counts_words(asked.model if isinstance(asked, Session) else asked, "predict --words-only")
        self._asked = asked

    def predict(self, context: str | Sequence[str] = (), k: int = 10, *, prefix: str = "") -> list[Prediction]:
        """The k most probable words, of those that begin as what was typed."""
        if checked_whole("k", k) < 1:
            raise UsageError(f"k = {k}: expected how many words to predict, 1 or more")
        weights = self._weights(folded(prefix))
        ids = np.flatnonzero(weights)
        chances = (self._asked.distribution(context)[: weights.size] * weights)[ids]
        best = indices_of_top_k(ids, chances, k)
        return [Prediction(self._asked.vocabulary[int(ids[i])], float(chances[i])) for i in best]

    def _weights(self, typed: str) -> Floats:
        """Of each word of the vocabulary what its probability is multiplied with."""
        if len(self._asked.vocabulary) != self._known_words:
            for name in ("_known_words", "_plain", "_letters"):
                self.__dict__.pop(name, None)
        weights = np.zeros(self._known_words)
        if len(typed) >= LEAST_LETTERS:
            for other in self._beginnings_with_an_error(typed):
                weights[self._beginning_with(other)] = TYPO
        weights[self._beginning_with(typed)] = 1.0
        return weights

    @cached_property
    def _known_words(self) -> int:
        return len(self._asked.vocabulary)

    @cached_property
    def _plain(self) -> tuple[list[str], Ids]:
        """The words, folded, in their order, and their ids."""
        numbered = enumerate(self._asked.vocabulary)
        in_order = sorted((folded(word), i) for i, word in numbered if i >= len(SPECIAL) and is_word(word))
        return [word for word, _ in in_order], np.array([i for _, i in in_order], np.int32)

    @cached_property
    def _letters(self) -> list[str]:
        """The letters of the words."""
        return sorted({letter for word in self._plain[0] for letter in word})

    def _beginning_with(self, typed: str) -> Ids:
        words, ids = self._plain
        return ids[bisect_left(words, typed) : bisect_left(words, typed + _LAST)]

    def _beginnings_with_an_error(self, typed: str) -> Iterator[str]:
        """What may have been meant: the first letter is right."""
        for i in range(1, len(typed)):
            yield typed[:i] + typed[i + 1 :]
            yield typed[:i] + typed[i + 1 : i + 2] + typed[i] + typed[i + 2 :]
            for letter in self._letters:
                yield typed[:i] + letter + typed[i + 1 :]
                yield typed[:i] + letter + typed[i:]


def folded(word: str) -> str:
    """A word in small letters, without accents.

    >>> folded("État"), folded("Straße")
    ('etat', 'strasse')
    """
    apart = unicodedata.normalize("NFD", word.casefold())
    return "".join(letter for letter in apart if unicodedata.category(letter) != "Mn")


def is_word(word: str) -> bool:
    """Whether a word is letters, with apostrophes and hyphens inside.

    >>> [is_word(word) for word in ("well-known", "1914", ",", "'s", "U.S.")]
    [True, False, False, False, False]
    """
    return _WORD.fullmatch(word) is not None
