"""Counts, discounts and weights to the numbers a model is queried with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts
from gapgram.kernels.gate import context_buckets
from gapgram.kernels.model_arrays import BACKOFF, BUCKET, SCALE, WEIGHT
from gapgram.kernels.tables import FIRST_ROW, N_ROWS, Tables

if TYPE_CHECKING:
    from gapgram.estimation.weights import Weights


def row_values(counts: Counts, discounts: Discounts, weights: Weights) -> Floats:
    """[row, 4]: scale, backoff, weight and bucket of a context with the statistics of the row.

    The discounted counts of a context sum to total - taken, taken = D1 N1 + D2 N2 + D3+ N3+ + missing. The usual
    backoff probability is g = taken / total; a log-odds shift c makes its odds e^c times as large. The scale gives
    the discounted counts what the backoff leaves; where discounts take everything, g is 1.

    Equations (9), (14), (15) and (29) of docs/ideas/mathematics.md.
    """
    tables = counts.tables
    values = np.empty((len(tables.rows), 4))
    values[:, WEIGHT] = weights.row_weights
    values[:, BUCKET] = buckets = context_buckets(tables.rows)
    for p, (first, n) in enumerate(tables.places[:, [FIRST_ROW, N_ROWS]]):
        last = first + n
        rows = tables.rows[first:last]
        total = np.maximum(rows[:, 0], 1)
        taken = np.minimum(rows[:, 1:4] @ discounts.values[p] + rows[:, 4], total)
        left = np.maximum(total - taken, 0.0)
        odds = np.exp(weights.log_odds_shift[p, buckets[first:last]]) if weights.log_odds_shift.size else 1.0
        values[first:last, SCALE] = 1 / (left + odds * taken)
        values[first:last, BACKOFF] = odds * taken / (left + odds * taken)
        values[first:last, BACKOFF][rows[:, 0] == 0] = 1.0
    return values


def discount_table(discounts: Discounts) -> Floats:
    """[pattern, 4]: what is taken from a count of 0, 1, 2, 3 or more."""
    return np.hstack([np.zeros((len(discounts.values), 1)), discounts.values])


def given_class(tables: Tables) -> Floats:
    """The probability of each word given its class in each clustering, by how often it is met; 0 for one never met."""
    if not tables.class_of.size:
        return np.empty(0)
    word_counts = np.tile(tables.word_counts, tables.class_of.size // tables.word_counts.size)
    totals = np.bincount(tables.class_of, word_counts)
    probabilities: Floats = word_counts / np.maximum(totals[tables.class_of], 1)
    return probabilities


def members_of(tables: Tables) -> tuple[Ids, Integers]:
    """The words of each class of all clusterings, the most frequent first, and where those of each class begin."""
    members = (np.argsort(tables.class_of, kind="stable") % max(tables.word_counts.size, 1)).astype(np.int32)
    base = np.cumsum([0, *np.bincount(tables.class_of)]) if tables.class_of.size else np.zeros(0, np.int64)
    return members, base
