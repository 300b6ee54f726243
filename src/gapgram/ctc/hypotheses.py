"""What a decoder found: texts, where their words are, and what their scores are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import NamedTuple

import numpy as np

from gapgram.ctc.alphabet import Alphabet
from gapgram.ctc.search import Ending, Search, shares_of
from gapgram.kernels.ctc.prefixes import BLANK, BREAKS
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


WordAt = tuple[str, int, int]  # a word, its first frame and the one after its last


class _Spelled(NamedTuple):
    text: str
    words: list[WordAt]


def hypotheses_of(
    search: Search, endings: Sequence[Ending], alphabet: Alphabet, *, by_label: bool, first: int | None = None
) -> list[Hypothesis]:
    """What endings of a search say, in their order; or the first of them, with their share of all."""
    if not endings:
        return []
    spelled = [_of_labels(search, one, alphabet) if by_label else _of_words(search, one) for one in endings]
    shares = shares_of(np.array([one.log_prob + one.of_model + one.of_hot for one in endings])).tolist()
    confidence = shares_at([one.words for one in spelled], shares, [one.words for one in spelled[:first]])
    out = []
    for ending, one, share in zip(endings[:first], spelled, shares, strict=False):
        key = search.key(ending.text)
        words = tuple(DecodedWord(*word, confidence=confidence[word]) for word in one.words)
        state = None if key is None else State(key)
        out.append(Hypothesis(one.text, words, ending.log_prob, ending.of_model, ending.of_hot, share, state))
    return out


def shares_at(
    spelled: Sequence[list[WordAt]], shares: list[float], wanted: Sequence[list[WordAt]]
) -> dict[WordAt, float]:
    """For each word that is wanted, at its frames, the share of the hypotheses that have it where some of these are."""
    having: dict[str, dict[tuple[int, int], list[int]]] = {}  # hypotheses with a word at frames
    for i, one in enumerate(spelled):
        for word, first, after in one:
            having.setdefault(word, {}).setdefault((first, after), []).append(i)
    out = {}
    for word, first, after in {word for one in wanted for word in one}:
        near = {i for (a, b), own in having[word].items() if a < after and first < b for i in own}
        out[word, first, after] = min(1.0, sum(shares[i] for i in near))
    return out


def _of_words(search: Search, ending: Ending) -> _Spelled:
    text = search.spelled(ending.text)
    pairs = zip(text.split(), ending.frames, strict=False)
    return _Spelled(text, [(word, first, after) for word, (first, after) in pairs])


def _of_labels(search: Search, ending: Ending, alphabet: Alphabet) -> _Spelled:
    """Labels put together into words, and their frames."""
    labels = search.labels_of(ending.text)
    runs = [(label, *frames) for label, frames in zip(labels, ending.frames, strict=True)]
    return _Spelled(alphabet.text_of(labels), _joined(runs, alphabet)[0])


def words_of_path(labels: list[int], alphabet: Alphabet, *, last: bool) -> list[WordAt]:
    """The words that the labels of frames spell, with their frames; last: the one that is not ended, too."""
    kinds, runs, at = alphabet.kinds.tolist(), list[tuple[int, int, int]](), 0
    for label, frames in groupby(takewhile(lambda label: label >= 0, labels)):
        begin, at = at, at + len(list(frames))
        if kinds[label] != BLANK:
            runs.append((label, begin, at))
    words, is_open = _joined(runs, alphabet)
    return words if last or not is_open else words[:-1]


def _joined(runs: list[tuple[int, int, int]], alphabet: Alphabet) -> tuple[list[WordAt], bool]:
    """The words that labels spell, each of them with its first frame and the one after; whether the last may go on."""
    kinds, stripped, closes = alphabet.kinds.tolist(), alphabet.stripped, alphabet.ends_word
    words: list[WordAt] = []
    is_open = closed = False
    for label, begin, after in runs:
        is_open = is_open and not closed and kinds[label] != BREAKS
        if stripped[label]:
            word, first, _ = words.pop() if is_open else ("", begin, 0)
            words.append((word + stripped[label], first, after))
            is_open = True
        closed = closes[label]
    return words, is_open
