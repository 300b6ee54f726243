"""Weights fitted on text that the counts have not seen, by default the training text with each position
left out of its own counts.

All patterns are mixed; a gate (`kernels.probability.gate`) weighs them by how well each context is known and by the
nearest words. Discounts and, per bucket of contexts, the odds of falling back are fitted with it. The
mean of -ln P over a sample is minimised by Adam in small batches. All parameters are held to where they
start, a formula of the contexts' counts, as by a few observations, so that a small text changes it little.
Nothing depends on the number of threads or the order of lines. Equations (16) to (25) of docs/ideas/mathematics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapgram.arrays import Floats
from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.weights.fallback_graph import Weights, falling_back, mixture, pattern_of_row
from gapgram.estimation.weights.sample import FittingSample
from gapgram.kernels.fitting import descent
from gapgram.kernels.fitting import gradient as kernels
from gapgram.kernels.fitting import sample as fitting
from gapgram.kernels.fitting.descent import Adam, Schedule
from gapgram.kernels.fitting.gradient import MAX_DISCOUNTS
from gapgram.kernels.fitting.slopes import FittedNumbers, FixedNumbers, SamplePositions, Slopes, room_size
from gapgram.kernels.probability.gate import BUCKETS, WORD_BUCKETS
from gapgram.system.parallel import cores_left, parallel_map, run_together
from gapgram.system.progress import progress_bar

START_SHIFT = -0.7  # of the log-odds of falling back
BY_G, BY_LOG = -1.65, 0.85  # of the logit of a pattern at the start, by g and by ln(1 - g)
EPOCHS, EPOCHS_OF_MANY = 3, 2  # passes over a sample, and, with several clusterings, over one of many positions
MANY_POSITIONS = 1_200_000
REPORTED_POSITIONS = 100_000
_CHUNK_POSITIONS = 1 << 12


class Caution(NamedTuple):
    """How far fitting may go: the learning rate to begin with, and how many observations the start is worth."""

    rate: float
    prior_observations: float


USUAL = Caution(0.02, 3.0)
OF_SEVERAL = Caution(0.01, 12.0)  # with several clusterings there are several times as many parameters


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

    @property
    def for_kernels(self) -> FittedNumbers:
        """The same arrays, with what follows from them."""
        fitted = FittedNumbers(
            self.flat, self.table, self.shift, self.odds, np.empty(self.shift.shape), np.empty(self.odds.shape)
        )
        descent.follow(fitted, 0, self.flat.size)
        return fitted


def learned(
    counts: Counts, discounts: Discounts, sample: FittingSample, *, threads: int = 1, progress: bool = False
) -> tuple[Weights, Discounts]:
    """Fit the gate, the odds of falling back and the discounts."""
    problem = Problem(counts, discounts, sample, threads=threads)
    return problem.solution(problem.fit(threads=threads, progress=progress), threads=threads)


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
    of_classes = np.array([p.classes > 0 for p in counts.lattice.stored])
    sizes = np.array([p.mask.bit_count() for p in counts.lattice.stored])
    reaches = np.array([p.reach for p in counts.lattice.stored])
    adjacent = np.array([p.nearest == 1 for p in counts.lattice.stored])
    logits: Floats = 1.55 + 2.1 * sizes - 0.45 * reaches + 1.6 * adjacent - 2.0 * of_classes
    return logits


def log_odds(discounts: Discounts) -> Floats:
    share = np.clip(discounts.values / MAX_DISCOUNTS, 0.01, 0.999)
    odds: Floats = np.log(share / (1 - share))
    return odds


class Problem:
    """The mean of -ln P over a sample, and its gradient: equation (21) of docs/ideas/mathematics.md."""

    batches_at_once = 128  # that threads work through before Python hears of it

    def __init__(self, counts: Counts, discounts: Discounts, sample: FittingSample, *, threads: int = 1) -> None:
        self.counts, self.discounts, self.sample = counts, discounts, sample
        logits, self.graph = prior_logits(counts), mixture(counts.lattice)
        self.log_prior = sample.each(
            "prior",
            (len(counts.lattice.stored),),
            lambda s: fitting.log_prior_of(s, discounts.values, logits, BY_G, BY_LOG),
            threads=threads,
        )
        order = counts.lattice.order
        # `kernels.probability.gate`
        self.n_gate_rows = len(counts.lattice.stored) * BUCKETS + order + (order - 1) * WORD_BUCKETS
        self.uniform = 1.0 / (len(counts.vocabulary) - 1)
        # Where each pattern falls back; 0 where it falls back on none.
        has_edges = np.diff(self.graph.edge_base) > 0
        self.down = np.where(has_edges, np.append(self.graph.edge_to, 0)[self.graph.edge_base[:-1]], 0)
        self.clusterings = np.array([p.classes for p in counts.lattice.stored])

    def add_gradient(self, values: Parameters, gradients: Parameters, begin: int, end: int) -> float:
        """Sum of -ln P over some positions; adds its gradient by the flat parameters."""
        positions, fixed, slopes = self.positions(begin, end), self.fixed, self.room(end - begin, 1)
        return float(kernels.add_gradient(positions, fixed, values.for_kernels, slopes, gradients.for_kernels))

    def positions(self, begin: int, end: int) -> SamplePositions:
        """Some of the sample, as kernels take it."""
        sample, chunk = self.sample, slice(begin, end)
        return SamplePositions(
            sample.statistics[chunk], sample.features[chunk], sample.given[chunk], self.log_prior[chunk]
        )

    @property
    def fixed(self) -> FixedNumbers:
        return FixedNumbers(self.uniform, self.down, self.clusterings)

    def room(self, n: int, n_pieces: int, threads: int = 1) -> Slopes:
        """Room for the slopes of n positions in pieces, which so many threads work out."""
        n_patterns, n_columns = len(self.down), self.sample.features[:1].shape[1]
        by_bucket, by_discount = (np.empty((n_pieces, n_patterns, each)) for each in (BUCKETS, 3))
        sums, by_logit = (np.empty((n, n_patterns)) for _ in range(2))
        rooms = np.empty((threads, room_size(n_patterns, self.sample.given[:1].shape[1])))
        return Slopes(sums, by_logit, np.empty((n_columns, n), np.int32), by_bucket, by_discount, np.empty(n), rooms)

    def zeros(self) -> Parameters:
        """Parameters of the problem's size, all 0."""
        n_patterns = len(self.down)
        size = (self.n_gate_rows + BUCKETS + 3) * n_patterns
        return Parameters.of(np.zeros(size), n_patterns)

    def start(self) -> Parameters:
        """Where fitting starts: no gate, the odds of falling back somewhat lowered, the usual discounts."""
        values = self.zeros()
        values.shift[1:] = START_SHIFT  # the empty pattern falls back as it always did
        values.odds[:] = log_odds(self.discounts)
        return values

    @property
    def caution(self) -> Caution:
        """How carefully is fitted."""
        return USUAL if len(self.counts.lattice.of_classes) < 2 else OF_SEVERAL

    @property
    def hold_to_start(self) -> float:
        """How strongly each position holds parameters to the start; there may be none, and nothing is fitted then."""
        return self.caution.prior_observations / max(1, len(self.sample))

    def learning_rates(self, n_steps: int) -> Floats:
        """The learning rate of each step."""
        return np.array([self.caution.rate * _share_of_rate(step, n_steps) for step in range(1, n_steps + 1)])

    def fit(self, *, threads: int = 1, progress: bool = False) -> Parameters:
        """Minimise by Adam over the sample several times, in its order, with a rate that falls to nothing.

        Threads divide each batch, and add up as one would (`kernels.fitting.descent`).
        """
        is_many = self.caution is OF_SEVERAL and len(self.sample) >= MANY_POSITIONS
        batches = batches_of(len(self.sample), EPOCHS_OF_MANY if is_many else EPOCHS)
        rates, most = self.learning_rates(len(batches)), max((end - begin for begin, end in batches), default=0)
        values, adam = self.start(), self._new_adam()
        slopes = self.room(most, 2 * descent.pieces_of_half(most), threads)
        at_once = self.batches_at_once if self.sample.folder is None else 4  # a sample in files is read by few
        with progress_bar("fitting weights", total=len(batches), unit="batch", progress=progress) as advance:
            for first, last in _spans(batches, at_once):
                some = batches[first:last], rates[first:last]
                self.take_steps(values, adam, *some, first + 1, slopes, cores_left(threads))
                advance(last - first)
        return values

    def take_steps(
        self,
        values: Parameters,
        adam: Adam,
        batches: list[tuple[int, int]],
        rates: Floats,
        first_step: int,
        slopes: Slopes,
        threads: int,
    ) -> None:
        """Work through batches that follow each other, each with its learning rate; the values change."""
        begin, end = batches[0][0], batches[-1][1]
        bounds = np.array([begin, *(last for _, last in batches)]) - begin
        schedule, positions, fixed = Schedule(bounds, rates, first_step), self.positions(begin, end), self.fixed
        run_together(descent.fit_batches, threads, schedule, positions, fixed, values.for_kernels, adam, slopes)

    def _new_adam(self) -> Adam:
        return Adam(self.start().flat, self.hold_to_start, self.zeros().flat, self.zeros().flat)

    def solution(self, values: Parameters, *, threads: int = 1) -> tuple[Weights, Discounts]:
        """The weights and discounts that fitted parameters stand for, with a report on them."""
        usual = self.discounts
        discounts = Discounts(values.discounts, usual.fallbacks, fitted=True, estimated=usual.values)
        report = self.report(values, threads=threads)
        row_weights = prior_weights(self.counts, usual)
        weights = Weights("learned", self.graph, row_weights, values.table.copy(), values.shift.copy(), report)
        return weights, discounts

    def report(self, values: Parameters, *, threads: int = 1) -> dict[str, Any]:
        """Perplexity before and after, and the mean weight of each pattern: over the sample, or over its beginning,
        which is as good a sample, where it is large."""
        n, n_patterns = min(len(self.sample), REPORTED_POSITIONS), len(self.down)
        fixed, start, fitted = self.fixed, self.start().for_kernels, values.for_kernels

        def of_chunk(chunk: tuple[int, int]) -> tuple[float, float, Floats, Floats]:
            positions, size = self.positions(*chunk), chunk[1] - chunk[0]
            room, weights, unused = self.room(size, 1), np.zeros(n_patterns), np.zeros(n_patterns)
            before = kernels.report_on(positions, fixed, start, room, unused)
            after = kernels.report_on(positions, fixed, fitted, room, weights)
            having_pattern = (positions.features[:, :n_patterns] >= 0).sum(axis=0)
            return before, after, having_pattern * (weights / np.maximum(having_pattern, 1)), having_pattern

        before, after, sums, positions = [], [], np.zeros(n_patterns), np.zeros(n_patterns)
        for loss_before, loss_after, weights, having_pattern in parallel_map(of_chunk, chunks_of(n), threads):
            before.append(loss_before)
            after.append(loss_after)
            sums += weights
            positions += having_pattern
        means = [round(float(mean), 6) for mean in sums / np.maximum(positions, 1)]
        return {
            "source": self.sample.source,
            "positions": len(self.sample),
            "parameters": int(values.flat.size),
            "perplexity_before": float(np.exp(math.fsum(before) / max(1, n))),
            "perplexity_after": float(np.exp(math.fsum(after) / max(1, n))),
            "mean_weights": dict(zip(map(str, self.counts.lattice.stored), means, strict=True)),
        }


def _share_of_rate(step: int, n_steps: int) -> float:
    """What is left of the learning rate at a step, 1 to n: it falls to a hundredth."""
    return float(0.01 + 0.5 + 0.5 * np.cos(np.pi * step / n_steps))


def _spans(batches: list[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Bounds of runs of batches, of at most so many, that follow each other in the sample."""
    first = 0
    while first < len(batches):
        last = first + 1
        while last < min(len(batches), first + most) and batches[last][0] == batches[last - 1][1]:
            last += 1
        yield first, last
        first = last


def chunks_of(n: int) -> list[tuple[int, int]]:
    """Bounds of chunks of a sample that is never read at once, because it may be larger than the memory."""
    return [(begin, min(begin + _CHUNK_POSITIONS, n)) for begin in range(0, n, _CHUNK_POSITIONS)]


def batches_of(n: int, passes: int = EPOCHS) -> list[tuple[int, int]]:
    """Bounds of small batches, all of the sample several times over."""
    size = int(np.clip(n // 100, 32, 1000))
    return [(begin, min(begin + size, n)) for _ in range(passes) for begin in range(0, n, size)]
