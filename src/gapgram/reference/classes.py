"""Patterns of classes beside patterns of words, literally.

A pattern of classes counts the stream of classes as if classes were words. It predicts the class of a word, and the
word with its probability given the class; what it passes on goes to the pattern of classes without its farthest
place, and from the empty pattern of classes to the empty pattern of words.

    >>> words = ReferenceModel(ReferenceCounts([["a", "x"], ["b", "x"], ["a", "y"]], Lattice.chain(2)))
    >>> classes = ReferenceModel(ReferenceCounts([["L", "R"], ["L", "R"], ["L", "R"]], Lattice.chain(2)))
    >>> class_of, met = {"a": "L", "b": "L", "x": "R", "y": "R"}, {"a": 2, "b": 1, "x": 2, "y": 1, "</s>": 3}
    >>> both = ReferenceClasses(words, classes, class_of, met)
    >>> top = Pattern.of(1).of_classes
    >>> round(sum(both.probability_under(top, word, ["b"]) for word in words.counts.vocabulary), 12)
    1.0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.reference.counts import ReferenceCounts, keep
from gapgram.reference.model import ReferenceModel

__all__ = ["Lattice", "ReferenceClasses", "ReferenceCounts", "ReferenceModel"]


class ReferenceClasses:
    """Two models, one of words and one of classes; special words are their own classes."""

    def __init__(
        self, words: ReferenceModel, classes: ReferenceModel, class_of: Mapping[str, str], met: Mapping[str, int]
    ) -> None:
        self.words, self.classes, self.class_of, self.met = words, classes, class_of, met

    def class_name(self, word: str) -> str:
        """The class of a word."""
        return self.class_of.get(word, word)

    def given_class(self, word: str) -> float:
        """P(word | its class): how often the word is met, of all words of its class."""
        own = self.class_name(word)
        total = sum(n for other, n in self.met.items() if self.class_name(other) == own)
        return self.met.get(word, 0) / total if total else 0.0

    def probability_under(self, pattern: Pattern, word: str, before: Sequence[str]) -> float:
        """P_S(word | context) of a pattern of words or of classes, each falling back along its chain."""
        if not pattern.classes:
            return self.words.probability_under(pattern, word, before)
        below = self.words.probability_under(Pattern(0), word, before)
        if pattern.mask:
            below = self.probability_under(pattern.without(pattern.reach), word, before)
        seen = [self.class_name(w) for w in before]
        context = keep(pattern.of_words, seen)
        total = self.classes.counts.total(pattern.of_words, context)
        if not total:
            return below
        count = self.classes.counts.counts[pattern.of_words].get((context, self.class_name(word)), 0)
        g = self.classes.backoff(pattern.of_words, seen)
        return self.kept(pattern.of_words, count, total, seen) * self.given_class(word) + g * below

    def kept(self, pattern: Pattern, count: int, total: int, seen: Sequence[str]) -> float:
        """What a class keeps of the probability: its discounted frequency."""
        return max(count - self.classes.discount(pattern, count), 0) / total
