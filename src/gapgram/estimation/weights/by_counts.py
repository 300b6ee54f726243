"""The `counts` weights: from the counts of contexts alone, without any fitting to the text.

Down the lattice as in the paper, but pattern S passes to S without offset j in the ratio of j² exp(3.4 (1 - g)), g
being the probability that the smaller context falls back (1 where it was never seen): far words go first, contexts
that know their continuation are preferred. The odds of falling back are 0.6 times the usual. The constants were found
once on several corpora (docs/measured/weights.md). Equations (13) and (14) of docs/ideas/mathematics.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapgram.arrays import Floats
from gapgram.counts.counts import Counts
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.weights.fallback_graph import NO_GATE, Weights, falling_back, pattern_of_row, recursive
from gapgram.kernels.probability.gate import BUCKETS

KNOWN = 3.4  # how much a context that never falls back is preferred to one that always does
FALL_BACK_ODDS = 0.6  # relative to modified Kneser-Ney


def by_counts(counts: Counts, discounts: Discounts) -> Weights:
    """The `counts` weights."""
    graph = recursive(counts.lattice)
    sources = np.repeat(np.arange(len(counts.lattice.stored)), np.diff(graph.edge_base))
    masks = np.array([p.mask for p in counts.lattice.stored])
    farthest_dropped = [int(m).bit_length() for m in masks[sources] & ~masks[graph.edge_to]]
    graph = replace(graph, edge_weight=np.square(np.array(farthest_dropped, float)))
    shift = np.full((len(counts.lattice.stored), BUCKETS), float(np.log(FALL_BACK_ODDS)))
    shift[0] = 0.0  # the empty pattern falls back as it always did
    return Weights("counts", graph, known_contexts(counts, discounts), NO_GATE, shift, {})


def known_contexts(counts: Counts, discounts: Discounts) -> Floats:
    """exp(3.4 (1 - g)) of each row of context statistics: what equation (13) has of the context."""
    weights: Floats = np.exp(KNOWN * (1 - falling_back(counts.tables.rows, discounts, pattern_of_row(counts))))
    return weights
