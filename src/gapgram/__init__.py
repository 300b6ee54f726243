"""n-gram language models that may skip words.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat"] * 9, order=3, model="mkn")
    >>> model.log10_prob("sat", ["the", "cat"]) > model.log10_prob("the", ["the", "cat"])
    True

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapgram.counts.counts import Counts
    from gapgram.errors import GapgramError
    from gapgram.lattice import Lattice
    from gapgram.models.model import Model
    from gapgram.models.open import load
    from gapgram.pattern import Pattern
    from gapgram.queries.perplexity import Perplexity
    from gapgram.signature import __version__
    from gapgram.text.corpus import Corpus, TextRules
    from gapgram.text.vocabulary import Vocabulary
    from gapgram.training.train import train

_HOMES = {
    "Corpus": "text.corpus",
    "Counts": "counts.counts",
    "GapgramError": "errors",
    "Lattice": "lattice",
    "Model": "models.model",
    "Pattern": "pattern",
    "Perplexity": "queries.perplexity",
    "TextRules": "text.corpus",
    "Vocabulary": "text.vocabulary",
    "__version__": "signature",
    "load": "models.open",
    "train": "training.train",
}

__all__ = [
    "Corpus", "Counts", "GapgramError", "Lattice", "Model", "Pattern", "Perplexity", "TextRules", "Vocabulary",
    "__version__", "load", "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"gapgram.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'gapgram' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
