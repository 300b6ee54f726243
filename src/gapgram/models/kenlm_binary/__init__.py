"""Binary files of KenLM, mapped and scored as KenLM scores them.

    header       how a file is known, and what its first bytes say
    words        its words, by their hashes or listed
    model        the model
    conversion   all of its grams, as a backoff model

Names are loaded when they are first used: a file is known by its first bytes before anything else is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapgram.models.kenlm_binary.header import MAGIC
    from gapgram.models.kenlm_binary.model import KenlmModel, read_kenlm_binary

_HOMES = {"MAGIC": "header", "KenlmModel": "model", "read_kenlm_binary": "model"}

__all__ = ["MAGIC", "KenlmModel", "read_kenlm_binary"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
