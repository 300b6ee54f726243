"""Alpha and beta with the fewest word errors on logits whose texts are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gapgram.applications.rescoring.rescorer import word_errors
from gapgram.arrays import Floats
from gapgram.ctc.decoder import Decoder
from gapgram.errors import UsageError
from gapgram.system.progress import NO_BAR, progress_bar

ALPHAS, BETAS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.3), (-1.0, 0.0, 1.0, 2.0, 3.0)


class TunedWeights(NamedTuple):
    """The best weights of a grid, and the rate of word errors of each: rates[i, j] with alphas[i] and betas[j]."""

    alpha: float
    beta: float
    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    rates: Floats


def tune_weights(
    decoder: Decoder,
    logits: Sequence[Any],
    references: Sequence[str],
    *,
    alphas: Sequence[float] = ALPHAS,
    betas: Sequence[float] = BETAS,
    threads: int | None = None,
    progress: bool = False,
) -> TunedWeights:
    """The alpha and beta of a grid with which a decoder makes the fewest word errors."""
    if len(logits) != len(references):
        raise UsageError(f"{len(logits)} utterances and {len(references)} references: expected a text for each")
    right = [text.split() for text in references]
    n_words = sum(map(len, right))
    if not n_words:
        raise UsageError("references without a word: there is nothing to tune on")
    rates = np.empty((len(alphas), len(betas)))
    total = rates.size
    with progress_bar("tuning", total=total, progress=True) if progress else NO_BAR as advance:
        for i, alpha in enumerate(alphas):
            for j, beta in enumerate(betas):
                found = decoder.decode_many(list(logits), alpha=alpha, beta=beta, threads=threads)
                wrong = sum(word_errors(text.split(), words) for text, words in zip(found, right, strict=True))
                rates[i, j] = wrong / n_words
                advance(1)
    row, column = divmod(int(rates.argmin()), len(betas))
    return TunedWeights(alphas[row], betas[column], tuple(alphas), tuple(betas), rates)
