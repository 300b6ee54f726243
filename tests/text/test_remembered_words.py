"""What a vocabulary remembers of the words it was asked for."""

from __future__ import annotations

from gapgram.text.vocabulary import Vocabulary


def test_long_words_are_found_and_not_remembered() -> None:
    long = "x" * 101
    vocabulary = Vocabulary.of(["the", long])
    assert (vocabulary.id("the"), vocabulary.id(long), vocabulary.id(long + "y"), vocabulary.id("none")) == (3, 4, 0, 0)
    assert set(vocabulary._asked) == {"the", "none"}
