"""ARPA files: any toolkit's read into a backoff model; modified Kneser-Ney models written exactly, others nearly.

    reading         ARPA files of any toolkit
    writing         a modified Kneser-Ney model, exactly
    approximation   a backoff model that is near to a model with gaps
    growing         a backoff model that is nearer, of other grams
"""

from __future__ import annotations

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    if name != "grow_arpas":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gapgram.models.arpa.growing.files import grow_arpas

    warnings.warn(f"{__name__}.{name} is {grow_arpas.__module__}.{name}", DeprecationWarning, stacklevel=2)
    return grow_arpas
