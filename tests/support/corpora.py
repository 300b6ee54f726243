"""Texts that tests are made from: random ones for the laws, one that is always the same for goldens."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from gapgram import Corpus, Lattice, Pattern, TextRules
from gapgram.text.corpus import blocks_of_sentences, read_corpus

WORDS = ("a", "b", "c", "d", "ü", "f")  # few, so that random texts repeat themselves


def sentences(max_words: int = 9, max_sentences: int = 14) -> st.SearchStrategy[list[list[str]]]:
    """Random sentences of a vocabulary so small that grams repeat; two words at least in all."""
    words = st.integers(1, len(WORDS)).flatmap(lambda n: st.sampled_from(WORDS[:n]))
    sentence = st.lists(words, min_size=1, max_size=max_words)
    return st.lists(sentence, min_size=1, max_size=max_sentences).filter(lambda s: sum(map(len, s)) > 1)


def longest(text: Sequence[Sequence[str]]) -> int:
    """The largest order that a text allows: its longest sentence with `<s>` and `</s>`."""
    return max(map(len, text)) + 2


def lattices(order: int) -> st.SearchStrategy[Lattice]:
    """The chain, the full lattice, or any family of an order."""
    patterns = st.integers(0, (1 << (order - 1)) - 1).map(Pattern)
    families = st.sets(patterns, max_size=6).map(lambda family: Lattice(order, family))
    return st.one_of(st.just(Lattice.chain(order)), st.just(Lattice.full(order)), families)


@st.composite
def texts_and_lattices(draw: st.DrawFn, max_order: int = 5) -> tuple[list[list[str]], Lattice]:
    """A random text and a lattice of an order that it allows."""
    text = draw(sentences())
    order = draw(st.integers(1, min(max_order, longest(text))))
    return text, draw(lattices(order))


def corpus_of(text: Sequence[str | Sequence[str]], **options: Any) -> Corpus:
    """The corpus of sentences held in memory."""
    return read_corpus(blocks_of_sentences(text), TextRules(**options))


def toy_text(n: int, *, seed: int = 7, vocabulary: int = 60) -> list[str]:
    """`n` sentences of words `w1`, `w2`, …, frequent ones first, in which a word hints at the next two.

    Only `Random.random` is used, whose sequence Python keeps the same for ever.
    """
    draw = random.Random(seed).random
    lines = []
    for _ in range(n):
        words = [0, 0]
        for _ in range(1 + int(14 * draw())):
            fresh = int(vocabulary ** draw())  # Zipf: as often below 10 as between 10 and 100
            hinted = (3 * words[-1] + words[-2] + int(3 * draw())) % vocabulary + 1
            words.append(hinted if draw() < 0.5 else fresh)
        lines.append(" ".join(f"w{w}" for w in words[2:]))
    return lines


def golden_text() -> list[str]:
    """2,000 sentences, 14,820 words, 800 of them different: large enough for discounts to be well defined."""
    return toy_text(2000, seed=11, vocabulary=800)


def golden_sentences() -> list[str]:
    """100 sentences to score: 90 new ones, some words of which the text does not hold, and 10 of the text."""
    return [*toy_text(90, seed=12, vocabulary=1000), *golden_text()[::200]]
