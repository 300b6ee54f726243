"""Weights fitted on a card: the batches of `Problem.fit`, in the same order.

CuPy launches the kernels, which are C++ (`fitting.cu`): a batch is three launches of 10 µs of work, and numba-cuda
takes as long for each array that it hands to one.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any

import numpy as np

from gapgram.counts.counts import Counts
from gapgram.cuda.card import find_sorter, on_cpu
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.weights.fallback_graph import Weights
from gapgram.estimation.weights.learned import Parameters, Problem, batches_of
from gapgram.estimation.weights.sample import FittingSample
from gapgram.kernels.probability.gate import BUCKETS, WORD_BUCKETS
from gapgram.system.progress import progress_bar

MOST_PATTERNS = 32  # a warp has a thread for each
_WARPS = 4  # of a block


def learned_on_card(
    counts: Counts, discounts: Discounts, sample: FittingSample, *, threads: int = 1, progress: bool = False
) -> tuple[Weights, Discounts]:
    """Fit as `Problem` does, by a card unless there are too many patterns for it."""
    problem = Problem(counts, discounts, sample, threads=threads)
    if len(problem.down) > MOST_PATTERNS or sample.folder is not None or not len(sample):
        values = problem.fit(threads=threads, progress=progress)
    else:
        values = fit(problem, progress=progress)
    return problem.solution(values, threads=threads)


def fit(problem: Problem, *, progress: bool = False) -> Parameters:
    """What `Problem.fit` gives, but for the rounding of exponentials."""
    xp, _ = find_sorter()
    values, batches, n_patterns = problem.start(), batches_of(len(problem.sample)), len(problem.down)
    order, n_features = problem.counts.lattice.order, problem.sample.features[:1].shape[1]
    statistics, features, given, log_prior = (xp.asarray(array) for array in problem.positions(0, len(problem.sample)))
    slopes_of, add_columns, adam_step = _kernels(xp, n_patterns, n_features, problem.n_gate_rows, given.shape[1])
    down, clusterings = (xp.asarray(array.astype(np.int64)) for array in (problem.down, problem.clusterings))
    first = values.for_kernels
    flat, lifted_by, discounts = (xp.asarray(array) for array in (first.flat, first.lifted_by, first.discounts))
    start, size = flat.copy(), flat.size
    means, squares, halves = xp.zeros(size), xp.zeros(size), xp.zeros(2 * size)
    table = flat[: problem.n_gate_rows * n_patterns]
    most = max(end - begin for begin, end in batches)
    slopes = [xp.empty(most * n_patterns) for _ in range(4)]
    hold, rates = np.float64(problem.hold_to_start), problem.learning_rates(len(batches))
    shared_bytes = _shared_bytes(n_patterns)
    with progress_bar("fitting weights", total=len(batches), unit="batch", progress=progress) as advance:
        for step, (begin, end) in enumerate(batches, 1):
            n = end - begin
            slopes_of((-(-n // _WARPS),), (32 * _WARPS,), (
                statistics, features, given, log_prior, np.float64(problem.uniform), down, clusterings, table,
                lifted_by, discounts, np.int64(begin), np.int32(n), *slopes,
            ))  # fmt: skip
            add_columns((2 * n_features,), (64,), (
                statistics, features, discounts, np.int64(begin), np.int32(n), np.int32(order), *slopes, halves,
            ), shared_mem=shared_bytes)  # fmt: skip
            rate = rates[step - 1]
            adam_step((-(-size // 256),), (256,), (
                flat, start, hold, halves, np.int32(n), means, squares,
                np.float64(rate / (1.0 - 0.9**step)), np.float64(1.0 / (1.0 - 0.99**step)), lifted_by, discounts,
            ))  # fmt: skip
            advance(1)
    values.flat[:] = on_cpu(flat)
    return values


def _shared_bytes(n_patterns: int) -> int:
    """Of a block: sums of the rows of a column, and of the shifts of its pattern, over a half and over a piece."""
    return 8 * (WORD_BUCKETS * n_patterns + 2 * BUCKETS)


@cache
def _kernels(xp: ModuleType, n_patterns: int, n_features: int, n_rows: int, n_given: int) -> tuple[Any, Any, Any]:
    """The kernels for a problem of this shape."""
    numbers = (f"-DP={n_patterns}", f"-DF={n_features}", f"-DROWS={n_rows}", f"-DGIVEN={n_given}")
    code = files("gapgram.cuda").joinpath("fitting.cu").read_text()
    module: Any = xp.RawModule(code=code, options=("--fmad=false", *numbers))
    slopes_of, add_columns, adam_step = map(module.get_function, ("slopes_of", "add_columns", "adam_step"))
    add_columns.max_dynamic_shared_size_bytes = _shared_bytes(n_patterns)
    return slopes_of, add_columns, adam_step
