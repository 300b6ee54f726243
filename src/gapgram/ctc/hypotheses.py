"""What a decoder found: texts, where their words are, and what their scores are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gapgram.ctc.alphabet import WORD_BEGINS, Alphabet
from gapgram.ctc.search import Ending, Search, shares_of
from gapgram.queries.states import State


class DecodedWord(NamedTuple):
    """A word, its first frame and the one after its last, and the probability that it is there, among all beams."""

    word: str
    first: int
    after: int
    confidence: float


@dataclass(frozen=True)
class Hypothesis:
    """A text and its scores, natural logarithms: what the recogniser, the model and hot words say.

    language: the model's, weighted, with what each word adds. confidence: its probability among all beams.
    state: the model's after the last word, before the end of the text; None without a model.
    """

    text: str
    words: tuple[DecodedWord, ...]
    acoustic: float
    language: float
    hot: float
    confidence: float
    state: State | None

    @property
    def total(self) -> float:
        """What hypotheses are ranked by."""
        return self.acoustic + self.language + self.hot

    def as_dict(self) -> dict[str, object]:
        """All of it, for JSON."""
        names = ("text", "acoustic", "language", "hot", "total", "confidence")
        return {**{name: getattr(self, name) for name in names}, "words": [word._asdict() for word in self.words]}


class _Spelled(NamedTuple):
    text: str
    words: list[tuple[str, int, int]]


def hypotheses_of(search: Search, endings: Sequence[Ending], alphabet: Alphabet, *, by_label: bool) -> list[Hypothesis]:
    """What endings of a search say, in their order."""
    if not endings:
        return []
    spelled = [_of_labels(search, one, alphabet) if by_label else _of_words(search, one) for one in endings]
    shares = shares_of(np.array([one.log_prob + one.of_model + one.of_hot for one in endings])).tolist()
    places: dict[str, list[tuple[int, int, int]]] = {}
    for i, one in enumerate(spelled):
        for word, first, after in one.words:
            places.setdefault(word, []).append((first, after, i))
    out = []
    for ending, one, share in zip(endings, spelled, shares, strict=True):
        key = search.key(ending.text)
        words = tuple(
            DecodedWord(*word, confidence=_share_at(places[word[0]], word[1], word[2], shares)) for word in one.words
        )
        state = None if key is None else State(key)
        out.append(Hypothesis(one.text, words, ending.log_prob, ending.of_model, ending.of_hot, share, state))
    return out


def _share_at(places: list[tuple[int, int, int]], first: int, after: int, shares: list[float]) -> float:
    """The share of the hypotheses that have a word where some frames are."""
    return min(1.0, sum(shares[i] for i in {i for a, b, i in places if a < after and first < b}))


def _of_words(search: Search, ending: Ending) -> _Spelled:
    text = search.spelled(ending.text)
    pairs = zip(text.split(), ending.frames, strict=False)
    return _Spelled(text, [(word, first, after) for word, (first, after) in pairs])


def _of_labels(search: Search, ending: Ending, alphabet: Alphabet) -> _Spelled:
    """Labels put together into words, and their frames."""
    labels = search.labels_of(ending.text)
    words: list[tuple[str, int, int]] = []
    is_open = False
    for label, (first, after) in zip(labels, ending.frames, strict=True):
        text = alphabet.texts[label]
        stripped = alphabet.stripped[label]
        if text == " " or (alphabet.is_pieces and text.startswith(WORD_BEGINS)):
            is_open = False
        if stripped and is_open:
            words[-1] = (words[-1][0] + stripped, words[-1][1], after)
        elif stripped:
            words.append((stripped, first, after))
            is_open = True
        is_open = is_open and not alphabet.ends_word[label]
    return _Spelled(alphabet.text_of(labels), words)
