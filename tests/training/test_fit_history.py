"""Weights of the history, fitted on documents."""

from __future__ import annotations

import numpy as np
import pytest

from gapgram.arrays import Floats
from gapgram.estimation.history_weights import VIEWS_OF_WORDS, HistoryWeights
from gapgram.kernels.probability.gate import WORD_BUCKETS
from gapgram.kernels.text.special_words import START_ID
from gapgram.queries.history import History, ReadSentences
from gapgram.training.fit_history import ReadPositions, fit, read_documents

N_WORDS = 50


def documents(seed: int, *, repeating: bool) -> list[tuple[ReadSentences, Floats]]:
    """Documents of ten sentences; repeating ones draw from five words of their own, others from all."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(30):
        words = draw.integers(3, N_WORDS, 5) if repeating else np.arange(3, N_WORDS)
        sentences = [np.concatenate([[1], draw.choice(words, 6), [2]]) for _ in range(10)]
        ids = np.concatenate(sentences).astype(np.int32)
        begins = np.append(np.flatnonzero(ids == START_ID), ids.size)
        # The model knows nothing but how long sentences are, about.
        log10_probs = np.full(ids.size, np.log10(0.86 / N_WORDS))
        log10_probs[ids == 2] = np.log10(0.14)
        made.append((ReadSentences(ids, begins), log10_probs))
    return made


def read(text: list[tuple[ReadSentences, Floats]]) -> ReadPositions:
    return read_documents(text, VIEWS_OF_WORDS, np.zeros(N_WORDS, np.int32))


def mean_log10(weights: HistoryWeights, text: list[tuple[ReadSentences, Floats]]) -> float:
    total = n = 0.0
    for sequences, log10_probs in text:
        history = History(weights, np.zeros(N_WORDS, np.int32))
        total += history.score(sequences, log10_probs, learn=True).sum()
        n += (sequences.ids != START_ID).sum()
    return float(total / n)


def of_model(text: list[tuple[ReadSentences, Floats]]) -> float:
    kept = [log10_probs[sequences.ids != START_ID] for sequences, log10_probs in text]
    return float(np.concatenate(kept).mean())


@pytest.mark.parametrize("any_words", [False, True])
def test_documents_that_repeat_themselves_are_learned_from(any_words: bool) -> None:
    weights = fit([read(documents(1, repeating=True))], VIEWS_OF_WORDS, any_words=any_words)
    unseen = documents(2, repeating=True)
    assert mean_log10(weights, unseen) > of_model(unseen) + 0.2
    first = weights.logits.shape[0] - 2 * WORD_BUCKETS
    same = np.array_equal(weights.logits[first + 8], weights.logits[first + 15])  # words of the same magnitude
    assert same is any_words


def test_a_history_that_says_nothing_is_ignored() -> None:
    weights = fit([read(documents(3, repeating=False))], VIEWS_OF_WORDS)
    unseen = documents(4, repeating=False)
    assert mean_log10(weights, unseen) > of_model(unseen) - 0.03
