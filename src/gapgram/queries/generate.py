"""Sentences drawn from a model, word by word.

From a model of patterns words are drawn as the patterns decide, many sentences at once (`queries.drawing`); otherwise,
and where a temperature or `top_k` is given, each word is drawn from the model's whole distribution: that takes longer.
`<unk>` is no word to write, so that words are drawn given that they are known; a sentence ends where `</s>`
is drawn. A temperature T raises probabilities to the power 1/T: below 1 the text becomes more ordinary,
above 1 more surprising. With `top_k` only the k most probable words (the end of the sentence among them)
may be drawn. The same seed gives the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gapgram.arguments import checked_number, checked_whole, wrong_type
from gapgram.arrays import Floats, Ids
from gapgram.errors import UsageError
from gapgram.kernels.text.special_words import END_ID, START, UNKNOWN_ID
from gapgram.queries.predict import NamesWords, indices_of_top_k


class HasDistributions(Protocol):
    """What is needed of a model."""

    @property
    def vocabulary(self) -> NamesWords: ...
    def distribution(self, context: Any = ()) -> Floats: ...


@runtime_checkable
class DrawsSentences(Protocol):
    """A model that has a faster way."""

    def draw_ids(
        self, n: int, begin: Sequence[str], *, max_words: int, seed: int, threads: int | None = None
    ) -> Iterator[Ids]: ...


@runtime_checkable
class CutsText(Protocol):
    """A model that knows how text is cut into its words."""

    def tokens(self, text: str) -> list[str]: ...


def generate(
    model: HasDistributions,
    n: int = 1,
    *,
    begin: str | Sequence[str] = (),
    temperature: float = 1.0,
    top_k: int | None = None,
    max_words: int = 100,
    seed: int = 1,
    threads: int | None = None,
) -> Iterator[list[str]]:
    """`n` sentences, each a list of words, cut off after `max_words`.

    begin: the words that every sentence begins with, or a text. Words are tokens where the model has a tokeniser;
        `model.text_of` puts them together. threads: to draw with, by default all cores; the sentences are the
        same for any number.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> [" ".join(words) for words in generate(model, begin="the dog", top_k=1)]
    ['the dog sat']
    """
    _check(model, n, temperature, top_k, max_words)
    if not isinstance(begin, str | Sequence):
        raise wrong_type("begin", begin, "a string or a list of words")
    if seed < 0:
        raise UsageError(f"seed {seed}: expected a whole number, 0 or more")
    first = _words_of(model, begin)
    if temperature == 1.0 and top_k is None and len(first) < max_words and isinstance(model, DrawsSentences):
        name = cache(model.vocabulary.__getitem__)
        for ids in model.draw_ids(n, first, max_words=max_words, seed=seed, threads=threads):
            yield [*first, *(name(i) for i in ids[len(first) :].tolist())]
        return
    draw = np.random.default_rng(seed)
    for _ in range(n):
        words = list(first)
        while len(words) < max_words:
            weights = sharpened(model.distribution([START, *words]), temperature, top_k)
            word = pick(weights, draw.random())
            if word == END_ID:
                break
            words.append(model.vocabulary[word])
        yield words


def _words_of(model: HasDistributions, begin: str | Sequence[str]) -> list[str]:
    """The words that sentences begin with: of a text as the model cuts it, or a list of them."""
    if not isinstance(begin, str):
        return list(begin)
    return model.tokens(begin) if isinstance(model, CutsText) else begin.split()


def sharpened(distribution: Floats, temperature: float, top_k: int | None) -> Floats:
    """What words are drawn by, not yet summing to one.

    >>> sharpened(np.array([0.2, 0.0, 0.1, 0.4, 0.3]), 0.5, 2).round(2).tolist()
    [0.0, 0.0, 0.0, 1.0, 0.56]
    """
    weights = distribution.copy()
    weights[UNKNOWN_ID] = 0.0
    if top_k is not None:
        kept = indices_of_top_k(np.arange(weights.size), weights, top_k)
        masked = np.zeros_like(weights)
        masked[kept] = weights[kept]
        weights = masked
    if temperature != 1.0:
        # Divided by the largest, so that no low temperature makes all of them vanish.
        weights = (weights / weights.max()) ** (1.0 / temperature)
    return weights


def pick(weights: Floats, u: float) -> int:
    """The id that a number u, 0 ≤ u < 1, falls on when weights lie one after the other.

    >>> [pick(np.array([0.0, 1.0, 0.0, 3.0]), u) for u in (0.0, 0.24, 0.25, 0.99)]
    [1, 1, 3, 3]
    """
    ends = np.cumsum(weights)
    return int(np.searchsorted(ends, u * ends[-1], side="right"))


def _check(model: HasDistributions, n: int, temperature: float, top_k: int | None, max_words: int) -> None:
    if not hasattr(model, "distribution"):
        raise wrong_type("generate", model, "a model first, such as gapgram.load gives")
    checked_whole("sentences", n)
    checked_number("temperature", temperature)
    if n < 1:
        raise UsageError(f"{n} sentences: expected 1 or more")
    if not 0 < temperature < float("inf"):
        raise UsageError(f"temperature {temperature}: expected a number above 0; 1 draws from the model as it is")
    if top_k is not None and top_k < 1:
        raise UsageError(f"top k {top_k}: expected 1 or more")
    if max_words < 1:
        raise UsageError(f"at most {max_words} words: expected 1 or more")
