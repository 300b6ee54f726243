"""What training asks of a text that was read, wherever its ids are: in memory, in files or on a cluster."""

from __future__ import annotations

from typing import Protocol

from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.counts.streaming import Pieces, WordsAndClasses
from gapgram.errors import TextError
from gapgram.lattice import Lattice
from gapgram.text.corpus import TextFacts
from gapgram.text.vocabulary import Vocabulary


class TextSource(Protocol):
    """A text and the engine that counts it: `TextInMemory`, `TextInFiles` or `TextOnSpark`."""

    @property
    def facts(self) -> TextFacts:
        """Its sentences, words and digest."""
        ...

    @property
    def longest_sentence(self) -> int:
        """The words of its longest sentence."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """Its words."""
        ...

    @property
    def word_counts(self) -> Integers:
        """How often each word id is met."""
        ...

    def sample(self, *, seed: int, limit: int) -> Ids:
        """The sentences with the smallest hashes of their words, by hash, until there are `limit` positions."""
        ...

    def pieces(self, lattice: Lattice, classes: Classes | None = None) -> Pieces:
        """Count the patterns of words of a lattice; those of the words' classes, as if they were words, if given."""
        ...


def count_pieces(text: TextSource, lattice: Lattice, classes: Classes | None) -> Pieces:
    """Count all patterns of a lattice in a text: those of words, and those of classes where it has any."""
    words = text.pieces(lattice.of_words)
    if lattice.of_classes is None or classes is None:
        return words
    return WordsAndClasses(words, text.pieces(lattice.of_classes, classes))


def check_longest(longest_sentence: int, order: int) -> None:
    """Refuse an order that no sentence reaches, the longest having so many words."""
    if longest_sentence + 1 < order - 1:
        raise TextError(
            f"order {order} is larger than any sentence: the longest has {longest_sentence} words, which allow "
            f"order {longest_sentence + 2} at most"
        )
