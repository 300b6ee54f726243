"""Weights fitted on text that the counts have not seen, by default the training text with each position
left out of its own counts.

All patterns are mixed; a gate (`kernels.gate`) weighs them by how well each context is known and by the
nearest words. Discounts and, per bucket of contexts, the odds of falling back are fitted with it. The
mean of -ln P over a sample is minimised by Adam in small batches. All parameters are held to where they
start, a formula of the contexts' counts, as by a few observations, so that a small text changes it little.
Nothing depends on the number of threads or the order of lines. Equations (16) to (25) of docs/ideas/mathematics.md.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gapgram.arrays import Floats
from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.weights.by_counts import falling_back, pattern_of_row
from gapgram.estimation.weights.fallback_graph import Weights, mixture
from gapgram.estimation.weights.sample import FittingSample
from gapgram.kernels import fitting
from gapgram.kernels.gate import BUCKETS, WORD_BUCKETS
from gapgram.system.progress import progress_bar

LEARNING_RATE = 0.02
PRIOR_OBSERVATIONS = 3.0  # that the start is worth
START_SHIFT = -0.7  # of the log-odds of falling back
BY_G, BY_LOG = -1.65, 0.85  # of the logit of a pattern at the start, by g and by ln(1 - g)
EPOCHS = 3
REPORTED_POSITIONS = 100_000
MAX_DISCOUNTS = np.array([1.0, 2.0, 3.0])  # D1, D2, D3+ stay between 0 and these
_CHUNK_POSITIONS = 1 << 12


@dataclass
class Parameters:
    """All parameters in one flat array, and views of it.

    table: of the gate. shift: of the log-odds of falling back. odds: log-odds that stand for discounts.
    """

    flat: Floats
    table: Floats
    shift: Floats
    odds: Floats

    @classmethod
    def of(cls, flat: Floats, n_patterns: int) -> Parameters:
        """Those in a flat array."""
        table, shift, odds = np.split(flat, [-(BUCKETS + 3) * n_patterns, -3 * n_patterns])
        return cls(flat, table.reshape(-1, n_patterns), shift.reshape(n_patterns, -1), odds.reshape(n_patterns, -1))

    @property
    def discounts(self) -> Floats:
        """D1, D2, D3+ of each pattern: a share of their limits, held as log-odds. Equation (22)."""
        discounts: Floats = MAX_DISCOUNTS / (1 + np.exp(-self.odds))
        return discounts


def learned(
    counts: Counts, discounts: Discounts, sample: FittingSample, *, threads: int = 1, progress: bool = False
) -> tuple[Weights, Discounts]:
    """Fit the gate, the odds of falling back and the discounts."""
    problem = Problem(counts, discounts, sample, threads=threads)
    return problem.solution(problem.fit(threads=threads, progress=progress))


def prior_weights(counts: Counts, discounts: Discounts) -> Floats:
    """The weight, before the gate, of contexts like each row of context statistics; 1 where never seen.

    Equation (18) of docs/ideas/mathematics.md.
    """
    logits, patterns = prior_logits(counts), pattern_of_row(counts)
    g = falling_back(counts.tables.rows, discounts, patterns)
    known = logits[patterns] + BY_G * g + BY_LOG * np.log(np.maximum(1 - g, 0.02))
    weights: Floats = np.exp(np.where(counts.tables.rows[:, 0] > 0, known, 0.0))
    return weights


def prior_logits(counts: Counts) -> Floats:
    """What the logit of each pattern starts from, where its context was seen: the first line of equation (18)."""
    of_classes = np.array([p.classes for p in counts.lattice.stored])
    sizes = np.array([len(p) for p in counts.lattice.stored])
    reaches = np.array([p.reach for p in counts.lattice.stored])
    adjacent = np.array([p.nearest == 1 for p in counts.lattice.stored])
    logits: Floats = 1.55 + 2.1 * sizes - 0.45 * reaches + 1.6 * adjacent - 2.0 * of_classes
    return logits


def _log_odds(discounts: Discounts) -> Floats:
    share = np.clip(discounts.values / MAX_DISCOUNTS, 0.01, 0.999)
    odds: Floats = np.log(share / (1 - share))
    return odds


class Problem:
    """The mean of -ln P over a sample, and its gradient: equation (21) of docs/ideas/mathematics.md."""

    def __init__(self, counts: Counts, discounts: Discounts, sample: FittingSample, *, threads: int = 1) -> None:
        self.counts, self.discounts, self.sample = counts, discounts, sample
        self.row_weights, logits = prior_weights(counts, discounts), prior_logits(counts)
        self.log_prior = sample.each(
            "prior",
            (len(counts.lattice.stored),),
            lambda s: fitting.log_prior_of(s, discounts.values, logits, BY_G, BY_LOG),
            threads=threads,
        )
        order = counts.lattice.order
        self.n_gate_rows = len(counts.lattice.stored) * BUCKETS + order + (order - 1) * WORD_BUCKETS  # `kernels.gate`
        self.uniform = 1.0 / (len(counts.vocabulary) - 1)
        self.graph = mixture(counts.lattice)
        # Where each pattern falls back; 0 where it falls back on none.
        has_edges = np.diff(self.graph.edge_base) > 0
        self.down = np.where(has_edges, np.append(self.graph.edge_to, 0)[self.graph.edge_base[:-1]], 0)
        self.of_classes = np.array([p.classes for p in counts.lattice.stored])

    def add_gradient(self, values: Parameters, gradients: Parameters, begin: int, end: int) -> float:
        """Sum of -ln P over some positions; adds its gradient by the flat parameters."""
        chunk = slice(begin, end)
        discounts = values.discounts
        by_discounts = np.zeros_like(discounts)
        loss = fitting.gradient(
            self.sample.statistics[chunk], self.sample.features[chunk], self.sample.given[chunk], self.log_prior[chunk],
            self.uniform, self.down, self.of_classes,
            values.table, values.shift, discounts, gradients.table, gradients.shift, by_discounts,
        )  # fmt: skip
        gradients.odds += by_discounts * discounts * (1 - discounts / MAX_DISCOUNTS)
        return float(loss)

    def zeros(self) -> Parameters:
        """Parameters of the problem's size, all 0."""
        n_patterns = len(self.down)
        size = (self.n_gate_rows + BUCKETS + 3) * n_patterns
        return Parameters.of(np.zeros(size), n_patterns)

    def start(self) -> Parameters:
        """Where fitting starts: no gate, the odds of falling back somewhat lowered, the usual discounts."""
        values = self.zeros()
        values.shift[1:] = START_SHIFT  # the empty pattern falls back as it always did
        values.odds[:] = _log_odds(self.discounts)
        return values

    def fit(self, *, threads: int = 1, progress: bool = False) -> Parameters:
        """Minimise by Adam over the sample several times, in its order, with a rate that falls to nothing.

        The halves of a batch are always summed by themselves, so that one thread and two give the same.
        """
        values, start = self.start(), self.start().flat
        gradients = self.zeros(), self.zeros()
        halves = [half.flat for half in gradients]
        means, squares = self.zeros().flat, self.zeros().flat
        batches = _batches(len(self.sample))
        hold = PRIOR_OBSERVATIONS / max(1, len(self.sample))  # a sample may be empty: then nothing is fitted
        with (
            progress_bar("fitting weights", total=len(batches), unit="batch", progress=progress) as advance,
            ThreadPoolExecutor(min(threads, 2)) as pool,
        ):
            for step, (begin, end) in enumerate(batches, 1):
                half = (begin + end) // 2
                list(pool.map(partial(self.add_gradient, values), gradients, (begin, half), (half, end)))
                rate = LEARNING_RATE * (0.01 + 0.5 + 0.5 * np.cos(np.pi * step / len(batches)))
                fitting.adam_step(values.flat, start, hold, *halves, end - begin, means, squares, rate, step)
                advance(1)
        return values

    def solution(self, values: Parameters) -> tuple[Weights, Discounts]:
        """The weights and discounts that fitted parameters stand for, with a report on them."""
        usual, report = self.discounts, self.report(values)
        weights = Weights("learned", self.graph, self.row_weights, values.table.copy(), values.shift.copy(), report)
        return weights, Discounts(values.discounts, usual.fallbacks, fitted=True, estimated=usual.values)

    def report(self, values: Parameters) -> dict[str, Any]:
        """Perplexity before and after, and the mean weight of each pattern: over the sample, or over its beginning,
        which is as good a sample, where it is large."""
        n, n_patterns = min(len(self.sample), REPORTED_POSITIONS), len(self.down)
        start, unused = self.start(), self.zeros()
        before, after, sums, positions = [], [], np.zeros(n_patterns), np.zeros(n_patterns)
        for begin, end in _chunks(n):
            before.append(self.add_gradient(start, unused, begin, end))
            after.append(self.add_gradient(values, unused, begin, end))
            features = self.sample.features[begin:end]
            having_pattern = (features[:, :n_patterns] >= 0).sum(axis=0)
            sums += having_pattern * fitting.mean_weights(features, self.log_prior[begin:end], values.table)
            positions += having_pattern
        means = [round(float(mean), 6) for mean in sums / np.maximum(positions, 1)]
        return {
            "source": self.sample.source,
            "positions": len(self.sample),
            "parameters": int(values.flat.size),
            "perplexity_before": float(np.exp(sum(before) / max(1, n))),
            "perplexity_after": float(np.exp(sum(after) / max(1, n))),
            "mean_weights": dict(zip(map(str, self.counts.lattice.stored), means, strict=True)),
        }


def _chunks(n: int) -> list[tuple[int, int]]:
    """Bounds of chunks of a sample that is never read at once, because it may be larger than the memory."""
    return [(begin, min(begin + _CHUNK_POSITIONS, n)) for begin in range(0, n, _CHUNK_POSITIONS)]


def _batches(n: int) -> list[tuple[int, int]]:
    """Bounds of small batches, all of the sample several times over."""
    size = int(np.clip(n // 100, 32, 1000))
    return [(begin, min(begin + size, n)) for _ in range(EPOCHS) for begin in range(0, n, size)]
