"""Weights from the counts of contexts alone, without any fitting to the text.

Two formulas with a few constants, found once on several corpora ([docs/weights.md]):

* `by_counts`, the `counts` weights: down the lattice as in the paper, but pattern S passes to S without
  offset j in the ratio of j² exp(3.4 (1 - g)), g being the probability that the smaller context falls
  back (1 where it was never seen): far words go first, contexts that know their continuation are
  preferred. The odds of falling back are 0.6 times the usual.
* `mixture_logits`, where `learned` weights start from: all patterns at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Floats, Integers
from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.weights.fallback_graph import NO_GATE, Weights, recursive
from gapgram.kernels.gate import BUCKETS
from gapgram.kernels.tables import N_ROWS

KNOWN = 3.4  # how much a context that never falls back is preferred to one that always does
FALL_BACK_ODDS = 0.6  # relative to modified Kneser-Ney
BY_G, BY_LOG = -1.65, 0.85  # of the logit in a mixture, by g and by ln(1 - g)


def by_counts(counts: Counts, discounts: Discounts) -> Weights:
    """The `counts` weights."""
    form = recursive(counts.lattice)
    sources = np.repeat(np.arange(len(counts.patterns)), np.diff(form.edge_base))
    masks = np.array([p.mask for p in counts.patterns])
    farthest_dropped = [int(m).bit_length() for m in masks[sources] & ~masks[form.edge_to]]
    form = replace(form, edge_weight=np.square(np.array(farthest_dropped, float)))
    lift = log_odds_of_falling_back(counts, float(np.log(FALL_BACK_ODDS)))
    return Weights("counts", form, known_contexts(counts, discounts), NO_GATE, lift, {})


def known_contexts(counts: Counts, discounts: Discounts) -> Floats:
    """exp(3.4 (1 - g)) of each row of context statistics."""
    weights: Floats = np.exp(KNOWN * (1 - falling_back(counts.tables.rows, discounts, pattern_of_row(counts))))
    return weights


def log_odds_of_falling_back(counts: Counts, change: float) -> Floats:
    """The same change of the log odds for all contexts of all patterns but the empty one."""
    lift = np.full((len(counts.patterns), BUCKETS), change)
    lift[0] = 0.0
    return lift


def mixture_base(counts: Counts) -> Floats:
    """What the logit of each pattern in a mixture starts from, where its context was seen."""
    of_classes = np.array([p.classes for p in counts.patterns])
    sizes = np.array([len(p) for p in counts.patterns])
    reaches = np.array([p.reach for p in counts.patterns])
    adjacent = np.array([1 in p for p in counts.patterns])
    base: Floats = 1.55 + 2.1 * sizes - 0.45 * reaches + 1.6 * adjacent - 2.0 * of_classes
    return base


def mixture_logits(counts: Counts, discounts: Discounts) -> Floats:
    """log of the weight in a mixture of contexts like each row of context statistics; 0 where never seen."""
    patterns = pattern_of_row(counts)
    g = falling_back(counts.tables.rows, discounts, patterns)
    known = mixture_base(counts)[patterns] + BY_G * g + BY_LOG * np.log(np.maximum(1 - g, 0.02))
    logits: Floats = np.where(counts.tables.rows[:, 0] > 0, known, 0.0)
    return logits


def pattern_of_row(counts: Counts) -> Integers:
    """The number of the pattern that each row of context statistics belongs to."""
    return np.repeat(np.arange(len(counts.patterns)), counts.tables.places[:, N_ROWS])


def falling_back(
    statistics: npt.NDArray[np.integer[Any]], discounts: Discounts, patterns: Integers
) -> Floats:
    """g of contexts with statistics [..., (total, N1, N2, N3+, missing)] under patterns; 1 where never seen.

    What is missing counts as grams seen once: pruning is to change the weight of a context as little as it can.
    """
    total = statistics[..., 0]
    taken = (statistics[..., 1:4] * discounts.values[patterns]).sum(axis=-1)
    taken = taken + statistics[..., 4] * discounts.values[patterns, 0]
    g: Floats = np.where(total > 0, taken / np.maximum(total, 1), 1.0)
    return g
