"""The probability of every word of a block where every pattern falls back on one other.

Values are computed from the shortest pattern up, and mixed (`kernels.tables.model_arrays` has the law). Words that
follow each other are looked up meanwhile, pattern by pattern: while the grams of one pattern are on their way from
memory, those of the pattern before it are searched and the values under that one are worked out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import host_callable, inlined, kernel, noinline
from gapgram.kernels.intrinsics import part_of, part_of_row, prefetch
from gapgram.kernels.lanes import LANES, in_lanes
from gapgram.kernels.lookup.lookup import (
    begin_lookup,
    depends_on,
    known_words,
    locate_words,
    lookup_order,
    patterns_with_tail,
    search,
)
from gapgram.kernels.lookup.search import new_searches
from gapgram.kernels.probability.gate import BUCKETS, gate_of, list_words
from gapgram.kernels.probability.probabilities import given_class, shared_probabilities
from gapgram.kernels.tables.arrays import REACH, clustering_of


@kernel
def only_chains(edge_base):
    """Whether no pattern falls back on several others.

    Those that fall back on none, beside the empty one, are stored for the sake of others: no prediction comes to them.
    """
    chains = True
    for p in range(edge_base.size - 1):
        chains = chains and edge_base[p + 1] - edge_base[p] <= 1
    return chains


@host_callable
def fallback_of(edge_base, edge_to, p):
    """The pattern that pattern p falls back on, in a lattice of `only_chains`; the empty one where there is none."""
    return edge_to[edge_base[p]] if edge_base[p + 1] > edge_base[p] else 0


class Mixed(NamedTuple):
    """How the patterns of each position are mixed.

    weights     [pattern, position]: of each pattern, without the gate
    features    [1 + pattern + offset, position]: rows of the gate table, times the number of patterns: of the words
                available, of each pattern, of the words before
    """

    weights: np.ndarray
    features: np.ndarray


def _write_values(lanes, rows, counts, below, given, row_values, d0, d1, d2, d3, own):
    """own[i]: the probability of a word under a pattern; equations (8), (15) and (24) of docs/ideas/mathematics.md.

    below: that under the pattern it falls back on. d0 … d3: the pattern's discounts.
    Returns the weight of each context, and its bucket in the gate table.
    """
    row, count, fallen = lanes.read(rows), lanes.read(counts), lanes.read(below)
    scale, backoff, weight, bucket = lanes.gather_rows4(row_values, lanes.maximum(row, 0))
    discount = lanes.where(count > 2, d3, lanes.where(count > 1, d2, lanes.where(count > 0, d1, d0)))
    kept = (lanes.as_float(count) - discount) * scale
    lanes.write(own, lanes.where(row >= 0, fallen * backoff + kept * lanes.read(given), fallen))
    return weight, bucket


@in_lanes
def _values(lanes, rows, counts, below, given, row_values, d0, d1, d2, d3, own):
    """What `_write_values` writes, and no more."""
    _write_values(lanes, rows, counts, below, given, row_values, d0, d1, d2, d3, own)


@in_lanes
def _values_and_weights(
    lanes, rows, counts, below, given, row_values, d0, d1, d2, d3, own, weights, features, first, n_patterns
):
    """The same, and the weight and the feature of each context.

    A damaged file may say a bucket that is none: the first then.
    """
    weight, bucket = _write_values(lanes, rows, counts, below, given, row_values, d0, d1, d2, d3, own)
    lanes.write(weights, weight)
    is_bucket = (bucket >= 0.0) & (bucket < float(BUCKETS))
    lanes.write(features, (lanes.as_int(lanes.where(is_bucket, bucket, 0.0)) + first) * n_patterns)


@inlined
def _work_out(p, given, found, at, model, values, mixed):
    """The probability of each word under pattern p, its weight, and the row of the gate table that its context has."""
    n_patterns, m = values.shape
    rows, counts = part_of_row(found.rows, p, at, m), part_of_row(found.counts, p, at, m)
    own, row_values, discounts = part_of_row(values, p, 0, m), model.row_values, model.discounts
    d0, d1, d2, d3 = discounts[p, 0], discounts[p, 1], discounts[p, 2], discounts[p, 3]
    if p == 0:
        for i in range(m):
            own[i] = model.uniform
    below = part_of_row(values, fallback_of(model.edge_base, model.edge_to, p), 0, m)
    if mixed.weights.size > 0:
        weights, features = part_of_row(mixed.weights, p, 0, m), part_of_row(mixed.features, 1 + p, 0, m)
        _values_and_weights(
            m, rows, counts, below, given, row_values, d0, d1, d2, d3, own, weights, features, p * BUCKETS, n_patterns
        )
    else:
        _values(m, rows, counts, below, given, row_values, d0, d1, d2, d3, own)


@inlined
def _ask_for_rows(rows, row_values):
    """Ask for what `_work_out` will read."""
    flat = row_values.reshape(-1)
    for i in range(rows.size):
        prefetch(flat, 4 * max(rows[i], 0))


@in_lanes
def _add_pattern(lanes, p, n_patterns, gate, weights, values, total, sums):
    """Add the weight of a pattern to the total of each position, and what it says of the word to the sums."""
    weight = lanes.read(weights) * lanes.gather(gate, lanes.numbers * n_patterns + p)
    lanes.write(total, lanes.read(total) + weight)
    lanes.write(sums, lanes.read(sums) + weight * lanes.read(values))


@kernel
def _mix(values, available, model, mixed, out):
    """out[i]: the value of the pattern that a prediction starts from, or of several, mixed: equation (16)."""
    (n_patterns, m), n, start_base, starts = values.shape, available.size, model.start_base, model.starts
    if mixed.weights.size == 0:
        for i in range(n):
            out[i] = values[starts[available[i]], i]
        return
    # Patterns that it does not start from have no weight.
    is_start = np.empty(n_patterns, np.bool_)
    for known in range(start_base.size - 1):
        if start_base[known + 1] - start_base[known] < n_patterns:
            is_start[:] = False
            for s in range(start_base[known], start_base[known + 1]):
                is_start[starts[s]] = True
            for i in range(n):
                if available[i] == known:
                    for p in range(n_patterns):
                        if not is_start[p]:
                            mixed.weights[p, i] = 0.0
    gate, total, sums = gate_of(available, model, mixed.features).reshape(-1), np.zeros(m), np.zeros(m)
    for p in range(n_patterns):
        _add_pattern(
            m, p, n_patterns, gate, part_of_row(mixed.weights, p, 0, m), part_of_row(values, p, 0, m), total, sums
        )
    for i in range(n):
        out[i] = sums[i] / total[i] if total[i] > 0.0 else 0.0


@kernel
def _new_mixed(positions, model, m):
    """Room for m positions; none where every prediction starts from one pattern."""
    n_patterns, is_mixed = model.discounts.shape[0], model.starts.size > model.start_base.size - 1
    width = m if is_mixed else 0
    mixed = Mixed(np.empty((n_patterns, width)), np.empty((n_patterns + model.order, width), np.int64))
    if is_mixed and model.gate_table.size > 0:
        list_words(positions, model, mixed.features)
    return mixed


@inlined
def _give_classes(positions, p, model, given):
    """given[i]: the probability of each word given its class in the clustering that pattern p is of."""
    clustering = clustering_of(model.tables.places, p)
    for i in range(positions.available.size):
        given[i] = given_class(model, clustering, np.int64(positions.ids[positions.first + i * positions.step]))


@noinline
def chain_probabilities(positions, found, model, out):
    """out[i]: the probability of each word, which follow each other; they are looked up meanwhile.

    found: its columns before `positions.column` hold the entries of the words before these; those from there on are
    filled, as many as there are words, and up to LANES more.
    """
    available, at, tables, n_patterns = positions.available, positions.column, model.tables, model.discounts.shape[0]
    n, places, words = available.size, tables.places, part_of(positions.ids, positions.first, available.size)
    m = n + -n % LANES
    known, readers, order = known_words(available, m), patterns_with_tail(places), lookup_order(places)
    values, mixed = np.empty((n_patterns, m)), _new_mixed(positions, model, m)
    # What the patterns of a stream share: the keys of words or classes, the probabilities of words given these
    keys, given = np.zeros((order.n_streams, m), np.int64), np.ones((order.n_streams, m))
    searches, searches_before = new_searches(m), new_searches(m)
    # `before`: the pattern whose grams were asked for last, or -1. It is finished when those of the next one have been
    # asked for, or before that where the next one is looked up with what is found under it.
    n_begun, before = 0, np.int64(-1)
    while n_begun < n_patterns or before >= 0:
        p = np.int64(-1)
        if n_begun < n_patterns and (before < 0 or not depends_on(order.patterns[n_begun], before, tables)):
            p = order.patterns[n_begun]
            n_begun += 1
            stream = order.streams[p]
            own_keys = part_of_row(keys, stream, 0, m)
            if places[p, REACH] > 0:
                begin_lookup(p, order.roots[p], known, own_keys, found, at, tables, searches)
                _ask_for_rows(part_of_row(found.rows, p, at, n), model.row_values)
            else:
                locate_words(words, p, readers[p], own_keys, found, at, m, tables)
                _give_classes(positions, p, model, part_of_row(given, stream, 0, m))
        if before >= 0:
            stream = order.streams[before]
            if places[before, REACH] > 0:
                search(before, readers[before], part_of_row(keys, stream, 0, m), found, at, tables, searches_before)
            _work_out(before, part_of_row(given, stream, 0, m), found, at, model, values, mixed)
        before, searches, searches_before = p, searches_before, searches
    _mix(values, available, model, mixed, out)


@kernel
def probabilities_of(positions, found, model, out):
    """out[i]: the probability of the word at position i, all of which were looked up before.

    A kernel that is called for each word by itself, with all arrays of a model, would spend more on the call than on
    the work.
    """
    if not only_chains(model.edge_base):
        shared_probabilities(positions, found, model, out)
        return
    n, n_patterns, at = positions.available.size, model.discounts.shape[0], positions.column
    values, given, mixed = np.empty((n_patterns, n)), np.ones(n), _new_mixed(positions, model, n)
    for p in range(n_patterns):
        if model.tables.places[p, REACH] == 0:
            _give_classes(positions, p, model, given)
        _ask_for_rows(part_of_row(found.rows, min(p + 1, n_patterns - 1), at, n), model.row_values)  # of the next one
        _work_out(p, given, found, at, model, values, mixed)
    _mix(values, positions.available, model, mixed, out)
