"""What more patterns would bring to a mixture, judged on positions that are left out of their counts.

A gate is fitted for the patterns that there are, on one half of the positions. On the other half a further pattern is
mixed in, with a weight for how well its context is known and how long the longest known context without gaps is: by how
much ln P rises is its gain. The weights are fitted on every other run of positions and judged on those between, so that
a pattern that knows nothing gains nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts, discounts_of
from gapgram.estimation.weights.learned import START_SHIFT, Problem
from gapgram.estimation.weights.sample import FittingSample
from gapgram.kernels.probability.gate import BUCKETS, context_buckets
from gapgram.lattice import Lattice
from gapgram.pattern import MAX_ORDER, Pattern

_RUN = 128  # positions, one after the other, that are fitted to or judged together
_NEWTON_STEPS = 6
_MOST_WEIGHT = 0.95
_SPREADS = 3  # buckets for one total of a context
_LEVELS = BUCKETS // _SPREADS + 1
_CELLS = _LEVELS * MAX_ORDER


@dataclass(frozen=True)
class Seen:
    """What counts say of all positions under one pattern.

    statistics: [position, 5], as `kernels.fitting.sample` has them.
    buckets: of the contexts; -1 where the sentence is too short.
    discounts: the usual ones.
    """

    statistics: Ids
    buckets: Ids
    discounts: Floats


@dataclass
class Evidence:
    """Positions of a text, looked up under every pattern that was counted so far.

    counts: the first ones; all have their order and vocabulary.
    of_words: [position, order], the rows of a gate's table that the words before a position have, as if it began there.
    given: for each clustering, and 0 for words themselves, the probability of each word given its class.
    """

    counts: Counts
    of_words: Ids
    given: dict[int, Floats] = field(default_factory=dict)
    seen: dict[Pattern, Seen] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: Counts, sample: FittingSample, clusterings: Sequence[int]) -> Evidence:
        """Of the patterns of some counts, whose clusterings have these numbers."""
        of_words = sample.features[:][:, len(counts.lattice.stored) :]
        first = len(counts.lattice.stored) * BUCKETS
        evidence = cls(counts, np.where(of_words < 0, -1, of_words - first).astype(np.int32))
        evidence.add(counts, sample, clusterings)
        return evidence

    def add(self, counts: Counts, sample: FittingSample, clusterings: Sequence[int]) -> None:
        """Add the patterns of more counts of the same text, with the same positions."""
        statistics, numbers = sample.statistics[:], (0, *clusterings)
        for i, number in enumerate(numbers):
            self.given[number] = np.ascontiguousarray(sample.given[:][:, i])
        for p, pattern in enumerate(counts.lattice.stored):
            named = Pattern(pattern.mask, numbers[pattern.classes])
            if named not in self.seen:
                own = np.ascontiguousarray(statistics[:, p])
                rows = np.append(own[:, 1:], np.zeros((len(own), 1), np.int32), axis=1)
                buckets = np.where(self.of_words[:, 0] >= pattern.reach, context_buckets(rows), -1).astype(np.int32)
                discounts = np.array(discounts_of(counts.counts_of_counts(pattern))[0])
                self.seen[named] = Seen(own, buckets, discounts)

    def forget(self, patterns: Iterable[Pattern]) -> None:
        """Let go of what is known of patterns, for its memory."""
        for pattern in patterns:
            self.seen.pop(pattern, None)

    def __len__(self) -> int:
        return len(self.of_words)


def numbered(order: int, patterns: Iterable[Pattern]) -> tuple[Lattice, tuple[int, ...]]:
    """The lattice of patterns of which some clusterings may not be used, those that are numbered from 1; and these."""
    family = list(patterns)
    used = sorted({p.classes for p in family} | {0})
    return Lattice(order, [Pattern(p.mask, used.index(p.classes)) for p in family]), tuple(used[1:])


class FittedMixture:
    """Patterns with a gate that was fitted on the first half of the positions, and what they say of the other half.

    probabilities: of each word, by all patterns together. values: by each pattern.
    """

    def __init__(self, evidence: Evidence, patterns: Iterable[Pattern], *, threads: int = 1) -> None:
        self.evidence, self.patterns = evidence, frozenset(patterns)
        half, n = len(evidence) // 2, len(evidence)
        self._judged = slice(half, n)
        fitted = _problem(evidence, self.patterns, slice(0, half)).fit(threads=threads)
        problem = _problem(evidence, self.patterns, self._judged)
        # A pattern's value from that of the one that it falls back on, which comes before it.
        lattice, numbers = numbered(evidence.counts.lattice.order, self.patterns)
        kinds, values = (0, *numbers), np.zeros((len(lattice.stored), n - half))
        uniform = np.full(n - half, problem.uniform)
        for p, pattern in enumerate(lattice.stored):
            named, below = Pattern(pattern.mask, kinds[pattern.classes]), values[problem.down[p]] if p else uniform
            values[p] = self._value(named, fitted.discounts[p], fitted.shift[p], below)
        self.values = {
            Pattern(p.mask, kinds[p.classes]): values[i] for i, p in enumerate(lattice.stored) if p in lattice.patterns
        }
        weights = _gate_weights(problem.sample.features[:], problem.log_prior[:], fitted.table)
        chain = [evidence.seen[Pattern.contiguous(k)].buckets[self._judged] > 0 for k in range(lattice.order)]
        self._longest = np.sum(chain, axis=0) - 1
        self.probabilities: Floats = np.einsum("np,pn->n", weights, values)

    def _value(self, pattern: Pattern, discounts: Floats, shifts: Floats, below: Floats) -> Floats:
        """The probabilities of the words under a pattern: equations (15) and (24) of docs/ideas/mathematics.md."""
        seen, given = self.evidence.seen[pattern], self.evidence.given[pattern.classes][self._judged]
        statistics, buckets = seen.statistics[self._judged], seen.buckets[self._judged]
        count, total = statistics[:, 0], statistics[:, 1]
        taken = (statistics[:, 2:] * discounts).sum(axis=1)
        passed = taken * np.exp(shifts[np.maximum(buckets, 0)])
        kept = (count - np.append(0.0, discounts)[np.minimum(count, 3)]) * given
        value: Floats = np.where(total > 0, (kept + passed * below) / np.maximum(total - taken + passed, 1e-9), below)
        return value

    def with_more(self, patterns: Sequence[Pattern], probabilities: Floats) -> Floats:
        """The probabilities that become of some when further patterns are mixed in, one after the other."""
        order, values = self.evidence.counts.lattice.order, dict(self.values)
        lattice, numbers = numbered(order, self.patterns.union(patterns))
        kinds, start = (0, *numbers), np.full(BUCKETS, START_SHIFT)
        for pattern in sorted(patterns, key=lambda p: p.sort_key):
            below = lattice.below(Pattern(pattern.mask, kinds.index(pattern.classes)))[0]
            fallen = values[Pattern(below.mask, kinds[below.classes])]
            seen = self.evidence.seen[pattern]
            values[pattern] = self._value(pattern, seen.discounts, start, fallen)
            probabilities = mixed_in(probabilities, values[pattern], seen.buckets[self._judged], self._longest)
        return probabilities


def _problem(evidence: Evidence, patterns: Iterable[Pattern], part: slice) -> Problem:
    """The fitting of a gate for some patterns on a part of the positions."""
    lattice, numbers = numbered(evidence.counts.lattice.order, patterns)
    kinds, family = (0, *numbers), set(lattice.patterns)
    seen = [evidence.seen[Pattern(p.mask, kinds[p.classes])] for p in lattice.stored]
    of_words, columns = evidence.of_words[part], []
    for p, (pattern, own) in enumerate(zip(lattice.stored, seen, strict=True)):
        absent = (own.buckets[part] < 0) | (pattern not in family)
        columns.append(np.where(absent, -1, own.buckets[part] + p * BUCKETS))
    of_words = np.where(of_words < 0, -1, of_words + len(seen) * BUCKETS)
    sample = FittingSample.of_arrays(
        "patterns to choose from",
        np.stack([own.statistics[part] for own in seen], axis=1),
        np.column_stack([*columns, of_words]).astype(np.int32),
        np.column_stack([evidence.given[kind][part] for kind in kinds]),
    )
    # Nothing is looked up any more: of the counts only the lattice and the vocabulary are.
    counts = replace(evidence.counts, lattice=lattice)
    return Problem(counts, Discounts(np.array([own.discounts for own in seen])), sample)


def _gate_weights(features: Ids, log_prior: Floats, table: Floats) -> Floats:
    """[position, pattern]: equation (17) of docs/ideas/mathematics.md."""
    logits, n_patterns = log_prior.copy(), log_prior.shape[1]
    for f in range(features.shape[1]):
        logits += np.where(features[:, f, None] >= 0, table[np.maximum(features[:, f], 0)], 0.0)
    logits[features[:, :n_patterns] < 0] = -np.inf
    weights: Floats = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def mixed_in(probabilities: Floats, values: Floats, buckets: Ids, longest: Integers) -> Floats:
    """Probabilities into which those of one more pattern are mixed, where its context was seen.

    buckets: of these contexts. longest: the words of the longest context without gaps that was seen.
    The weights of both are fitted on every other run of positions, for those between.
    """
    at = np.flatnonzero(buckets > 0)
    gain, cells = values[at] / probabilities[at] - 1.0, buckets[at] // _SPREADS + _LEVELS * longest[at]
    odd, weights = (at // _RUN & 1).astype(bool), np.zeros(at.size)
    for judged in (odd, ~odd):
        weights[judged] = _best_weights(gain[~judged], cells[~judged])[cells[judged]]
    mixed: Floats = probabilities.copy()
    mixed[at] *= 1.0 + weights * gain
    return mixed


def _best_weights(gain: Floats, cells: Integers) -> Floats:
    """For each cell the weight that makes the sum of ln(1 + weight × gain) largest, by Newton's method."""
    weights = np.full(_CELLS, 0.1)
    for _ in range(_NEWTON_STEPS):
        slope = gain / (1.0 + weights[cells] * gain)
        rise, bend = np.bincount(cells, slope, _CELLS), np.bincount(cells, slope * slope, _CELLS)
        weights = np.clip(weights + (rise - weights) / (bend + 1.0), 0.0, _MOST_WEIGHT)
    return weights
