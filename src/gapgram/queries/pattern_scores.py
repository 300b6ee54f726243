"""What each pattern of a model would say by itself: the probability of a word if only the words it keeps were known."""

from __future__ import annotations

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.kernels.lookup import Found, locate_all
from gapgram.kernels.model_arrays import BACKOFF, SCALE, WEIGHT, ModelArrays
from gapgram.kernels.tables import N_GRAMS, clustering_of


def pattern_scores(arrays: ModelArrays, ids: Ids) -> Floats:
    """[pattern, position]: log10 of the probability of each word of one sequence under each pattern by itself.

    A pattern takes off its discounts and falls back as it does inside the model, equations (8), (15) and (24) of
    docs/ideas/mathematics.md, so that each is a distribution that sums to one. Not a number where the sequence has no
    word at one of the pattern's places yet, and for patterns that are only stored for others' sake.
    """
    found = locate_all(ids, arrays.start_base.size - 1, arrays.tables)
    n_words, ones = arrays.tables.word_counts.size, np.ones(ids.size)
    of_clusterings = arrays.given_class.reshape(-1, n_words or 1)
    given = [ones, *(np.append(own, 0.0)[np.minimum(ids, n_words)] for own in of_clusterings)]
    values = np.empty((arrays.discounts.shape[0], ids.size))
    for p in range(values.shape[0]):
        own_given = given[clustering_of(arrays.tables.places, p)]
        values[p] = _kept(arrays, found, p) * own_given + _passed(arrays, found, values, p)
    values[found.rows < 0] = np.nan
    return np.log10(values)


def _kept(arrays: ModelArrays, found: Found, p: int) -> Floats:
    """The discounted relative frequency of each word under a pattern."""
    counts, rows = found.counts[p], np.maximum(found.rows[p], 0)
    left: Floats = (counts - arrays.discounts[p, np.minimum(counts, 3)]) * arrays.row_values[rows, SCALE]
    return left


def _passed(arrays: ModelArrays, found: Found, values: Floats, p: int) -> Floats:
    """What a pattern adds from those that it falls back on, or, where it keeps no word, from the even distribution."""
    backoff: Floats = arrays.row_values[np.maximum(found.rows[p], 0), BACKOFF]
    if p == 0:
        return backoff / (int(arrays.tables.places[0, N_GRAMS]) - 1)  # `<s>` is never predicted
    edges = slice(int(arrays.edge_base[p]), int(arrays.edge_base[p + 1]))
    below = arrays.edge_to[edges]
    if not below.size:
        return np.full(backoff.size, np.nan)
    weights = np.ones((below.size, backoff.size))
    if below.size > 1:
        rows = np.maximum(found.rows[below], 0)
        weights = arrays.edge_weight[edges][:, None] * arrays.row_values[rows, WEIGHT]
    mixed: Floats = (weights * values[below]).sum(axis=0) / weights.sum(axis=0)
    return backoff * mixed
