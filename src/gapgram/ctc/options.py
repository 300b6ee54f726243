"""How a decoder scores and prunes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from gapgram.arguments import checked_number, checked_whole
from gapgram.errors import UsageError


@dataclass(frozen=True)
class DecoderOptions:
    """How a decoder scores and prunes; all logarithms but `unknown` are natural, as recognisers have them.

    alpha       the weight of the model
    beta        what each word adds
    unknown     log10 that a word which the model does not know adds; None: only known words, and hot ones, are allowed
    boundary    texts begin after `<s>`, and `</s>` is predicted
    beam_width  hypotheses that are kept after each frame
    beam_prune  how far below the best one they may be
    token_prune labels below this are left out, but for the best of a frame
    hot_weight  of hot words without a weight of their own
    ahead       words that are not finished have the score of the most probable word that goes on from them; None:
                where `unknown` is None when the decoder is made
    empty_word  a text that ends in a delimiter is scored with one more word, an unknown one, as pyctcdecode does
    """

    alpha: float = 0.5
    beta: float = 1.5
    unknown: float | None = -10.0
    boundary: bool = True
    beam_width: int = 100
    beam_prune: float = -10.0
    token_prune: float = -5.0
    hot_weight: float = 10.0
    ahead: bool | None = None
    empty_word: bool = False

    def __post_init__(self) -> None:
        names = ["alpha", "beta", "beam_prune", "token_prune", "hot_weight", *["unknown"] * (self.unknown is not None)]
        for name in names:
            if np.isnan(checked_number(name, getattr(self, name))):
                raise UsageError(f"{name}: expected a number, found nan")
        if not 0 <= self.alpha < np.inf:
            raise UsageError(f"alpha {self.alpha}: expected the weight of the model, 0 or more")
        for name in ("beta", "hot_weight"):
            if not np.isfinite(getattr(self, name)):
                raise UsageError(f"{name} {getattr(self, name)}: expected a finite number")
        if self.unknown is not None and not -np.inf < self.unknown <= 0:
            raise UsageError(f"unknown {self.unknown}: expected log10 that an unknown word adds, 0 or less, or None")
        for name in ("beam_prune", "token_prune"):
            if getattr(self, name) > 0:
                raise UsageError(f"{name} {getattr(self, name)}: expected a logarithm, 0 or less")
        if checked_whole("beam_width", self.beam_width) < 1:
            raise UsageError(f"beam_width {self.beam_width}: expected 1 or more")

    def changed(self, changes: dict[str, Any]) -> DecoderOptions:
        """These options with some of them changed."""
        names = [field.name for field in fields(self)]
        for name in changes:
            if name not in names:
                nearest = get_close_matches(name, names, n=1)
                meant = f"; did you mean {nearest[0]}?" if nearest else f"; there are {', '.join(names)}"
                raise UsageError(f"{name}: no option of a decoder{meant}")
        return replace(self, **changes) if changes else self
