"""ARPA files: any toolkit's read into a backoff model; modified Kneser-Ney models written exactly, others nearly.

    reading         ARPA files of any toolkit
    writing         a modified Kneser-Ney model, exactly
    approximation   a backoff model that is near to a model with gaps
    tree            the contiguous grams of a model as the tree that backoff models are
"""

from gapgram.models.arpa.approximation import approximate
from gapgram.models.arpa.reading import read_arpa
from gapgram.models.arpa.writing import as_backoff, write_arpa

__all__ = ["approximate", "as_backoff", "read_arpa", "write_arpa"]
