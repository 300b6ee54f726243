"""Errors of words: substitutions, insertions and deletions against a reference; and how sure a rate is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Floats, Integers

_DRAWS = 1000
_SEED = 1


def word_errors(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """The fewest words put in, left out or replaced that make one text of the other.

    >>> word_errors("the cat sat".split(), "a cat sat down".split())
    2
    """
    row = list(range(len(reference) + 1))
    for i, word in enumerate(hypothesis, 1):
        above, row = row, [i]
        for j, right in enumerate(reference, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (word != right)))
    return row[-1]


class ErrorRate(NamedTuple):
    """A word error rate with the bounds of 95 % of rates of texts drawn from this one, whole inputs at a time."""

    rate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.rate:.2f} % ({100 * self.low:.2f} to {100 * self.high:.2f})"


def error_rate(errors: Integers, lengths: Integers) -> ErrorRate:
    """The rate of some inputs with so many errors and words of reference each."""
    rates = _drawn(errors, lengths)
    low, high = np.quantile(rates, [0.025, 0.975]).tolist()
    return ErrorRate(float(errors.sum() / max(lengths.sum(), 1)), low, high)


def chance_of_gain(before: Integers, after: Integers, lengths: Integers) -> float:
    """The share of texts drawn from this one of which the rate after is lower than that before."""
    return float((_drawn(after, lengths) < _drawn(before, lengths)).mean())


def _drawn(errors: Integers, lengths: Integers) -> Floats:
    """Rates of texts of as many inputs, drawn with replacement; the same draws every time."""
    picks = np.random.default_rng(_SEED).integers(0, errors.size, (_DRAWS, errors.size))
    rates: Floats = errors[picks].sum(axis=1) / np.maximum(lengths[picks].sum(axis=1), 1)
    return rates
