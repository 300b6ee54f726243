"""Evidence: the sentences of the training text that a probability comes from, for models that keep the text.

A pattern's evidence are the places where its kept words stand at their distances before the word (those of a pattern of
classes: words of the same classes); that of the longest end and of what goes on behind a gap, the places that they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gapgram.arrays import Ids, Integers
from gapgram.estimation.unbounded import Unbounded, first_places
from gapgram.kernels.tables.arrays import Tables
from gapgram.kernels.unbounded import mixing
from gapgram.kernels.unbounded.matching import BEFORE, FIRST_WORD, HIGH, LENGTH, LOW, N_POINTERS, PLACE, SINCE
from gapgram.kernels.unbounded.suffixes import find_places, find_words
from gapgram.pattern import Pattern
from gapgram.queries.explain import Explanation, TextShare
from gapgram.text.vocabulary import Vocabulary

MOST_LOOKED_AT = 1 << 17  # places that may be evidence of a pattern with gaps or classes
LONGEST, BEHIND_A_GAP = "longest end", "behind a gap"


@dataclass(frozen=True)
class TrainingSentence:
    """A sentence of the training text: its number, from 1, its file and line where they are known, and its words; at:
    the number of the word that was predicted, from 1."""

    number: int
    file: str
    line: int | None
    text: str
    at: int

    def __str__(self) -> str:
        """As a command prints it."""
        place = f"{self.file}:{self.line}" if self.line is not None else f"sentence {self.number:,}"
        return f"{place}: {self.text}"


@dataclass(frozen=True)
class Evidence:
    """The first sentences that carried a pattern, or the text's own share; places: how many there are, or are known.

    is_whole: whether all places were looked at.
    """

    source: str
    context: str
    places: int
    is_whole: bool
    sentences: tuple[TrainingSentence, ...]

    def as_dict(self) -> dict[str, Any]:
        """All by name, for JSON."""
        return asdict(self)


def with_text(plain: Explanation, text: Unbounded, vocabulary: Vocabulary, ids: Ids, word: int) -> Explanation:
    """An explanation by patterns, and what the text says of the word beside them."""
    state, weights = text.state(ids), np.empty(mixing.SOURCES)
    mixing.weights_after(text.index, text.logits, state, weights)
    own = float(weights[0])
    patterns = tuple(replace(p, share=own * p.share, contribution=own * p.contribution) for p in plain.patterns)
    shares = []
    names = (LONGEST, BEHIND_A_GAP)
    for source, weight, (context, places) in zip(names, weights[1:], _sources(text, state), strict=True):
        if places.size:
            count = int((text.index.text[places] == word).sum())
            said = " ".join(vocabulary[int(i)] for i in context)
            shares.append(TextShare(
                source, said if source == LONGEST else f"… {said}".strip(), places.size, count, float(weight),
                float(weight) * count / places.size,
            ))  # fmt: skip
    probability = own * plain.probability + sum(share.contribution for share in shares)
    return replace(
        plain, context=tuple(vocabulary[int(i)] for i in ids), probability=probability, patterns=patterns,
        uniform_share=own * plain.uniform_share, uniform_contribution=own * plain.uniform_contribution,
        of_text=tuple(shares),
    )  # fmt: skip


def _sources(text: Unbounded, state: Integers) -> list[tuple[Ids, Integers]]:
    """Of the longest end, and of the best pointers: the words in common, and the places of the words that follow."""
    length, low, high = (int(state[i]) for i in (LENGTH, LOW, HIGH))
    index = text.index
    ends = np.asarray(index.suffixes[low:high], np.int64) if length else np.empty(0, np.int64)
    first = index.text[ends[0] : ends[0] + length] if ends.size else np.empty(0, np.int32)
    pointers = state[FIRST_WORD + index.order :].reshape(-1, 3)[: int(state[N_POINTERS])]
    known = pointers[:, BEFORE] + pointers[:, SINCE]
    best = pointers[known == known.max()] if known.size else pointers
    since = int(best[:, SINCE].max()) if best.size else 0
    after_gap = index.text[best[0, PLACE] - since : best[0, PLACE]] if best.size else np.empty(0, np.int32)
    return [(np.asarray(first), ends + length), (np.asarray(after_gap), best[:, PLACE])]


def evidence(
    text: Unbounded, tables: Tables, patterns: Sequence[tuple[Pattern, str]], ids: Ids, word: int, *,
    vocabulary: Vocabulary, most: int,
) -> Iterator[Evidence]:  # fmt: skip
    """The evidence of a word after some others: of the text's shares, then of patterns, with their contexts."""
    for source, (common, places) in zip((LONGEST, BEHIND_A_GAP), _sources(text, text.state(ids)), strict=True):
        kept = places[text.index.text[places] == word]
        if kept.size:
            said = " ".join(vocabulary[int(i)] for i in common)
            some = tuple(_sentence(text, at, vocabulary) for at in first_places(kept, most))
            yield Evidence(source, said, kept.size, True, some)
    whole = np.append(ids, np.int32(word))
    for pattern, context in patterns:
        n, places, is_whole = _places(text, tables, pattern, whole)
        if n:
            sentences = tuple(_sentence(text, at, vocabulary) for at in first_places(places, most))
            yield Evidence(str(pattern), context, n, is_whole, sentences)


def _places(text: Unbounded, tables: Tables, pattern: Pattern, ids: Ids) -> tuple[int, Integers, bool]:
    """At how many places the last of some words stands after the words, or their classes, that a pattern keeps, some of
    these places, and whether all were looked at."""
    offsets, index, begin = [0, *(k for k in range(1, pattern.reach + 1) if k in pattern)], text.index, 0
    if pattern.classes:
        own = tables.class_of[(pattern.classes - 1) * tables.word_counts.size :][: tables.word_counts.size]
        some, n = np.empty(0, np.int32), index.text.size
    else:
        low, high, begin = _rarest(index, ids, offsets)
        own, n = np.empty(0, np.int32), high - low
        some = np.asarray(index.suffixes[low : min(high, low + MOST_LOOKED_AT)])
        if len(_runs(offsets)) == 1:  # all of them
            return n, some.astype(np.int64) + begin, True
    found = np.empty(min(n, MOST_LOOKED_AT), np.int64)
    wanted = ids[ids.size - 1 - np.array(offsets)].astype(np.int64)
    n_found = find_places(index.text, some, begin, np.array(offsets), wanted, own, pattern.reach, found)
    return n_found, found[:n_found], n <= MOST_LOOKED_AT


def _runs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Distances that follow each other: the first and the last of each run.

    >>> _runs([0, 1, 3, 4, 6])
    [(0, 1), (3, 4), (6, 6)]
    """
    runs: list[tuple[int, int]] = []
    for k in offsets:
        if runs and runs[-1][1] == k - 1:
            runs[-1] = runs[-1][0], k
        else:
            runs.append((k, k))
    return runs


def _rarest(index: Any, ids: Ids, offsets: Sequence[int]) -> tuple[int, int, int]:
    """The places, in order, of the run of words that the text has least often, and how far from them the last is."""
    found = []
    for first, last in _runs(offsets):
        words = np.ascontiguousarray(ids[ids.size - 1 - last : ids.size - first], np.int32)
        low, high = map(int, find_words(index, words))
        found.append((high - low, low, high, last))
    _, low, high, last = min(found)
    return low, high, last


def _sentence(text: Unbounded, at: int, vocabulary: Vocabulary) -> TrainingSentence:
    place = text.place(at)
    words = " ".join(vocabulary[int(i)] for i in place.ids[1:-1])
    return TrainingSentence(place.sentence, place.file, place.line, words, place.at)
