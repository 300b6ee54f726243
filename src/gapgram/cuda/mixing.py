"""The patterns that a prediction starts from, mixed: by one thread, or by the threads of a warp together."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from gapgram.cuda.card import for_card
from gapgram.cuda.lookup import Shape, discount_of, giving, place_of, row_value
from gapgram.kernels.probability.gate import BUCKETS, LIMIT, add_logits, word_bucket, word_row
from gapgram.kernels.probability.probabilities import share
from gapgram.kernels.tables.arrays import N_GRAMS
from gapgram.kernels.tables.model_arrays import BUCKET, SCALE, WEIGHT, ModelArrays, Positions


@cuda.jit(device=True)
def bounded_exp(logit):
    """e to the power of a logit, within the limits that the CPU has."""
    return math.exp(min(max(logit, -LIMIT), LIMIT))


@cache
def listing_features(shape: Shape) -> Any:
    """A function for kernels: list the rows of the gate table that add up for one position
    (`kernels.probability.gate`).

    list_features(model, ids, t, known, rows, stride, at, features, first) returns how many it wrote, from
    features[first] on. The word k before is ids[t - k].
    """
    n_patterns, order = shape.n_patterns, shape.order
    bucket_of, row_of = for_card(word_bucket), for_card(word_row)

    @cuda.jit(device=True)
    def list_features(model, ids, t, known, rows, stride, at, features, first):
        features[first] = n_patterns * BUCKETS + known
        n = 1
        for s in range(model.start_base[known], model.start_base[known + 1]):
            p = model.starts[s]
            bucket = np.int64(row_value(model, max(np.int64(rows[p * stride + at]), 0), BUCKET))
            features[first + n] = p * BUCKETS + bucket
            n += 1
        for k in range(1, known + 1):
            features[first + n] = row_of(n_patterns, order, k, bucket_of(ids[t - k]))
            n += 1
        return n

    return list_features


@cache
def gating(shape: Shape) -> Any:
    """A function for kernels: fill weights[p] with what the gate multiplies the weight of each pattern by."""
    n_patterns, most_features, gated = shape.n_patterns, shape.n_patterns + shape.order + 1, shape.gated
    list_features, add = listing_features(shape), for_card(add_logits)

    @cuda.jit(device=True)
    def gate(model, ids, t, known, rows, weights):
        if not gated:
            for p in range(n_patterns):
                weights[p] = 1.0
            return
        features = cuda.local.array(most_features, np.int64)
        n = list_features(model, ids, t, known, rows, 1, 0, features, 0)
        for f in range(n):
            features[f] *= n_patterns
        for p in range(n_patterns):
            weights[p] = 0.0
        add(model.gate_table, features, n, weights)
        for p in range(n_patterns):
            weights[p] = bounded_exp(weights[p])

    return gate


@cache
def sharing(shape: Shape) -> Any:
    """A function for kernels: fill shares[p] with what each pattern decides; returns the rest."""
    share_out, n_patterns = for_card(share), shape.n_patterns

    @cuda.jit(device=True)
    def shares_of(model, known, rows, weights, shares):
        available = cuda.local.array(1, np.int16)
        available[0] = known
        row_values = model.row_values.reshape((model.row_values.size // 4, 4))
        arrays = ModelArrays(
            0, 0, 0.0, row_values, row_values, model.given_class, 0, 0, model.edge_base, model.edge_to,
            model.edge_weight, model.start_base, model.starts, model.gate_table,
        )  # fmt: skip
        columns, gate = rows.reshape((n_patterns, 1)), weights.reshape((1, n_patterns))
        return share_out(Positions(0, 0, 1, available, 0), 0, columns, gate, arrays, shares)

    return shares_of


@cache
def mixing_by_thread(shape: Shape) -> Any:
    """A function for kernels: the probability of one word, from what `locate` left in local arrays.

    mix(model, ids, t, word, known, rows, results)
    """
    n_patterns, chains, single = shape.n_patterns, shape.chains, shape.single
    gate, shares_of, given_of = gating(shape), sharing(shape), giving(shape)

    @cuda.jit(device=True)
    def mix(model, ids, t, word, known, rows, results):
        first, last = model.start_base[known], model.start_base[known + 1]
        if chains and (single or last - first == 1):
            return results[model.starts[first]]
        weights = cuda.local.array(n_patterns, np.float64)
        gate(model, ids, t, known, rows, weights)
        if chains:
            total, mixed = 0.0, 0.0
            for s in range(first, last):
                p = model.starts[s]
                weight = row_value(model, max(np.int64(rows[p]), 0), WEIGHT) * weights[p]
                total += weight
                mixed += weight * results[p]
            return mixed / total
        shares = cuda.local.array(n_patterns, np.float64)
        rest = shares_of(model, known, rows, weights, shares)
        total = rest / (place_of(model, 0, N_GRAMS) - 1)
        for p in range(n_patterns):
            count = np.int64(results[p])
            if count > 0 and shares[p] > 0.0:
                kept = shares[p] * (count - discount_of(model, p, count)) * row_value(model, rows[p], SCALE)
                total += kept * given_of(model, p, word)
        return total

    return mix
