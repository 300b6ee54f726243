"""How far a session may trust what it has read: fitted on documents in their order.

Each document is read by itself. At every position the model and each view of the history (`kernels.history`) have given
the word a probability; weights are a softmax of logits over features of the context, and these logits are fitted by
Adagrad (Duchi, Hazan and Singer, 2011), a few passes over all positions in a shuffled order. Words that the model does
not know are read but not fitted to. The counts of the model must not hold the documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.kernels.gate import FREQUENT_WORDS, WORD_BUCKETS
from gapgram.kernels.history import fit_history
from gapgram.kernels.special_words import START_ID, UNKNOWN_ID
from gapgram.queries.history import VIEWS, VIEWS_OF_WORDS, History, HistoryWeights, ReadSentences

RATES = (0.1, 0.05, 0.05)  # of the passes


def fit(
    documents: Iterable[tuple[ReadSentences, Floats]], class_of: Ids, *, classes: bool, any_words: bool = False
) -> HistoryWeights:
    """Weights from documents: their ids, and log10 of what the model gives each position.

    classes: the model has classes, `class_of`. any_words: frequent words have no weights of their own, so that the
    weights suit texts in other languages.
    """
    weights = HistoryWeights.zeros(VIEWS if classes else VIEWS_OF_WORDS)
    shares, rows = [], []
    for text, log10_probs in documents:
        history = History(weights, class_of, max_words=max(text.ids.size, 2))
        given, features = history.sources(text, log10_probs)
        kept = (text.ids != START_ID) & (text.ids != UNKNOWN_ID) & (text.ids < class_of.size)
        shares.append(given[kept])
        rows.append(features[kept])
    logits = np.array(weights.logits)
    first = logits.shape[0] - 2 * WORD_BUCKETS
    all_rows = np.concatenate(rows)
    if any_words:
        all_rows = _by_magnitude(all_rows, first)
    _fit(np.concatenate(shares), all_rows, logits)
    if any_words:
        every = np.arange(logits.shape[0])
        logits = logits[_by_magnitude(every[:, None], first)[:, 0]]
    return replace(weights, logits=logits, fitted_on="documents")


def _fit(shares: Floats, rows: Integers, logits: Floats) -> None:
    squares, order = np.full(logits.shape, 1e-8), np.random.default_rng(1)
    for rate in RATES:
        shuffled = order.permutation(rows.shape[0])
        fit_history(rows[shuffled], shares[shuffled], logits, squares, rate)


def _by_magnitude(rows: Integers, first: int) -> Integers:
    """Rows with those of single frequent words, from a first row on, replaced by those of their order of magnitude."""
    within = (rows - first) % WORD_BUCKETS
    bits = np.frexp(within.astype(float))[1]
    single = (rows >= first) & (within < FREQUENT_WORDS)
    return np.where(single, rows - within + FREQUENT_WORDS + bits, rows)
