"""Which patterns pay in a text: from the contiguous ones on, what brings most for the tables that it takes, and so on.

Neighbours of the patterns that were chosen are looked up and judged (`pattern_gain`). A few of the best are added, then
the gate is fitted again; until there are as many tables as may be, or nothing pays any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gapgram.arrays import Floats
from gapgram.estimation.weights.pattern_gain import Evidence, FittedMixture, numbered
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern

PICKS = 4  # patterns that are added before the gate is fitted again
MOST_NEW = 48  # patterns that are looked up between
LEAST_JUDGED = 1000  # positions: fewer tell nothing
LEAST_NATS = 1e-4  # that a table must bring at a position, in the mean
LEAST_ERRORS = 1.5  # standard errors that this must be above 0
_FREE = 0.5  # tables that patterns count as which take none

More = tuple[Pattern, ...]  # patterns that are added together
LookUp = Callable[[Iterable[Pattern], Evidence | None], Evidence]  # what is known of patterns, added to what was


def neighbours(pattern: Pattern, order: int) -> Iterator[Pattern]:
    """The patterns that keep one word more or less, or the farthest word one place farther away.

    >>> [str(p) for p in neighbours(Pattern.parse("1011"), 6)]
    ['11011', '10011', '11', '1001']
    """
    reach = pattern.reach
    if pattern.mask and reach + 1 < order:
        farther = 1 << reach
        yield Pattern(pattern.mask | farther, pattern.classes)
        yield Pattern((pattern.mask & ~(farther >> 1)) | farther, pattern.classes)
    yield from (smaller for smaller in pattern.smaller() if smaller.mask)


class PatternChoice:
    """The patterns that were chosen so far, and what could be chosen next.

    look_up: gives what is known of patterns. n_clusterings: of the words, to choose from. budget: tables at most.
    """

    def __init__(self, look_up: LookUp, order: int, n_clusterings: int, budget: int, *, threads: int = 1) -> None:
        self.order, self.budget = order, budget
        self.chosen = frozenset(Lattice.chain(order).patterns)
        self._look_up, self._n_clusterings, self._threads = look_up, n_clusterings, threads
        self._evidence: Evidence | None = None
        self._rejected: set[More] = set()  # that brought nothing

    @property
    def lattice(self) -> tuple[Lattice, tuple[int, ...]]:
        """The lattice of what was chosen, and the clusterings that it uses."""
        return numbered(self.order, self.chosen)

    def stored(self, more: Iterable[Pattern] = ()) -> set[Pattern]:
        """The patterns of which a model has tables with all that was chosen, and with more."""
        lattice, numbers = numbered(self.order, self.chosen.union(more))
        return {Pattern(p.mask, (0, *numbers)[p.classes]) for p in lattice.stored}

    def tables(self, more: Iterable[Pattern] = ()) -> int:
        """How many that are."""
        return len(self.stored(more))

    def candidates(self) -> list[More]:
        """What could be added: all contiguous patterns of a clustering; a neighbour or part of what was chosen; the
        same by classes; and one word, however far, alone or with the last one."""
        kinds = {p.classes for p in self.chosen}
        single = {near for p in self.chosen for near in neighbours(p, self.order)} | self.stored()
        far = [Pattern(1 << k | last) for k in range(self.order - 1) for last in (0, 1)]
        single |= {Pattern(p.mask, kind) for p in (*self.chosen, *far) for kind in kinds}
        chains = [
            tuple(Pattern.contiguous(k, clustering) for k in range(self.order))
            for clustering in range(1, self._n_clusterings + 1)
            if clustering not in kinds
        ]
        found = [(p,) for p in sorted(single - self.chosen, key=_smallest_first)]
        worth = [more for more in (*chains, *found) if more not in self._rejected]
        return [more for more in worth if self.tables(more) <= self.budget]

    def grow(self) -> bool:
        """Add a few patterns; False where nothing pays, or there is no room for more."""
        candidates = self.candidates()
        known = set(self._evidence.seen) if self._evidence is not None else set()
        new = [more for more in candidates if not known.issuperset(more)]
        unknown = {p for more in new[:MOST_NEW] for p in more} | (self.stored() - known)
        self._evidence = self._look_up(unknown, self._evidence)
        if len(self._evidence) < 2 * LEAST_JUDGED:
            return False
        mixture = FittedMixture(self._evidence, self.chosen, threads=self._threads)
        probabilities = mixture.probabilities
        gains = {more: _gain(mixture, more, probabilities) for more in candidates if more not in new[MOST_NEW:]}
        self._rejected |= {more for more, gain in gains.items() if gain.nats <= 0.0}
        self._evidence.forget({p for more in self._rejected for p in more} - self.stored())
        gains = {more: gain for more, gain in gains.items() if more not in self._rejected}
        for pick in range(PICKS):
            best = self._best(mixture, gains, probabilities)
            if best is None:
                return pick > 0
            probabilities = mixture.with_more(best, probabilities)
            self.chosen = self.chosen.union(best)
            if len(best) > 1:  # a clustering changes what others bring
                break
            gains = {more: gain for more, gain in gains.items() if more != best and self.tables(more) <= self.budget}
        return True

    def _best(
        self, mixture: FittedMixture, gains: dict[More, PatternGain], probabilities: Floats
    ) -> More | None:
        """The candidate that brings most for each table, if any pays; gains that are looked at are judged anew."""
        fresh: set[More] = set()
        cost = {more: self.tables(more) - self.tables() for more in gains}
        while True:
            paying = [more for more, gain in gains.items() if gain.pays(cost[more])]
            if not paying:
                return None
            best = max(paying, key=lambda more: gains[more].nats / max(cost[more], _FREE))
            if best in fresh:
                return best
            gains[best] = _gain(mixture, best, probabilities)
            fresh.add(best)


@dataclass(frozen=True)
class PatternGain:
    """By how much ln P rises at a position, in the mean, and the standard error of that."""

    nats: float
    error: float

    def pays(self, tables: int) -> bool:
        """Whether it is worth so many tables, and no accident."""
        return self.nats > max(LEAST_NATS * tables, LEAST_ERRORS * self.error)


def _gain(mixture: FittedMixture, more: More, probabilities: Floats) -> PatternGain:
    rises = np.log(mixture.with_more(more, probabilities) / probabilities)
    return PatternGain(float(rises.mean()), float(rises.std() / np.sqrt(rises.size)))


def _smallest_first(pattern: Pattern) -> tuple[int, int, int, int]:
    return len(pattern), pattern.reach, pattern.classes, pattern.mask
