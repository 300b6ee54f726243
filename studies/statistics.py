"""Figures of texts that need no model: words and sentences, and how many grams occur once."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapgram.arrays import Ids, Integers, Mask
from gapgram.kernels.text.special_words import SPECIAL, START_ID
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from studies.texts import TestText, TrainingText


def word_statistics(training: TrainingText, test: TestText) -> dict[str, Any]:
    """The paper's table of words, with sentences and with what the test text holds that training does not."""
    corpus = training.encoded
    facts, counts = corpus.facts, corpus.word_counts[len(SPECIAL) :]
    known = set(corpus.vocabulary)
    words = [word for line in test.lines for word in line.encode().split()]
    unknown = sum(word.decode() not in known for word in words)
    return {
        "sentences": facts.sentences,
        "words": facts.words,
        "unique_words": int(counts.size),
        "words_once": int((counts == 1).sum()),
        "mean_sentence_length": facts.words / facts.sentences,
        "test_sentences": len(test.lines),
        "test_words": len(words),
        "test_unknown_words": unknown,
    }


def once_by_pattern(ids: Ids, order: int) -> dict[str, dict[str, int]]:
    """For each pattern of an order the grams, how many are different, and how many occur once.

    Grams are counted as they occur (not by continuation), at every place that is predicted, `</s>` among
    them, whose context reaches no farther back than `<s>`.

    >>> once_by_pattern(np.array([1, 3, 4, 2, 1, 3, 4, 3, 2], np.int32), order=2)["11"]
    {'grams': 7, 'unique': 5, 'once': 3}
    """
    n_words = int(ids.max()) + 1
    starts = ids == START_ID
    return {str(p): _once(_gram_keys(ids, starts, p, n_words)) for p in Lattice.full(order).patterns}


def _gram_keys(ids: Ids, starts: Mask, pattern: Pattern, n_words: int) -> Integers:
    """A number for the gram at every place that has one; the same gram has the same number."""
    reach = pattern.reach
    inside = np.ones(ids.size - reach, bool)
    for offset in range(max(1, reach)):
        inside &= ~starts[reach - offset : ids.size - offset]
    ends = np.flatnonzero(inside) + reach
    keys = ids[ends].astype(np.int64)
    for offset in pattern.offsets:
        keys = np.unique(keys, return_inverse=True)[1] * n_words + ids[ends - offset]
    return keys


def _once(keys: Integers) -> dict[str, int]:
    counts = np.unique(keys, return_counts=True)[1]
    return {"grams": int(keys.size), "unique": int(counts.size), "once": int((counts == 1).sum())}
