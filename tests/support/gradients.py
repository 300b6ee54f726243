"""A gradient beside finite differences."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gapgram.estimation.weights.learned import Parameters, Problem

STEP = 1e-5


def assert_is_the_slope(
    problem: Problem, values: Parameters, gradients: Parameters, n: int, parameters: Iterable[int]
) -> None:
    """Of some parameters, the gradient over the first n positions is how the loss changes with them."""
    for i in parameters:
        kept = values.flat[i]
        values.flat[i] = kept + STEP
        above = problem.add_gradient(values, problem.zeros(), 0, n)
        values.flat[i] = kept - STEP
        below = problem.add_gradient(values, problem.zeros(), 0, n)
        values.flat[i] = kept
        assert (above - below) / (2 * STEP) == pytest.approx(gradients.flat[i], rel=1e-4, abs=1e-5)
