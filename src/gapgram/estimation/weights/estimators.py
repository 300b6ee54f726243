"""Every way to weigh the patterns of a lattice, by name: the one place where a new one is added.

An estimator is a function of counts and discounts, or one that is fitted on a sample of text that the counts have not
seen; and a function that gives the weight of each row of context statistics, which is asked again when pruning has
changed the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from gapgram.arrays import Floats
from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.weights.by_counts import by_counts, known_contexts
from gapgram.estimation.weights.fallback_graph import NO_GATE, NO_SHIFT, Weights, recursive
from gapgram.estimation.weights.learned import learned, prior_weights
from gapgram.estimation.weights.sample import FittingSample

RowWeights = Callable[[Counts, Discounts], Floats]


class Fit(Protocol):
    """Weights and discounts fitted on a sample."""

    def __call__(
        self, counts: Counts, discounts: Discounts, sample: FittingSample, *, threads: int, progress: bool
    ) -> tuple[Weights, Discounts]: ...


@dataclass(frozen=True)
class ClosedForm:
    """An estimator that needs no text beside the counts."""

    weigh: Callable[[Counts, Discounts], Weights]
    row_weights: RowWeights


@dataclass(frozen=True)
class Fitted:
    """An estimator that is fitted on a sample; patterns of classes are for these alone."""

    fit: Fit
    row_weights: RowWeights


def ones(counts: Counts, discounts: Discounts) -> Floats:
    """The same weight for every context."""
    return np.ones(len(counts.tables.rows))


def uniform(counts: Counts) -> Weights:
    """1/|S| for each pattern below S. On a chain there is one, and the model is modified Kneser-Ney.

    Equation (12) of docs/ideas/mathematics.md.
    """
    return Weights("uniform", recursive(counts.lattice), np.ones(len(counts.tables.rows)), NO_GATE, NO_SHIFT, {})


ESTIMATORS: dict[str, ClosedForm | Fitted] = {
    "none": ClosedForm(lambda counts, _: replace(uniform(counts), name="none"), ones),
    "uniform": ClosedForm(lambda counts, _: uniform(counts), ones),
    "counts": ClosedForm(by_counts, known_contexts),
    "learned": Fitted(learned, prior_weights),
}

GLM_WEIGHTS = tuple(name for name in ESTIMATORS if name != "none")  # modified Kneser-Ney has no choice


def with_rows_of(counts: Counts, discounts: Discounts, weights: Weights) -> Weights:
    """The same weights for the contexts of pruned counts; what is missing of a context changes it little."""
    return replace(weights, row_weights=ESTIMATORS[weights.name].row_weights(counts, discounts.usual))
