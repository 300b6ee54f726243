"""Whole words predicted by a model of tokens: tokens are put together until the next would begin another word.

A word's probability is that of its tokens, one after the other, times that of a word, or the sentence, ending there.
The search goes on with the most probable beginning of a word first; none becomes more probable by going on, so that it
ends when k words are found that no open beginning can surpass. It looks at most at `MOST_BEGINNINGS` beginnings and,
after each, at the `MOST_NEXT` most probable tokens.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gapgram.arrays import Floats, Mask
from gapgram.errors import UsageError
from gapgram.kernels.text.special_words import END_ID, SPECIAL, START
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.predict import Prediction
from gapgram.queries.session import Session
from gapgram.system.one_at_a_time import OneAtATime, one_at_a_time
from gapgram.text.tokenisers.tokeniser import Tokeniser

MOST_BEGINNINGS = 128
MOST_NEXT = 64


class WholeWords(OneAtATime):
    """Predicts whole words with a model of tokens, or a session of one. Threads may share it.

    >>> import gapgram
    >>> lines = ["the cat sat", "the dog sat", "a cat ran"] * 9
    >>> model = gapgram.train(sentences=lines, order=5, model="mkn", tokenizer="chars")
    >>> [p.word for p in WholeWords(model).predict("the", k=2)]
    ['cat', 'dog']
    >>> [p.word for p in WholeWords(model).predict("a cat", k=1, prefix="ra")]
    ['ran']
    """

    def __init__(self, asked: LanguageModel | Session) -> None:
        super().__init__()
        self._asked = self._now = asked
        model = asked.model if isinstance(asked, Session) else asked
        if model.tokeniser is None:
            raise UsageError("whole words: the model has no tokeniser: what it predicts are words already")
        self._tokeniser: Tokeniser = model.tokeniser

    @cached_property
    def _begins(self) -> Mask:
        """Which tokens begin a word."""
        begins_word = self._tokeniser.engine.begins_word
        return np.array([begins_word(word) for word in self._now.vocabulary], bool)

    @cached_property
    def _letters(self) -> list[str]:
        """What each token adds to a word."""
        return [self._tokeniser.decode([word]).strip().removeprefix("##") for word in self._now.vocabulary]

    @one_at_a_time
    def predict(self, context: str | Sequence[str] = (), k: int = 10, *, prefix: str = "") -> list[Prediction]:
        """About the k most probable next words; only those that start with `prefix`."""
        if k < 1:
            raise UsageError(f"k = {k}: expected how many words to predict, 1 or more")
        if isinstance(self._asked, Session):
            self._now = self._asked.copy()  # which nobody changes meanwhile
        asked = self._now
        before = asked.tokens(context) if isinstance(context, str) else list(context)
        found: dict[str, float] = {}
        waiting: list[tuple[float, tuple[int, ...]]] = [(-1.0, ())]
        for _ in range(MOST_BEGINNINGS):
            if not waiting:
                break
            chance, ids = heapq.heappop(waiting)
            least = heapq.nlargest(k, found.values())[-1] if len(found) >= k else 0.0
            if -chance <= least:
                break
            tokens = [asked.vocabulary[i] for i in ids]
            word = self._tokeniser.decode(tokens).strip() if tokens else ""
            given = asked.distribution([*before, *tokens])
            if word and word.startswith(prefix):
                ending = float(given[self._begins_of(given)].sum() + given[END_ID])
                found[word] = found.get(word, 0.0) - chance * ending
            may_follow = self._may_follow(given, ids, before)
            for i in self._most_probable(given, may_follow, prefix[len(word) :]):
                heapq.heappush(waiting, (chance * float(given[i]), (*ids, i)))
        best = sorted(found.items(), key=lambda one: (-one[1], one[0]))[:k]
        return [Prediction(word, chance) for word, chance in best]

    def _begins_of(self, given: Floats) -> Mask:
        """Which tokens begin a word, those that a session has read among them."""
        if self._begins.size != given.size:
            del self._begins
            self.__dict__.pop("_letters", None)
        return self._begins

    def _may_follow(self, given: Floats, ids: Sequence[int], before: Sequence[str]) -> Mask:
        """Which tokens a word may begin with, or go on with; the first word of a sentence need not be marked."""
        begins = self._begins_of(given)
        if ids:
            may_follow = ~begins
        else:
            may_follow = begins.copy() if any(token != START for token in before) else np.ones_like(begins)
        may_follow[: len(SPECIAL)] = False
        return may_follow

    def _most_probable(self, given: Floats, may_follow: Mask, left: str) -> list[int]:
        """The most probable of some tokens, those that fit what is left of a prefix."""
        ids = np.flatnonzero(may_follow)
        ids = ids[np.argsort(-given[ids], kind="stable")]
        if left:
            letters = self._letters
            ids = np.array([i for i in ids.tolist() if letters[i].startswith(left) or left.startswith(letters[i])], int)
        chosen: list[int] = ids[:MOST_NEXT].tolist()
        return chosen
