"""Weights of scores that make the fewest errors: minimum error rate training (Och 2003), exact along each score."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Floats, Integers
from gapgram.system.progress import progress_bar

_ROUNDS = 12
_STARTS = 8
_SEED = 1


class Scored(NamedTuple):
    """The hypotheses of one input: scores [hypothesis, score], and the errors of each."""

    scores: Floats
    errors: Integers


def tuned(inputs: Sequence[Scored], start: Floats, *, progress: bool = False) -> Floats:
    """Weights of few errors, found from a start and from others near it; the first of several that are alike."""
    draw = np.random.default_rng(_SEED)
    starts = [start, *(start * draw.lognormal(0.0, 1.0, start.size) for _ in range(_STARTS - 1))]
    minima = []
    with progress_bar("tuning", total=len(starts), progress=progress) as advance:
        for weights in starts:
            minima.append(_descended(inputs, weights))
            advance(1)
    return min(minima, key=lambda pair: pair[0])[1]


def total_errors(inputs: Sequence[Scored], weights: Floats) -> int:
    """The errors of the hypotheses that the weights choose."""
    return sum(int(one.errors[int(np.argmax(one.scores @ weights))]) for one in inputs)


def _descended(inputs: Sequence[Scored], weights: Floats) -> tuple[int, Floats]:
    """Change one weight after the other, each to where the errors are fewest, until none helps."""
    least, weights = total_errors(inputs, weights), weights.copy()
    for _ in range(_ROUNDS):
        before = least
        for k in range(weights.size):
            errors, value = _along(inputs, weights, k)
            if errors < least:
                trial = weights.copy()
                trial[k] = value
                exact = total_errors(inputs, trial)
                if exact < least:
                    least, weights = exact, trial
        if least == before:
            break
    return least, weights


def _along(inputs: Sequence[Scored], weights: Floats, k: int) -> tuple[int, float]:
    """(errors, value): the value of weight k in the middle of the interval with the fewest errors."""
    changes: list[tuple[float, int]] = []
    errors = 0
    rest = weights.copy()
    rest[k] = 0.0
    for one in inputs:
        hull = _upper_hull(one.scores[:, k], one.scores @ rest)
        errors += int(one.errors[hull[0][1]])
        for (_, left), (cut, right) in pairwise(hull):
            changes.append((cut, int(one.errors[right]) - int(one.errors[left])))
    changes.sort()
    cuts = [cut for cut, _ in changes]
    best, value = errors, (cuts[0] - 1.0) if cuts else weights[k]
    for i, (cut, change) in enumerate(changes):
        errors += change
        following = cuts[i + 1] if i + 1 < len(cuts) else cut + 2.0
        if errors < best and following > cut:
            best, value = errors, (cut + following) / 2
    return best, float(value)


def _upper_hull(slopes: Floats, heights: Floats) -> list[tuple[float, int]]:
    """(where it begins, which line) of the lines that are highest somewhere, from the left to the right."""
    order = np.lexsort((heights, slopes)).tolist()
    hull: list[tuple[float, int]] = []
    for i in order:
        begin = -np.inf
        while hull:
            start, last = hull[-1]
            if slopes[i] == slopes[last]:  # the higher one comes later
                hull.pop()
                continue
            begin = float((heights[last] - heights[i]) / (slopes[i] - slopes[last]))
            if begin > start:
                break
            hull.pop()
            begin = -np.inf
        hull.append((begin if hull else -np.inf, i))
    return hull
