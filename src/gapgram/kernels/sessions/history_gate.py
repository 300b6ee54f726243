"""How far a reader trusts the model and each view of what it has read, and how it learns that.

The probability of a word is a mixture of the model's and those of the views (`kernels.sessions.history`), whose weights
are a softmax of logits that add up: `logits[row, source]`, source 0 being the model and source v + 1 view v. The rows
of a prediction are

    the sum of view v, in buckets              v * SUMS + bucket
    how many words followed it                 n_views * SUMS + v * FOLLOWERS + bucket
    words read so far, in buckets              n_views * (SUMS + FOLLOWERS) + bucket
    the last word; the word before             … + AGES + word bucket (`kernels.probability.gate`); … + WORD_BUCKETS +
                                               word bucket

Weights depend on the context alone, so that all sums are one. After each word that was predicted and is learned the
gate takes a step of Adagrad (Duchi, Hazan and Singer, 2011) by what each source gave it. `given` [source] is what a
source gives the word, and -1 where it takes no part: a view whose context was never read.

Equations (34) to (38) of docs/ideas/mathematics.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.gate import WORD_BUCKETS

SUMS, FOLLOWERS, AGES = 18, 8, 28  # buckets of the three kinds of features
RATE = 0.2  # of the steps while reading
FARTHEST = 20.0  # below the largest, that a logit counts: no source that takes part is ever lost


class HistoryGate(NamedTuple):
    """The logits of the module's head, and for each the sum of the squared slopes it was moved by."""

    logits: np.ndarray
    squares: np.ndarray


def n_history_rows(n_views: int) -> int:
    """How many rows a gate has."""
    return n_views * (SUMS + FOLLOWERS) + AGES + 2 * WORD_BUCKETS


@kernel
def bucket(x, most):
    """0 where x is not positive, else by its order of magnitude, in steps of 1.6."""
    if x <= 0.0:
        return 0
    return 1 + min(max(math.floor(math.log(x) * 2.1276595744680851) + 3, 0), most - 2)


@kernel
def weigh_sources(logits, rows, given, weights):
    """Fill the weight of each source: a softmax over those that take part; `logits` is flat."""
    n_sources = weights.size
    for s in range(n_sources):
        weights[s] = 0.0
    for f in range(rows.size):
        row = np.uint64(rows[f] * n_sources)
        for s in range(n_sources):
            weights[s] += logits[row + np.uint64(s)]
    largest = weights[0]
    for s in range(1, n_sources):
        if given[s] >= 0.0:
            largest = max(largest, weights[s])
    total = 0.0
    for s in range(n_sources):
        weights[s] = math.exp(max(weights[s] - largest, -FARTHEST)) if given[s] >= 0.0 else 0.0
        total += weights[s]
    for s in range(n_sources):
        weights[s] /= total


@kernel
def take_step(logits, squares, rows, given, weights, probability, rate, slopes):
    """Move the logits of a prediction towards the sources that gave the word more than the mixture did.

    logits, squares: flat.
    """
    n_sources = weights.size
    for s in range(n_sources):
        slopes[s] = weights[s] * (given[s] / probability - 1.0) if given[s] >= 0.0 else 0.0
    for f in range(rows.size):
        row = np.uint64(rows[f] * n_sources)
        for s in range(n_sources):
            # A slope of 0 leaves both as they are; squares are positive from the start.
            at = row + np.uint64(s)
            moved = squares[at] + slopes[s] * slopes[s]
            squares[at] = moved
            logits[at] += rate * slopes[s] / math.sqrt(moved)


@kernel
def fit_history(rows, shares, logits, squares, rate):
    """A step for each of many positions in their order, in place; returns the sum of -ln P before each step.

    rows: [position, feature]. shares: [position, source], what each gave. A rate of 0 leaves all as it is.
    """
    n_sources = logits.shape[1]
    weights, slopes = np.empty(n_sources), np.empty(n_sources)
    flat_logits, flat_squares = logits.reshape(-1), squares.reshape(-1)
    loss = 0.0
    for t in range(rows.shape[0]):
        weigh_sources(flat_logits, rows[t], shares[t], weights)
        probability = 0.0
        for s in range(n_sources):
            probability += weights[s] * max(shares[t, s], 0.0)
        loss -= math.log(probability)
        if rate > 0.0:
            take_step(flat_logits, flat_squares, rows[t], shares[t], weights, probability, rate, slopes)
    return loss
