"""Where a prediction starts in the lattice, where and how often it falls back from each pattern, and its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Floats, Integers
from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts
from gapgram.kernels.tables.arrays import N_ROWS
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern

NAMES = ("none", "uniform", "counts", "learned")  # of the weights that a model may have: keys of `ESTIMATORS`


@dataclass(frozen=True)
class FallbackGraph:
    """Lists of pattern numbers; list i of `edge_to` is edge_to[edge_base[i]:edge_base[i+1]].

    `starts` has a list for each number of words available, 0 to n-1.
    """

    edge_base: Integers
    edge_to: Integers
    edge_weight: Floats
    start_base: Integers
    starts: Integers


@dataclass(frozen=True)
class Weights:
    """A graph and the numbers that go with it.

    row_weights: for each row of context statistics the weight of contexts like it: patterns that a
        prediction starts from get shares in the ratio of their weights, patterns below another in the
        ratio of edge_weight times their weights.
    gate_table: logits by which the weights of the starting patterns are corrected (`kernels.probability.gate`).
    log_odds_shift: [pattern, bucket] by how much the log-odds of falling back are changed.
    report: what `gapgram info` shows of how they were found.
    """

    name: str
    graph: FallbackGraph
    row_weights: Floats
    gate_table: Floats
    log_odds_shift: Floats
    report: dict[str, Any]


NO_GATE = np.zeros((0, 0))
NO_SHIFT = np.zeros((0, 0))


def recursive(lattice: Lattice) -> FallbackGraph:
    """From {1 … n-1} down the whole lattice: the paper's. Equations (8) and (11) of docs/ideas/mathematics.md."""
    return _graph(lattice, lattice.below, lattice.starts)


def mixture(lattice: Lattice) -> FallbackGraph:
    """All patterns at once, each falling back along its own chain, the farthest word first.

    Equation (16) of docs/ideas/mathematics.md.
    """
    return _graph(
        lattice,
        lambda pattern: lattice.below(pattern)[:1],
        lambda available: [p for p in lattice.patterns if p.reach <= available],
    )


def _graph(
    lattice: Lattice, below: Callable[[Pattern], Sequence[Pattern]], starts: Callable[[int], Sequence[Pattern]]
) -> FallbackGraph:
    """Lists of what is below each pattern of the family, and of where a prediction with so many words starts."""
    number, family = {pattern: i for i, pattern in enumerate(lattice.stored)}, set(lattice.patterns)
    edge_base, edge_to = _lists([number[q] for q in below(p)] if p in family else [] for p in lattice.stored)
    start_base, start = _lists([number[q] for q in starts(k)] for k in range(lattice.order))
    return FallbackGraph(edge_base, edge_to, np.ones(edge_to.size), start_base, start)


def _lists(lists: Iterable[list[int]]) -> tuple[Integers, Integers]:
    lists = list(lists)
    base = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return base, np.array([i for one in lists for i in one], np.int64)


def pattern_of_row(counts: Counts) -> Integers:
    """The number of the pattern that each row of context statistics belongs to."""
    return np.repeat(np.arange(len(counts.lattice.stored)), counts.tables.places[:, N_ROWS])


def falling_back(
    statistics: npt.NDArray[np.integer[Any]], discounts: Discounts, patterns: Integers
) -> Floats:
    """g of contexts with statistics [..., (total, N1, N2, N3+, missing)] under patterns; 1 where never seen.

    Equations (9) and (30) of docs/ideas/mathematics.md.

    What is missing counts as grams seen once: pruning is to change the weight of a context as little as it can.
    """
    total = statistics[..., 0]
    taken = (statistics[..., 1:4] * discounts.values[patterns]).sum(axis=-1)
    taken = taken + statistics[..., 4] * discounts.values[patterns, 0]
    g: Floats = np.where(total > 0, taken / np.maximum(total, 1), 1.0)
    return g
