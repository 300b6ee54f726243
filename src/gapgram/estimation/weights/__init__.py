"""How a prediction is shared out among the patterns of a lattice, for each context.

    estimators        every way to do so, by name; equal weights
    fallback_graph    which patterns a prediction starts from and which it falls back on
    by_counts         weights from the counts of the contexts, without fitting
    sample            positions of a text with the statistics of a model that has not seen them
    statistics        what such a sample is made of
    learned           weights fitted on such a sample
    pattern_gain      what more patterns would bring to a mixture
    pattern_choice    which patterns pay in a text
"""

from gapgram.estimation.weights.by_counts import by_counts
from gapgram.estimation.weights.estimators import ESTIMATORS, uniform, with_rows_of
from gapgram.estimation.weights.fallback_graph import FallbackGraph, Weights
from gapgram.estimation.weights.learned import learned
from gapgram.estimation.weights.sample import held_out, left_out

__all__ = [
    "ESTIMATORS", "FallbackGraph", "Weights", "by_counts", "held_out", "learned", "left_out", "uniform", "with_rows_of",
]  # fmt: skip
