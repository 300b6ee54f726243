"""Whether the numbers of a model fit its tables: where predictions start and fall back, and what they give and pass on.

The graph and the discounts are small and checked whenever a file is opened. The numbers of each row of statistics, and
the probabilities of words given their classes, are checked then where the tables are small, else by `verify`.
"""

from __future__ import annotations

import numpy as np

from gapgram.arrays import Integers
from gapgram.counts.counts import Counts
from gapgram.estimation.parts import ModelParts, given_class, members_of
from gapgram.estimation.weights.fallback_graph import FallbackGraph
from gapgram.kernels.probability.gate import BUCKETS, WORD_BUCKETS
from gapgram.kernels.tables.arrays import FIRST_ROW, N_ROWS
from gapgram.kernels.tables.model_arrays import BACKOFF, BUCKET, SCALE, WEIGHT, ModelArrays

LEAST_WEIGHT = 1e-100
CLOSE = 1e-9  # to one, of what a context gives and passes on
_MOST_DISCOUNTS = np.array([0.0, 1.0, 2.0, 3.0])


def check_model(parts: ModelParts, *, whole: bool) -> None:
    """Refuse a model whose numbers do not fit its tables; `whole`: those of every row of statistics, too."""
    counts, graph = parts.counts, parts.weights.graph
    reach = np.array([pattern.reach for pattern in counts.lattice.stored])
    _check_edges(graph, reach)
    _check_starts(graph, reach, counts.lattice.order)
    _check_small(counts, parts.arrays)
    if whole:
        _check_numbers(counts, parts.arrays)


def _check_edges(graph: FallbackGraph, reach: Integers) -> None:
    """Refuse a graph in which a prediction could go round, or end nowhere."""
    n_edges = np.diff(graph.edge_base)
    sources = np.repeat(np.arange(len(reach)), n_edges)
    if n_edges[0] or (graph.edge_to >= sources).any() or (reach[graph.edge_to] > reach[sources]).any():
        raise ValueError("a pattern that does not fall back on smaller ones")
    goals = np.concatenate([graph.edge_to, graph.starts])
    if ((n_edges[goals] == 0) & (goals != 0)).any():
        raise ValueError("a pattern that falls back on none")
    totals = np.bincount(sources, graph.edge_weight, len(reach))
    if (totals[n_edges > 1] < LEAST_WEIGHT).any():
        raise ValueError("a pattern that leans to none that it falls back on")
    if _any_twice(sources * len(reach) + graph.edge_to):
        raise ValueError("a pattern that falls back on another twice")


def _check_starts(graph: FallbackGraph, reach: Integers, order: int) -> None:
    """Refuse a prediction that looks at words that are not known."""
    n_starts = np.diff(graph.start_base)
    known = np.repeat(np.arange(order), n_starts)
    if len(n_starts) != order or n_starts.min() < 1 or (reach[graph.starts] > known).any():
        raise ValueError("a prediction that starts from none, or from words that are not known")
    if _any_twice(known * len(reach) + graph.starts):
        raise ValueError("a prediction that starts from a pattern twice")


def _any_twice(numbers: Integers) -> bool:
    """Whether a number is there twice; `np.unique` would load masked arrays for the few that there are."""
    return len(set(numbers.tolist())) != numbers.size


def _check_small(counts: Counts, arrays: ModelArrays) -> None:
    """Refuse discounts of more than a count, and tables of weights of another size."""
    if (arrays.discounts > _MOST_DISCOUNTS).any():
        raise ValueError("a discount of more than the count")
    n, order = len(counts.lattice.stored), counts.lattice.order
    if arrays.gate_table.size and len(arrays.gate_table) != n * BUCKETS + order + (order - 1) * WORD_BUCKETS:
        raise ValueError(f"{len(arrays.gate_table):,} features of a gate")
    n_classes = len(counts.class_names)
    if arrays.member_base.size != (n_classes + 1 if n_classes else 0):
        raise ValueError(f"{arrays.member_base.size:,} bounds of {n_classes:,} classes")
    for array in (arrays.given_class, arrays.members):
        if array.size != counts.tables.class_of.size:
            raise ValueError(f"{array.size:,} words of classes, expected {counts.tables.class_of.size:,}")


def _check_numbers(counts: Counts, arrays: ModelArrays) -> None:
    """Refuse rows that do not give and pass on one in all, and other words of classes than the tables have."""
    values, tables = arrays.row_values, counts.tables
    if (values[:, BACKOFF] > 1).any() or (values[:, WEIGHT] < LEAST_WEIGHT).any():
        raise ValueError("a context that passes on more than all, or has no weight")
    buckets = values[:, BUCKET]
    if (buckets != np.floor(buckets)).any() or (buckets >= BUCKETS).any():
        raise ValueError("a context in no bucket of the gate")
    for p, (first, n) in enumerate(tables.places[:, [FIRST_ROW, N_ROWS]].tolist()):
        rows, own = tables.rows[first : first + n], values[first : first + n]
        left = rows[:, 0] - rows[:, 4] - rows[:, 1:4] @ arrays.discounts[p, 1:]
        given = np.maximum(left, 0.0) * own[:, SCALE] + own[:, BACKOFF]
        if (np.abs(given - 1) > CLOSE)[rows[:, 0] > 0].any() or (own[:, BACKOFF] != 1)[rows[:, 0] == 0].any():
            raise ValueError(f"a context of {counts.lattice.stored[p]} that does not give and pass on one in all")
    _check_members(counts, arrays)


def _check_members(counts: Counts, arrays: ModelArrays) -> None:
    members, base = members_of(counts.tables)
    base = np.pad(base, (0, arrays.member_base.size - base.size), mode="edge") if base.size else base
    same = np.array_equal(members, arrays.members) and np.array_equal(base, arrays.member_base)
    if not same or not np.array_equal(given_class(counts.tables), arrays.given_class):
        raise ValueError("words of classes that are not those of the tables")
