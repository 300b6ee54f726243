"""Weights fitted on text that the counts have not seen, by default the training text with each position
left out of its own counts.

All patterns are mixed; a gate (`kernels.gate`) weighs them by how well each context is known and by the
nearest words. Discounts and, per bucket of contexts, the odds of falling back are fitted with it. The
mean of -ln P over a sample is minimised by Adam in small batches. All parameters are held to where they
start, a formula of the contexts' counts, as by a few observations, so that a small text changes it little.
Nothing depends on the number of threads or the order of lines.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from gapgram.arrays import Floats
from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.weights.by_counts import BY_G, BY_LOG, log_odds_of_falling_back, mixture_base, mixture_logits
from gapgram.estimation.weights.fallback_graph import Weights, mixture
from gapgram.estimation.weights.sample import Sample
from gapgram.kernels import fitting
from gapgram.kernels.gate import BUCKETS, n_gate_rows
from gapgram.system.progress import Progress

RATE = 0.02
HOLD = 3.0  # observations that the start is worth
LIFT = -0.7  # of the log odds of falling back, at the start
EPOCHS = 3
_PART = 1 << 12
REPORTED = 100_000  # positions that the report looks at
LIMITS = np.array([1.0, 2.0, 3.0])  # D1, D2, D3+ stay between 0 and these


@dataclass
class Parameters:
    """All parameters in one flat array, with views of its parts."""

    flat: Floats
    table: Floats
    lift: Floats
    odds: Floats

    @classmethod
    def of(cls, flat: Floats, n_patterns: int) -> Parameters:
        """Those in a flat array."""
        table, lift, odds = np.split(flat, [-(BUCKETS + 3) * n_patterns, -3 * n_patterns])
        return cls(flat, table.reshape(-1, n_patterns), lift.reshape(n_patterns, -1), odds.reshape(n_patterns, -1))

    @property
    def discounts(self) -> Floats:
        """D1, D2, D3+ of each pattern: a share of their limits, held as log odds."""
        discounts: Floats = LIMITS / (1 + np.exp(-self.odds))
        return discounts


def learned(
    counts: Counts, discounts: Discounts, sample: Sample, *, source: str, threads: int = 1, progress: bool = False
) -> tuple[Weights, Discounts]:
    """Fit the gate, the odds of falling back and the discounts."""
    problem = Problem(counts, discounts, sample, threads=threads)
    return problem.solution(problem.fit(threads=threads, progress=progress), source)


def _log_odds(discounts: Discounts) -> Floats:
    share = np.clip(discounts.values / LIMITS, 0.01, 0.999)
    odds: Floats = np.log(share / (1 - share))
    return odds


class Problem:
    """The mean of -ln P over a sample, and its gradient."""

    def __init__(self, counts: Counts, discounts: Discounts, sample: Sample, *, threads: int = 1) -> None:
        self.counts, self.discounts, self.sample = counts, discounts, sample
        base = mixture_base(counts)
        self.log_prior = sample.each(
            "prior",
            (len(counts.patterns),),
            lambda s: fitting.log_prior_of(s, discounts.values, base, BY_G, BY_LOG),
            threads=threads,
        )
        self.uniform = 1.0 / (len(counts.vocabulary) - 1)
        below = {p: counts.lattice.below(p)[:1] for p in counts.lattice.patterns}
        self.down = np.array([counts.index(below[p][0]) if below.get(p) else 0 for p in counts.patterns])
        self.of_classes = np.array([p.classes for p in counts.patterns])

    def add_gradient(self, values: Parameters, gradients: Parameters, begin: int, end: int) -> float:
        """Sum of -ln P over some positions; adds its gradient by the flat parameters."""
        part = slice(begin, end)
        discounts = values.discounts
        by_discounts = np.zeros_like(discounts)
        loss = fitting.gradient(
            self.sample.statistics[part], self.sample.features[part], self.sample.given[part], self.log_prior[part],
            self.uniform, self.down, self.of_classes,
            values.table, values.lift, discounts, gradients.table, gradients.lift, by_discounts,
        )  # fmt: skip
        gradients.odds += by_discounts * discounts * (1 - discounts / LIMITS)
        return float(loss)

    def mean_loss(self, values: Parameters) -> float:
        """The mean of -ln P over the sample, or over its beginning, which is as good a sample, where it is large."""
        gradients, n = self.zeros(), min(len(self.sample), REPORTED)
        losses = [self.add_gradient(values, gradients, *bounds) for bounds in _parts(n)]
        return sum(losses) / max(1, n)

    def zeros(self) -> Parameters:
        """Parameters of the problem's size, all 0."""
        n_patterns = len(self.down)
        size = (n_gate_rows(n_patterns, self.counts.lattice.order) + BUCKETS + 3) * n_patterns
        return Parameters.of(np.zeros(size), n_patterns)

    def start(self) -> Parameters:
        """Where fitting starts: no gate, the odds of falling back somewhat lowered, the usual discounts."""
        values = self.zeros()
        values.lift[:] = log_odds_of_falling_back(self.counts, LIFT)
        values.odds[:] = _log_odds(self.discounts)
        return values

    def mean_weights(self, values: Parameters) -> list[float]:
        """The mean weight of each pattern."""
        n_patterns = len(self.down)
        sums, having = np.zeros(n_patterns), np.zeros(n_patterns)
        for begin, end in _parts(min(len(self.sample), REPORTED)):
            features = self.sample.features[begin:end]
            found = (features[:, :n_patterns] >= 0).sum(axis=0)
            sums += found * fitting.mean_weights(features, self.log_prior[begin:end], values.table)
            having += found
        return [round(float(mean), 6) for mean in sums / np.maximum(having, 1)]

    def fit(self, *, threads: int = 1, progress: bool = False) -> Parameters:
        """Minimise by Adam over the sample several times, in its order, with a rate that falls to nothing.

        The halves of a batch are always summed by themselves, so that one thread and two give the same.
        """
        values, start = self.start(), self.start().flat
        gradients = self.zeros(), self.zeros()
        halves = [half.flat for half in gradients]
        means, squares = self.zeros().flat, self.zeros().flat
        batches = _batches(len(self.sample))
        hold = HOLD / max(1, len(self.sample))  # a sample may be empty: then nothing is fitted
        with (
            Progress("fitting weights", total=len(batches), unit="batch", progress=progress) as bar,
            ThreadPoolExecutor(min(threads, 2)) as pool,
        ):
            for step, (begin, end) in enumerate(batches, 1):
                half = (begin + end) // 2
                list(pool.map(partial(self.add_gradient, values), gradients, (begin, half), (half, end)))
                rate = RATE * (0.01 + 0.5 + 0.5 * np.cos(np.pi * step / len(batches)))
                fitting.adam_step(values.flat, start, hold, *halves, end - begin, means, squares, rate, step)
                bar.advance()
        return values

    def solution(self, values: Parameters, source: str) -> tuple[Weights, Discounts]:
        """The weights and discounts that fitted parameters stand for, with a report on them."""
        report = {
            "source": source,
            "positions": len(self.sample),
            "parameters": int(values.flat.size),
            "perplexity_before": float(np.exp(self.mean_loss(self.start()))),
            "perplexity_after": float(np.exp(self.mean_loss(values))),
            "mean_weights": dict(zip(map(str, self.counts.patterns), self.mean_weights(values), strict=True)),
        }
        form, rows = mixture(self.counts.lattice), np.exp(mixture_logits(self.counts, self.discounts))
        weights = Weights("learned", form, rows, values.table.copy(), values.lift.copy(), report)
        usual = self.discounts
        return weights, Discounts(values.discounts, usual.fallbacks, fitted=True, estimated=usual.values)


def _parts(n: int) -> list[tuple[int, int]]:
    """Bounds of parts of a sample that is never read at once, because it may be larger than the memory."""
    return [(begin, min(begin + _PART, n)) for begin in range(0, n, _PART)]


def _batches(n: int) -> list[tuple[int, int]]:
    """Bounds of small batches, all of the sample several times over."""
    size = int(np.clip(n // 100, 32, 1000))
    return [(begin, min(begin + size, n)) for _ in range(EPOCHS) for begin in range(0, n, size)]
