"""How a prediction is shared out among the patterns of a lattice, for each context.

    fallback_graph    which patterns a prediction starts from and which it falls back on
    uniform           equal weights: modified Kneser-Ney on the chain, the paper's model on the full lattice
    by_counts         from the counts of the contexts, without fitting
    sample            positions of a text with the statistics of a model that has not seen them
    statistics        what such a sample is made of
    learned           fitted on such a sample
    for_other_counts  the same weights for pruned counts
"""

from gapgram.estimation.weights.by_counts import by_counts
from gapgram.estimation.weights.fallback_graph import Form, Weights
from gapgram.estimation.weights.for_other_counts import with_rows_of
from gapgram.estimation.weights.learned import learned
from gapgram.estimation.weights.sample import held_out, left_out
from gapgram.estimation.weights.uniform import uniform

__all__ = ["Form", "Weights", "by_counts", "held_out", "learned", "left_out", "uniform", "with_rows_of"]
