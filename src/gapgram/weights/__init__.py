"""How a prediction is shared out among the patterns of a lattice, for each context.

    form         which patterns a prediction starts from and which it falls back on
    uniform      equal weights: modified Kneser-Ney on the chain, the paper's model on the full lattice
"""

from gapgram.weights.form import Form, Weights
from gapgram.weights.uniform import uniform

__all__ = ["Form", "Weights", "uniform"]
