"""Words for people who type: words alone, found from plain small letters, with one letter wrong.

A word is found by its beginning without regard to case and accents: `lon` finds London, `eta` État. A beginning of
`LEAST_LETTERS` letters or more may have one letter wrong, missing, too many, or two in the wrong order; such words have
`TYPO` of their probability. Marks and numbers are no words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from weakref import WeakKeyDictionary

import numpy as np

from gapgram.arguments import checked_whole
from gapgram.arrays import Floats, Ids
from gapgram.errors import UsageError
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.queries.language_model import LanguageModel, check_counts_words
from gapgram.queries.predict import Prediction, indices_of_top_k
from gapgram.queries.session import Session
from gapgram.text.vocabulary import Vocabulary

LEAST_LETTERS = 3
TYPO = 0.02  # how often a beginning that was typed has an error, about
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_MOST_BYTES = 40  # of a word that are compared


class _PlainWords:
    """The words of a vocabulary, folded, in their order, and their ids."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.n_words = len(vocabulary)
        ids = [i for i, word in enumerate(vocabulary) if i >= len(SPECIAL) and is_word(word)]
        plain = np.fromiter((folded(vocabulary[i]).encode() for i in ids), f"S{_MOST_BYTES}", len(ids))
        order = np.argsort(plain, kind="stable")
        self._plain, self._ids = plain[order], np.array(ids, np.int32)[order]
        self.letters = sorted({*b" ".join(self._plain.tolist()).decode("utf-8", "ignore")} - {" "})

    def beginning_with(self, typed: str) -> Ids:
        """The ids of the words that begin so."""
        begin = typed.encode()[:_MOST_BYTES]
        first, last = np.searchsorted(self._plain, [begin, begin + b"\xff"])
        return self._ids[first:last]


_KNOWN: WeakKeyDictionary[Vocabulary, _PlainWords] = WeakKeyDictionary()


class TypedWords:
    """Predicts words for who types, with a model or a session of one. Threads may share it.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["in London , 1914", "in Paris , too"] * 9, order=3, model="mkn")
    >>> typed = TypedWords(model)
    >>> [typed.predict("in", k=1, prefix=letters)[0].word for letters in ("lon", "lodn")]
    ['London', 'London']
    >>> [p.word for p in typed.predict("in London", k=9)]
    ['in', 'London', 'Paris', 'too']
    """

    def __init__(self, asked: LanguageModel | Session) -> None:
        model = asked.model if isinstance(asked, Session) else asked
        check_counts_words(model, "predict --words-only")
        self._asked, self._model = asked, model

    def __repr__(self) -> str:
        return f"<TypedWords of {self._asked!r}>"

    def predict(self, context: str | Sequence[str] = (), k: int = 10, *, prefix: str = "") -> list[Prediction]:
        """The k most probable words, of those that begin as what was typed."""
        if checked_whole("k", k) < 1:
            raise UsageError(f"k = {k}: expected how many words to predict, 1 or more")
        with self._asked._lock if isinstance(self._asked, Session) else nullcontext():  # its words stay the same
            weights = self._weights(folded(prefix))
            ids = np.flatnonzero(weights)
            chances = (self._asked.distribution(context)[: weights.size] * weights)[ids]
            best = indices_of_top_k(ids, chances, k)
            return [Prediction(self._asked.vocabulary[int(ids[i])], float(chances[i])) for i in best]

    def _weights(self, typed: str) -> Floats:
        """Of each word of the vocabulary what its probability is multiplied with."""
        words, vocabulary = self._words, self._asked.vocabulary
        weights = np.zeros(len(vocabulary))
        errors = set(self._beginnings_with_an_error(typed) if len(typed) >= LEAST_LETTERS else ())
        for other in errors:
            weights[words.beginning_with(other)] = TYPO
        weights[words.beginning_with(typed)] = 1.0
        for i in range(words.n_words, weights.size):  # a session's own words
            own = vocabulary[i]
            if is_word(own):
                plain = folded(own)
                almost = any(plain[: len(typed) + n] in errors for n in (-1, 0, 1))
                weights[i] = 1.0 if plain.startswith(typed) else TYPO if almost else 0.0
        return weights

    @property
    def _words(self) -> _PlainWords:
        """The words of the model's vocabulary, one table for all who ask."""
        vocabulary = self._model.vocabulary
        if vocabulary not in _KNOWN:
            _KNOWN[vocabulary] = _PlainWords(vocabulary)
        return _KNOWN[vocabulary]

    def _beginnings_with_an_error(self, typed: str) -> Iterator[str]:
        """What may have been meant: the first letter is right."""
        for i in range(1, len(typed)):
            yield typed[:i] + typed[i + 1 :]
            yield typed[:i] + typed[i + 1 : i + 2] + typed[i] + typed[i + 2 :]
            for letter in self._words.letters:
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
