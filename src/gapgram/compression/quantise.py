"""Counts replaced by a few: a model that takes less room and is nearly the same.

The counts of a pattern fall into at most 2**bits runs, and each becomes the mean of its run. The runs are those
for which the relative frequencies lose least: the sum of c ln(c / mean) over all grams is the smallest that there is.
The empty pattern keeps its counts. Contexts get the statistics of the new counts, so that distributions sum to one;
discounts and what was learned of weights stay.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from gapgram.arguments import checked_whole
from gapgram.arrays import Integers
from gapgram.counts.compact import NewCounts, compacted
from gapgram.counts.counts import Counts
from gapgram.counts.layouts import COMPACT
from gapgram.errors import UsageError
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights.estimators import with_rows_of
from gapgram.kernels.tables.arrays import COUNT_MASK, N_GRAMS
from gapgram.kernels.tables.read import unpack_grams
from gapgram.system.array_store import IN_MEMORY, ArrayStore

MOST_BITS = 8
_EXACT = 256  # larger counts are first put together with their neighbours
_STEPS = 32  # groups of those for each doubling


def quantised(parts: ModelParts, bits: int, store: ArrayStore = IN_MEMORY) -> ModelParts:
    """A model in the compact layout with at most 2**bits different counts in each pattern."""
    if not 1 <= checked_whole("bits", bits) <= MOST_BITS:
        raise UsageError(f"quantise to {bits} bits: expected 1 to {MOST_BITS}")
    if parts.counts.quantised:
        raise UsageError(f"the model is quantised already, to {parts.counts.quantised} bits: start from the exact one")
    counts = parts.counts
    replaced = {
        p: means_of_runs(*_counts_of_counts(counts, p, store.unpacked_entries), 1 << bits)
        for p, pattern in enumerate(counts.lattice.stored)
        if pattern.mask
    }
    new = replace(counts, tables=compacted(counts, replaced, store), quantised=bits)
    weights = with_rows_of(new, parts.discounts, parts.weights)
    spelling = parts.spelling.in_layout(COMPACT) if parts.spelling is not None else None
    made = ModelParts.of(parts.name, new, parts.discounts, weights, parts.history, spelling)
    return replace(made, unbounded=parts.unbounded)


def _counts_of_counts(counts: Counts, p: int, chunk: int) -> tuple[Integers, Integers]:
    """(the counts that grams of a pattern have, how many have each); looks at `chunk` grams at a time."""
    size, values, numbers = int(counts.tables.places[p, N_GRAMS]), np.empty(0, np.int64), np.empty(0, np.int64)
    for begin in range(0, size, chunk):
        grams = unpack_grams(counts.tables, p, begin, min(begin + chunk, size))
        more, n = np.unique(grams & COUNT_MASK, return_counts=True)
        values, places = np.unique(np.concatenate([values, more]), return_inverse=True)
        merged = np.zeros(values.size, np.int64)
        np.add.at(merged, places, np.concatenate([numbers, n]))
        numbers = merged
        if counts.pages is not None:
            counts.pages.release()
    return values, numbers


def means_of_runs(values: Integers, numbers: Integers, n_runs: int) -> NewCounts:
    """What counts become, numbers[i] grams having the count values[i], which rise; 0 stays 0."""
    met = (values > 0) & (numbers > 0)
    values, numbers = values[met], numbers[met]
    if not values.size:
        return NewCounts(np.zeros(1, np.int64), np.zeros(1, np.int64))
    group = np.where(values <= _EXACT, values, _EXACT + np.log2(np.maximum(values, _EXACT) / _EXACT) * _STEPS)
    first = np.flatnonzero(np.diff(group.astype(np.int64), prepend=-1))  # of each group
    n = np.add.reduceat(numbers, first)
    total = np.add.reduceat(numbers * values, first)
    runs = _runs(n, total, n_runs)
    means = [max(1, round(total[begin:end].sum() / n[begin:end].sum())) for begin, end in runs]
    lows = [int(values[first[begin]]) for begin, _ in runs]
    order = np.argsort(lows)
    return NewCounts(np.array([0, *np.array(lows)[order]]), np.array([0, *np.array(means)[order]]))


def _runs(n: Integers, total: Integers, n_runs: int) -> list[tuple[int, int]]:
    """Bounds of at most so many runs of groups, each group of n[i] counts that sum to total[i]; the best there are."""
    size = n.size
    before_n, before = np.append(0, np.cumsum(n)), np.append(0, np.cumsum(total))
    with np.errstate(divide="ignore", invalid="ignore"):
        mass, grams = before[None, :] - before[:, None], before_n[None, :] - before_n[:, None]
        cost = np.where(grams > 0, -mass * np.log(mass / grams), np.inf)  # of the run from row to column
    best, came_from = cost[0], []
    for _ in range(min(n_runs, size) - 1):
        through = best[:, None] + cost
        came_from.append(through.argmin(axis=0))
        best = through.min(axis=0)
    ends = [size]
    for step in reversed(came_from):
        ends.append(int(step[ends[-1]]))
    ends.append(0)
    return [(begin, end) for end, begin in pairwise(ends) if begin < end]
