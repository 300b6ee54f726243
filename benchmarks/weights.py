"""What each part of the learned weights brings: perplexities of one training text, part by part.

    python benchmarks/weights.py TRAIN VALID [--lines 50000] [-n 5]

Each row trains on the same text and scores the same other text. The parts of the learned weights are
switched off by holding their parameters at the start.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gapgram import Lattice, Model
from gapgram.counting.in_memory import count
from gapgram.counts.counts import Counts
from gapgram.errors import DiscountWarning
from gapgram.estimation.discounts import Discounts, estimate_discounts
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights.by_counts import by_counts
from gapgram.estimation.weights.estimators import uniform
from gapgram.estimation.weights.fallback_graph import Weights
from gapgram.estimation.weights.learned import Parameters, Problem
from gapgram.estimation.weights.sample import FittingSample, held_out, left_out
from gapgram.kernels.probability.gate import BUCKETS
from gapgram.reporting.tables import change, table
from gapgram.text.corpus import Corpus, blocks_of_sentences, encode, read_corpus
from gapgram.text.files import blocks_of_files


class PartlyFixed(Problem):
    """A problem some of whose parameters stay where they start."""

    hold: Callable[[Parameters], None]
    batches_at_once = 1

    def take_steps(self, values: Parameters, *about: Any) -> None:
        """A step, of which what is held is taken back."""
        before, change = values.flat.copy(), self.zeros()
        super().take_steps(values, *about)
        change.flat[:] = values.flat - before
        self.hold(change)
        values.flat[:] = before + change.flat


def hold_nothing(gradients: Parameters) -> None:
    pass


def hold_discounts(gradients: Parameters) -> None:
    gradients.odds[:] = 0


def hold_odds(gradients: Parameters) -> None:
    gradients.shift[:] = 0


def hold_words(gradients: Parameters) -> None:
    gradients.table[BUCKETS * gradients.table.shape[1] :] = 0


def hold_cross(gradients: Parameters) -> None:
    """Each pattern's weight depends on its own context alone."""
    n = gradients.table.shape[1]
    own = gradients.table[: BUCKETS * n].reshape(n, BUCKETS, n)
    for p in range(n):
        own[p, :, np.arange(n) != p] = 0
    hold_words(gradients)


def hold_gate(gradients: Parameters) -> None:
    gradients.table[:] = 0


def hold_empty(gradients: Parameters) -> None:
    gradients.odds[0] = gradients.shift[0] = 0


class Bench:
    """One training text counted once for each lattice, and the text that is scored."""

    def __init__(self, training: list[str], scored: str, order: int) -> None:
        self.scored, self.training = scored, training
        self.corpus = read_corpus(blocks_of_sentences(training))
        self.full, self.chain = (count(self.corpus, make(order)) for make in (Lattice.full, Lattice.chain))
        self.rows: list[list[object]] = []
        self.first = 0.0

    def row(self, name: str, counts: Counts, weights: Weights, discounts: Discounts, seconds: float) -> None:
        model = Model(ModelParts.of("glm", counts, discounts, weights))
        result = model.perplexity(self.scored)
        known, parameters = result.perplexity_known, weights.report.get("parameters", 0)
        self.first = self.first or known
        self.rows.append([name, f"{known:.2f}", change(known, self.first), f"{result.perplexity:.2f}",
                          f"{parameters:,}", f"{seconds:.1f}"])  # fmt: skip
        print(table(["", "", "", "", "", ""], self.rows[-1:]).splitlines()[1], flush=True)

    def fitted(
        self, name: str, counts: Counts, hold: Callable[[Parameters], None], sample: FittingSample | None = None
    ) -> None:
        began = time.process_time()
        sample = sample or left_out(counts, self.corpus.ids, seed=1)
        problem = PartlyFixed(counts, estimate_discounts(counts), sample)
        problem.hold = hold
        weights, discounts = problem.solution(problem.fit())
        self.row(name, counts, weights, discounts, time.process_time() - began)

    def held_out_tenth(self) -> None:
        """Fit on a tenth of the text that was not counted, then use what was found with all counts."""
        nine = [line for i, line in enumerate(self.training) if i % 10]
        tenth = [line for i, line in enumerate(self.training) if i % 10 == 0]
        began = time.process_time()
        small: Corpus = read_corpus(blocks_of_sentences(nine))
        counts = count(small, self.full.lattice)
        ids = np.concatenate([part.ids for part in encode(blocks_of_sentences(tenth), small.vocabulary)])
        fitting = Problem(counts, estimate_discounts(counts), held_out(counts, ids))
        values = fitting.fit()
        nothing = left_out(self.full, self.corpus.ids, seed=1, limit=1)
        final = Problem(self.full, estimate_discounts(self.full), nothing)
        weights, discounts = final.solution(values)
        self.row("fitted on a tenth held out, then all counted", self.full, weights, discounts,
                 time.process_time() - began)  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train")
    arguments.add_argument("scored", metavar="VALID")
    arguments.add_argument("--lines", type=int, help="of the training text")
    arguments.add_argument("-n", "--order", type=int, default=5)
    given = arguments.parse_args()
    warnings.simplefilter("ignore", DiscountWarning)
    lines = (line.decode() for block in blocks_of_files(given.train) for line in block.data.splitlines())
    bench = Bench(list(itertools.islice(lines, given.lines)), given.scored, given.order)
    full, chain = bench.full, bench.chain
    bench.row("mkn", chain, uniform(chain), estimate_discounts(chain), 0)
    bench.row("glm uniform", full, uniform(full), estimate_discounts(full), 0)
    plain = estimate_discounts(full)
    bench.row("glm counts", full, by_counts(full, plain), plain, 0)
    bench.fitted("glm learned", full, hold_nothing)
    bench.fitted("… contiguous patterns only", chain, hold_nothing)
    bench.fitted("… usual discounts", full, hold_discounts)
    bench.fitted("… odds of falling back not fitted", full, hold_odds)
    bench.fitted("… gate without the nearest words", full, hold_words)
    bench.fitted("… gate of each pattern by its own context alone", full, hold_cross)
    bench.fitted("… no gate: the formula it starts from", full, hold_gate)
    bench.fitted("… empty pattern not fitted", full, hold_empty)
    bench.held_out_tenth()
    print()
    print(table(["weights", "known words", "change", "all words", "parameters", "CPU s"], bench.rows))


if __name__ == "__main__":
    main()
