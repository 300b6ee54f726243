"""ARPA files: any toolkit's read into a backoff model; modified Kneser-Ney models written exactly, others nearly.

    reading         ARPA files of any toolkit
    writing         a modified Kneser-Ney model, exactly
    approximation   a backoff model that is near to a model with gaps
    growing         a backoff model that is nearer, of other grams
    nemo            words as NeMo's decoders expect them

Names are loaded when they are first used: reading a file needs nothing of writing one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapgram.models.arpa.approximation import approximate
    from gapgram.models.arpa.growing.files import grow_arpa, grow_arpas
    from gapgram.models.arpa.growing.grow import grow
    from gapgram.models.arpa.nemo import nemo_labels, nemo_words
    from gapgram.models.arpa.reading import read_arpa
    from gapgram.models.arpa.writing import as_backoff, write_arpa

_HOMES = {
    "approximate": "approximation",
    "as_backoff": "writing",
    "grow": "growing.grow",
    "grow_arpa": "growing.files",
    "grow_arpas": "growing.files",
    "nemo_labels": "nemo",
    "nemo_words": "nemo",
    "read_arpa": "reading",
    "write_arpa": "writing",
}

__all__ = [
    "approximate", "as_backoff", "grow", "grow_arpa", "grow_arpas", "nemo_labels", "nemo_words", "read_arpa",
    "write_arpa",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
