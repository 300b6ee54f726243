"""The spelling of words learned from some of them: equations (2) to (9) of docs/ideas/mathematics.md, of characters."""

from __future__ import annotations

from dataclasses import replace

from gapgram.counting.in_memory import count
from gapgram.errors import TextError
from gapgram.estimation.discounts import estimate_discounts
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.spelling import MOST_CHARACTERS, Spelling
from gapgram.estimation.weights.estimators import uniform
from gapgram.lattice import Lattice
from gapgram.text.corpus import blocks_of_sentences, read_corpus
from gapgram.text.vocabulary import Vocabulary
from gapgram.text.word_sample import WordSample

ORDER = 6


def learn_spelling(
    words: WordSample,
    vocabulary: Vocabulary,
    *,
    order: int = ORDER,
    most_characters: int = MOST_CHARACTERS,
) -> Spelling:
    """What spells words, learned from these.

    vocabulary: the words that need no spelling.
    """
    if len(words) < 2:
        raise TextError("open vocabulary: the text has one word, over and over: expected others to learn spelling from")
    corpus = read_corpus(blocks_of_sentences(words.lines()))
    counts = count(corpus, Lattice.chain(min(order, corpus.longest_sentence + 2)), threads=1)
    discounts = estimate_discounts(counts, warned=False)
    parts = ModelParts.of("mkn", counts, discounts, replace(uniform(counts), name="none"))
    spelling = Spelling(parts, most_characters=most_characters)
    return replace(spelling, log10_outside=spelling.log10_outside_of(vocabulary))
