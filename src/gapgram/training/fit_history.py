"""How far a session may trust what it has read: fitted on documents in their order.

Each document is read by itself. At every position the model and each view of the history (`kernels.sessions.history`)
have given the word a probability; weights are a softmax of logits over features of the context, and these logits are
fitted by Adagrad (Duchi, Hazan and Singer, 2011), a few passes over all positions in a shuffled order. Words that the
model does not know are read but not fitted to. The counts of the model must not hold the documents. Equation (38) of
docs/ideas/mathematics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.estimation.history_weights import LEAST_SQUARE, HistoryWeights, View
from gapgram.kernels.probability.gate import FREQUENT_WORDS, WORD_BUCKETS
from gapgram.kernels.sessions.history_gate import fit_history
from gapgram.kernels.text.special_words import START_ID
from gapgram.queries.history import History, ReadSentences

RATES = (0.1, 0.05, 0.05)  # of the passes
DECAY_POSITIONS = 60_000  # on which decays are compared
HALF_LIFE_FACTORS = (0.4, 2.5)
LEAST_GAIN = 0.0005  # of the mean of -ln P, for which decays are changed
SQUARES_KEPT = 1 / 16  # a session goes on learning in larger steps than the last ones of fitting


class ReadPositions(NamedTuple):
    """Positions of documents: what each source gave the word [position, source], and the features of its context."""

    shares: Floats
    rows: Integers


def read_documents(
    documents: Iterable[tuple[ReadSentences, Floats]], views: tuple[View, ...], class_of: Ids
) -> ReadPositions:
    """The positions of documents: their ids, and log10 of what the model gives each.

    class_of: of the model's words, as many as it knows.
    """
    start = HistoryWeights.zeros(views)
    shares, rows = [], []
    for text, log10_probs in documents:
        given, features = History(start, class_of).sources(text, log10_probs)
        kept = (text.ids != START_ID) & (text.ids < class_of.size)
        shares.append(given[kept])
        rows.append(features[kept])
    return ReadPositions(np.concatenate(shares), np.concatenate(rows))


def fit(
    parts: Sequence[ReadPositions],
    views: tuple[View, ...],
    *,
    start: HistoryWeights | None = None,
    any_words: bool = False,
    fitted_on: str = "documents",
) -> HistoryWeights:
    """Weights from positions of documents.

    start: weights to begin with. any_words: frequent words have no weights of their own, so that the weights suit
    texts in other languages.
    """
    begin = start or HistoryWeights.zeros(views)
    logits = np.array(begin.logits)
    squares = np.full(logits.shape, 1e-8) if start is None else np.array(begin.squares)
    rows, shares = (np.concatenate([each[i] for each in parts]) for i in (1, 0))
    first = logits.shape[0] - 2 * WORD_BUCKETS
    if any_words:
        rows = _by_magnitude(rows, first)
    _fit(shares, rows, logits, squares)
    if any_words:
        every = _by_magnitude(np.arange(logits.shape[0])[:, None], first)[:, 0]
        logits, squares = logits[every], squares[every]
    return HistoryWeights(views, logits, np.maximum(squares * SQUARES_KEPT, LEAST_SQUARE), fitted_on)


def fit_with_decays(
    documents: Sequence[tuple[ReadSentences, Floats]], start: HistoryWeights, class_of: Ids
) -> HistoryWeights:
    """Weights and decays from documents: half-lives of views by themselves, and of those after words, are tried longer
    and shorter on some of the documents, and what suits them best is fitted on all."""
    ends = np.cumsum([one.ids.size for one, _ in documents])
    views, some = start.views, documents[: int(np.searchsorted(ends, DECAY_POSITIONS)) + 1]  # the first of them
    least = _loss_of(some, views, start, class_of)
    for after_words in (False, True):
        for factor in HALF_LIFE_FACTORS:
            other = tuple(view.with_half_life(factor) if bool(view.offsets) == after_words else view for view in views)
            loss = _loss_of(some, other, start, class_of)
            if loss < least - LEAST_GAIN:
                views, least = other, loss
    return fit([read_documents(documents, views, class_of)], views, start=start)


def _loss_of(
    documents: Sequence[tuple[ReadSentences, Floats]], views: tuple[View, ...], start: HistoryWeights, class_of: Ids
) -> float:
    read = read_documents(documents, views, class_of)
    return mean_loss(fit([read], views, start=start), read)


def mean_loss(weights: HistoryWeights, read: ReadPositions) -> float:
    """The mean of -ln P over positions."""
    logits = np.array(weights.logits)
    loss = fit_history(read.rows, read.shares, logits, np.ones_like(logits), 0.0)
    return float(loss) / max(len(read.rows), 1)


def _fit(shares: Floats, rows: Integers, logits: Floats, squares: Floats) -> None:
    order = np.random.default_rng(1)
    for rate in RATES:
        shuffled = order.permutation(rows.shape[0])
        fit_history(rows[shuffled], shares[shuffled], logits, squares, rate)


def _by_magnitude(rows: Integers, first: int) -> Integers:
    """Rows with those of single frequent words, from a first row on, replaced by those of their order of magnitude."""
    within = (rows - first) % WORD_BUCKETS
    bits = np.frexp(within.astype(float))[1]
    single = (rows >= first) & (within < FREQUENT_WORDS)
    return np.where(single, rows - within + FREQUENT_WORDS + bits, rows)
