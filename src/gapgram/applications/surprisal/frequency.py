"""How often each word occurs in the text that a model was trained on."""

from __future__ import annotations

import numpy as np

from gapgram.arrays import Integers
from gapgram.counts.counts import Counts
from gapgram.kernels.tables.arrays import COUNT_BITS, COUNT_MASK, ROW_BITS
from gapgram.kernels.text.special_words import START_ID
from gapgram.models.model import Model
from gapgram.pattern import Pattern
from gapgram.queries.language_model import LanguageModel


def word_frequencies(model: LanguageModel) -> Integers | None:
    """How often the training text has each word of the vocabulary, by id; None where the model does not tell.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> word_frequencies(model)[model.vocabulary.id("cat")]
    np.int64(18)
    """
    if not isinstance(model, Model):
        return None
    counts = model.counts
    if counts.tables.word_counts.size:
        return counts.tables.word_counts
    return None if counts.pruned or counts.quantised else _added_up(counts)


def _added_up(counts: Counts) -> Integers:
    """Every word ends one gram of the longest contiguous pattern, or a shorter one that begins with `<s>`.

    Only these have been counted as they occur; others as the number of different words before them.
    """
    n_words, order = len(counts.vocabulary), counts.lattice.order
    frequencies, first, last = np.zeros(n_words, np.int64), START_ID, START_ID + 1
    for length in range(order):
        pattern = Pattern.contiguous(length)
        if length:
            begins = counts.contexts(pattern) >> ROW_BITS
            first, last = int(begins[first]), int(begins[last])
        grams = counts.grams(pattern)
        taken = grams if length == order - 1 else grams[first:last] if length else grams[:0]
        frequencies += np.bincount(taken >> COUNT_BITS, taken & COUNT_MASK, n_words).astype(np.int64)
    return frequencies
