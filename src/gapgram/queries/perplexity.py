"""Perplexity of a text: a figure that carries what it was computed from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gapgram.arrays import Begins, Floats, Mask
from gapgram.kernels.scoring import sum_sequences
from gapgram.queries.shown import html_facts


@dataclass(frozen=True, repr=False)
class Perplexity:
    """How surprised a model is by a text.

    `words` counts the words of the text; every sentence is one prediction more, its `</s>`. So
    `perplexity` is 10 to the power of -log10_prob / (words + sentences). `perplexity_known` leaves out
    the predictions of words that the model does not know.

    >>> Perplexity(words=3, unknown_words=0, sentences=1, log10_prob=-8.0, log10_prob_known=-8.0,
    ...            signature="").perplexity
    100.0
    """

    words: int
    unknown_words: int
    sentences: int
    log10_prob: float
    log10_prob_known: float
    signature: str
    empty_lines: int = 0

    @property
    def predictions(self) -> int:
        """Words and ends of sentences."""
        return self.words + self.sentences

    @property
    def perplexity(self) -> float:
        """With unknown words."""
        return perplexity_of(self.log10_prob, self.predictions)

    @property
    def perplexity_known(self) -> float:
        """Without unknown words."""
        return perplexity_of(self.log10_prob_known, self.predictions - self.unknown_words)

    def __repr__(self) -> str:
        return (
            f"<Perplexity {self.perplexity:,.2f}; {self.perplexity_known:,.2f} without unknown words; {self.words:,} "
            f"words, {self.unknown_words:,} unknown, in {self.sentences:,} sentences>"
        )

    def _repr_html_(self) -> str:
        facts = {
            "perplexity": f"{self.perplexity:,.2f}",
            "without unknown words": f"{self.perplexity_known:,.2f}",
            "words": f"{self.words:,}",
            "unknown words": f"{self.unknown_words:,}",
            "sentences": f"{self.sentences:,}",
            "signature": self.signature,
        }
        return html_facts("Perplexity", facts)

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        own = {"perplexity": self.perplexity, "perplexity_known": self.perplexity_known}
        return {**own, **asdict(self), "predictions": self.predictions}


def perplexity_of_pieces(pieces: Iterable[tuple[Floats, Begins, Mask]], signature: object) -> Perplexity:
    """The perplexity of a text whose lines were scored in pieces.

    pieces: the score of every position, where lines begin, and which words the model does not know.
    """
    n_words = n_unknown = n_lines = 0
    sums: list[float] = []
    known_sums: list[float] = []
    for scores, begins, unknown in pieces:
        has_words = np.diff(begins) > 2
        n_lines += has_words.size
        n_words += scores.size - 2 * has_words.size
        n_unknown += int(unknown.sum())
        sums += sum_sequences(scores, begins)[has_words].tolist()
        known_sums += sum_sequences(np.where(unknown, 0.0, scores), begins)[has_words].tolist()
    # Each sum is rounded once, so that it does not depend on how the text was cut into pieces.
    return Perplexity(
        n_words, n_unknown, len(sums), math.fsum(sums), math.fsum(known_sums), str(signature), n_lines - len(sums)
    )


def perplexity_of(log10_prob: float, predictions: int) -> float:
    """10 to the power of -log10_prob / predictions; infinite where no float is as large, not a number for none.

    >>> perplexity_of(-8.0, 4), perplexity_of(-1000.0, 2), perplexity_of(0.0, 0)
    (100.0, inf, nan)
    """
    if not predictions:
        return math.nan
    try:
        return float(10.0 ** (-log10_prob / predictions))
    except OverflowError:
        return math.inf
