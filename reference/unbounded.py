"""Contexts without a limit: docs/ideas/mathematics.md, equations (47) to (50).

Of order 2 the ends of two words and more are looked for. After `x b c` the text has `b c`, once before d and once
before e:

    >>> text = ReferenceText([[1, 7, 8, 9, 4, 2], [1, 6, 8, 9, 5, 3, 2]], order=2)
    >>> reader = text.reader()
    >>> for word in (1, 3, 8, 9):
    ...     reader.read(word)
    >>> reader.end, reader.given(4), reader.given(5)
    ([8, 9], {1: 0.5}, {1: 0.5})

Where the longest end breaks off, its places go on behind the word that was another:

    >>> reader.read(0)
    >>> reader.end, reader.given(3), reader.given(2)
    ([], {2: 0.5}, {2: 0.5})
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reference.gate import word_bucket

START, END = 1, 2
MOST, POINTERS = 1000, 8

Place = tuple[int, int]  # a sentence of the text, and a word of it, both from 0


class Pointer(NamedTuple):
    """A place that is expected next, the words in common up to the last that was another, and since that."""

    place: Place
    before: int
    since: int


@dataclass(frozen=True)
class ReferenceText:
    """Sentences of ids, `<s>` and `</s>` included; ends have `order` words at least."""

    sentences: Sequence[Sequence[int]]
    order: int

    def places(self, words: Sequence[int], own: Place | None = None) -> list[Place]:
        """The words that follow some words in the text, but for `own`."""
        n = len(words)
        found = [
            (s, t) for s, sentence in enumerate(self.sentences) for t in range(n, len(sentence))
            if list(sentence[t - n : t]) == list(words)
        ]  # fmt: skip
        return [place for place in found if place != own]

    def word(self, place: Place) -> int:
        """The word at a place; `</s>` behind the end."""
        sentence = self.sentences[place[0]]
        return sentence[place[1]] if place[1] < len(sentence) else END

    def reader(self) -> ReferenceMatch:
        """Who reads a sentence beside the text."""
        return ReferenceMatch(self)


def magnitude(x: int) -> int:
    """The bucket of a number of words.

    >>> [magnitude(x) for x in (0, 1, 4, 5, 7, 10, 16, 26)]
    [1, 1, 4, 5, 6, 7, 8, 9]
    """
    return max(x, 1) if x < 5 else 5 + sum(x > bound for bound in (6, 9, 15, 25))


@dataclass
class ReferenceMatch:
    """What was read of a sentence: the longest end, and the pointers. `own`: the place of the next word in the text,
    where that is left out of it."""

    text: ReferenceText
    words: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    pointers: list[Pointer] = field(default_factory=list)

    def read(self, word: int, own: Place | None = None) -> None:
        """Go on to the next word."""
        if word == START:
            self.words, self.end, self.pointers = [START], [], []
            return
        text, places, goes_on = self.text, self.text.places(self.end, own) if self.end else [], False
        moved = [self._moved(pointer, word) for pointer in self.pointers]
        self.pointers = [pointer for pointer in moved if pointer is not None]
        if self.end:
            goes_on = any(text.word(place) == word for place in places)
            if not goes_on and len(places) <= POINTERS:
                self._point_at(places)
        self.words.append(word)
        most = len(self.end) + 1 if self.end else text.order
        if goes_on and most > MOST:
            most = MOST // 2
        lengths = range(min(most, len(self.words)), text.order - 1, -1)
        own_next = (own[0], own[1] + 1) if own is not None else None
        ends = (self.words[len(self.words) - n :] for n in lengths)
        self.end = next((end for end in ends if text.places(end, own_next)), [])

    def _moved(self, pointer: Pointer, word: int) -> Pointer | None:
        (sentence, t), before, since = pointer
        expected = self.text.word((sentence, t))
        if expected == word:
            return Pointer((sentence, t + 1), before, since + 1)
        return None if since == 0 or expected == END else Pointer((sentence, t + 1), before + since, 0)

    def _point_at(self, places: list[Place]) -> None:
        """Let the places of the longest end go on behind the word that is another; the oldest pointers go."""
        before = len(self.end)
        self.pointers = self.pointers[max(len(self.pointers) + len(places) - POINTERS, 0) :]
        for s, t in sorted(places, key=lambda place: (self.text.sentences[place[0]][place[1] :], place)):
            known = {pointer.place for pointer in self.pointers}
            if self.text.word((s, t)) != END and (s, t + 1) not in known:
                self.pointers.append(Pointer((s, t + 1), before, 0))

    @property
    def best(self) -> list[Pointer]:
        """The pointers with most words in common."""
        most = max((p.before + p.since for p in self.pointers), default=0)
        return [p for p in self.pointers if p.before + p.since == most]

    def given(self, word: int, own: Place | None = None) -> dict[int, float]:
        """What the longest end (1) and the pointers (2) give a word, where they take part: equations (47) and (48)."""
        given, places = {}, self.text.places(self.end, own) if self.end else []
        if places:
            given[1] = sum(self.text.word(place) == word for place in places) / len(places)
        if self.pointers:
            given[2] = sum(self.text.word(p.place) == word for p in self.best) / len(self.best)
        return given

    def features(self, own: Place | None = None) -> list[tuple[int, ...]]:
        """What the gate looks at: equation (49)."""
        places = self.text.places(self.end, own) if self.end else []
        longer = len(self.end) - self.text.order
        of_end: tuple[int, ...] = ()
        of_gap: tuple[int, ...] = ()
        crowd: tuple[int, ...] = ()
        if places:
            bucket = longer if longer < 6 else 6 + sum(longer > bound for bound in (7, 11, 19))
            followers = len({self.text.word(place) for place in places})
            of_end = bucket, min(int(math.log2(len(places)) * 1.5 + 1e-9), 9), min(followers, 4)
        if self.pointers:
            best = self.best
            since, common = max(p.since for p in best), best[0].before + best[0].since
            of_gap = min(since, 5), magnitude(common)
            length = 0 if not places else 1 + (longer > 1) + (longer > 4)
            crowd = length, min(len(best), 4), min(len({self.text.word(p.place) for p in best}), 3)
        last = self.words[-1] if self.words else 0
        return [(0, *of_end), (1, *of_gap), (2, *crowd), (3, word_bucket(last))]
