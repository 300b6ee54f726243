"""What a model loses with each of its grams: equations (31) to (33) of docs/ideas/mathematics.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partial

import numpy as np

from gapgram.arrays import Floats, Integers
from gapgram.compression.pruning.tables import Relations, Unpacked
from gapgram.estimation.parts import ModelParts
from gapgram.kernels.pruning import tables as kernels
from gapgram.kernels.tables.arrays import FIRST_ROW, N_ROWS
from gapgram.kernels.tables.model_arrays import BACKOFF, BUCKET
from gapgram.pattern import Pattern

_RARE = 6  # grams that occur as often as this, or more, are expected to occur as often again
_CLASSES = 40  # on either side of 1, two for each doubling
_SHRINK = 30.0


def losses_of(parts: ModelParts, tables: Mapping[Pattern, Unpacked]) -> Iterator[tuple[Pattern, Floats]]:
    """What is lost with each gram of each pattern."""
    relations = Relations(tables)
    occurrences, losses, say = relations.occurrences(), Losses(parts, tables, relations), says(parts)
    for pattern in tables:
        yield pattern, losses.of(pattern, occurrences[pattern], say[pattern])


def says(parts: ModelParts) -> dict[Pattern, float]:
    """How much of a prediction each pattern decides: its mean weight where weights were learned, else what would
    come to it if those above it knew nothing."""
    patterns, graph = parts.counts.lattice.stored, parts.weights.graph
    learned = parts.weights.report.get("mean_weights")
    if learned is not None:
        return {pattern: learned[str(pattern)] for pattern in patterns}
    say = np.zeros(len(patterns))
    starts = graph.starts[graph.start_base[-2] : graph.start_base[-1]]
    say[starts] = 1.0 / len(starts)
    for p in range(len(patterns) - 1, 0, -1):
        edges = slice(graph.edge_base[p], graph.edge_base[p + 1])
        say[graph.edge_to[edges]] += say[p] * graph.edge_weight[edges] / max(graph.edge_weight[edges].sum(), 1e-300)
    return {pattern: float(min(s, 1.0)) for pattern, s in zip(patterns, say, strict=True)}


class Losses:
    """Probabilities of all grams under their own patterns, and what it costs to drop each."""

    def __init__(self, parts: ModelParts, tables: Mapping[Pattern, Unpacked], relations: Relations) -> None:
        self.parts, self.tables, self.relations = parts, tables, relations
        self.probabilities: dict[Pattern, Floats] = {}
        self.below: dict[Pattern, Floats] = {}
        for pattern, table in tables.items():  # by rising masks: those below come first
            self.below[pattern] = table.each_gram("below", np.float64, partial(self._below, pattern, pattern))
            self.probabilities[pattern] = table.each_gram(
                "probabilities", np.float64, partial(self._probabilities, pattern)
            )

    def of(self, pattern: Pattern, occurrences: Integers, say: float) -> Floats:
        """What text as long as that of the counts loses with each gram of a pattern, in nats: equation (32).

        How often a gram comes again: where one pattern decides at a time, as grams alike do; where patterns are mixed,
        as its probability has it. (Grams that come against all odds come less often than that, but there the other
        patterns fail as well: the two about cancel.)
        """
        table, estimate = self.tables[pattern], self._estimate(pattern)
        histories, below = table.histories(occurrences), self.below[pattern]

        def chances(begin: int, end: int) -> Floats:
            expected: Floats = histories[table.contexts[begin:end]] * below[begin:end]
            return expected

        again = Again()
        for begin, end in table.store.spans(len(table) if say == 1.0 else len(histories)):
            again.add(*((occurrences[begin:end], chances(begin, end)) if say == 1.0 else (histories[begin:end],)))
        out = table.store.array("losses", np.float64, (len(table),))
        for contexts, grams in table.context_spans():
            if say == 1.0:
                expected = again.of(occurrences[grams], chances(grams.start, grams.stop))
            else:
                which = table.contexts[grams] - contexts.start
                expected = again.of(histories[contexts])[which] * self.probabilities[pattern][grams]
            begins = table.begins[contexts.start : contexts.stop + 1] - grams.start
            followers = kernels.Followers(table.counts[grams], begins, table.rows[contexts])
            out[grams] = kernels.losses(followers, estimate, below[grams], expected, say)
        return out

    def _row_values(self, pattern: Pattern) -> Floats:
        first, n = self.parts.counts.tables.places[self.parts.counts.index(pattern), [FIRST_ROW, N_ROWS]]
        values: Floats = self.parts.arrays.row_values[first : first + n]
        return values

    def _estimate(self, pattern: Pattern) -> kernels.Estimate:
        p, values = self.parts.counts.index(pattern), self._row_values(pattern)
        shift = self.parts.weights.log_odds_shift
        odds = np.exp(shift[p, values[:, BUCKET].astype(np.int64)]) if shift.size else np.ones(len(values))
        return kernels.Estimate(p, self.parts.arrays.discounts, values, odds)

    def _probabilities(self, pattern: Pattern, begin: int, end: int) -> Floats:
        table = self.tables[pattern]
        probabilities: Floats = kernels.gram_probabilities(
            table.counts[begin:end], table.contexts[begin:end], table.rows, self._estimate(pattern),
            self.below[pattern][begin:end],
        )  # fmt: skip
        return probabilities

    def _below(self, whole: Pattern, pattern: Pattern, begin: int, end: int) -> Floats:
        """For some grams of `whole` what the patterns below `pattern` say of their words."""
        patterns, graph = self.parts.counts.lattice.stored, self.parts.weights.graph
        p = patterns.index(pattern)
        edges = range(graph.edge_base[p], graph.edge_base[p + 1])
        if not edges or not pattern.mask:  # the empty pattern, of words or classes, or one held as a context alone
            words = self.tables[Pattern(0, whole.classes)]
            return np.full(end - begin, 1.0 / len(words))
        total = float(graph.edge_weight[edges.start : edges.stop].sum())
        out = np.zeros(end - begin)
        for e in edges:
            out += graph.edge_weight[e] / total * self._under(whole, patterns[graph.edge_to[e]], begin, end)
        return out

    def _under(self, whole: Pattern, pattern: Pattern, begin: int, end: int) -> Floats:
        """P(w | h) under a smaller pattern of the words of some grams of `whole`."""
        numbers = self.relations.subgrams(whole, pattern, begin, end)
        probabilities = self.probabilities[pattern][numbers]
        if (numbers < 0).any():
            contexts = self.relations.subgram_contexts(whole, pattern, begin, end)
            backoffs = self._row_values(pattern)[self.tables[pattern].rows[contexts], BACKOFF]
            fallen = np.where(contexts < 0, 1.0, backoffs) * self._below(whole, pattern, begin, end)
            probabilities = np.where(numbers < 0, fallen, probabilities)
        return probabilities


class Again:
    """How often grams are expected in other text of the same length: Good-Turing, in classes.

    Grams that were seen r times occur r* = (r + 1) n(r+1) / n(r) times, equation (33). Chances are the occurrences that
    smaller contexts would expect: a gram seen once against all odds comes again less often than one that was
    to be expected (Church and Gale, 1991), so r* is taken among grams whose chances are alike.
    """

    def __init__(self) -> None:
        self._n = np.zeros((2 * _CLASSES + 1, _RARE + 2), np.int64)

    def add(self, occurrences: Integers, chances: Floats | None = None) -> None:
        """Count some grams; all are added before any is asked for."""
        np.add.at(self._n, (_classes(occurrences, chances), np.minimum(occurrences, _RARE + 1)), 1)

    @cached_property
    def _ratios(self) -> Floats:
        return _ratios(self._n, _ratios(self._n.sum(axis=0), np.ones(_RARE + 2), 0.0), _SHRINK)

    def of(self, occurrences: Integers, chances: Floats | None = None) -> Floats:
        """How often each of some grams comes again."""
        again: Floats = occurrences * self._ratios[_classes(occurrences, chances), np.minimum(occurrences, _RARE + 1)]
        return again


def _classes(occurrences: Integers, chances: Floats | None) -> Integers:
    if chances is None:
        return np.zeros(len(occurrences), np.int64)
    classes: Integers = np.clip(2 * np.log2(np.maximum(chances, 1e-12)), -_CLASSES, _CLASSES).astype(np.int64)
    return classes + _CLASSES


def _ratios(n: Integers, usual: Floats, shrink: float) -> Floats:
    """r* / r for r = 0 … rare, and 1 beyond; as if `shrink` more grams had the usual."""
    r = np.arange(1, _RARE)
    ratios = np.ones(n.shape)
    more = (r + 1) / r * n[..., 2:-1] + shrink * usual[1:_RARE]
    ratios[..., 1:_RARE] = np.minimum(more / np.maximum(n[..., 1 : _RARE] + shrink, 1e-9), 1.0)
    return ratios
