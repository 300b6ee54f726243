"""How a prediction is shared out among the patterns of a lattice, for each context.

    form         which patterns a prediction starts from and which it falls back on
    uniform      equal weights: modified Kneser-Ney on the chain, the paper's model on the full lattice
    by_counts    from the counts of the contexts, without fitting
    sample       positions of a text with the statistics of a model that has not seen them
    learned      fitted on such a sample
    rows         the same weights for pruned counts
"""

from gapgram.weights.by_counts import by_counts
from gapgram.weights.form import Form, Weights
from gapgram.weights.learned import learned
from gapgram.weights.rows import with_rows_of
from gapgram.weights.sample import held_out, left_out
from gapgram.weights.uniform import uniform

__all__ = ["Form", "Weights", "by_counts", "held_out", "learned", "left_out", "uniform", "with_rows_of"]
