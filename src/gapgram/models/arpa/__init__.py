"""ARPA files: any toolkit's read into a backoff model; modified Kneser-Ney models written exactly, others nearly."""

from gapgram.models.arpa.approximation import approximate
from gapgram.models.arpa.reading import read_arpa
from gapgram.models.arpa.writing import as_backoff, write_arpa

__all__ = ["approximate", "as_backoff", "read_arpa", "write_arpa"]
