"""A backoff model from a model of any kind that is one."""

from __future__ import annotations

from gapgram.errors import UsageError
from gapgram.models import arpa
from gapgram.models.backoff import BackoffModel
from gapgram.models.kenlm_binary import KenlmModel
from gapgram.models.kenlm_binary.conversion import as_backoff
from gapgram.models.mixture import Mixture
from gapgram.models.model import Model


def to_backoff(
    model: Model | BackoffModel | KenlmModel | Mixture, *, threads: int | None = None, progress: bool = False
) -> BackoffModel:
    """The backoff model with the same probabilities, of a modified Kneser-Ney model, an ARPA file or KenLM's own."""
    if isinstance(model, Mixture):
        raise UsageError(f"{model.path}: a mixture is no backoff model; use it as it is, through gapgram.kenlm")
    if isinstance(model, KenlmModel):
        return as_backoff(model, threads=threads, progress=progress)
    return arpa.as_backoff(model) if isinstance(model, Model) else model
