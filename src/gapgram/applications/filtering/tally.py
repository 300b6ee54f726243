"""What was read and kept so far, with a histogram."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gapgram.arrays import Floats, Integers

BIN = 0.1  # of log10 of the perplexity, or of the difference
_FIRST, _BINS = -40, 140  # bins from 10**-4 to 10**10; what lies outside is in the first and the last


def bin_begin(number: int) -> float:
    """Where a bin begins, as log10."""
    return (number + _FIRST) * BIN


@dataclass
class FilterTally:
    """Counts of records; `kept` by output, the histograms by bin of log10 of the measure."""

    kept: list[int]
    records: int = 0
    broken: int = 0
    without_words: int = 0
    words: int = 0
    unknown_words: int = 0
    histogram: list[int] = field(default_factory=lambda: [0] * _BINS)
    histogram_kept: list[int] = field(default_factory=lambda: [0] * _BINS)

    def add(self, other: FilterTally) -> None:
        """Count what another tally has counted."""
        for name, value in asdict(other).items():
            mine = getattr(self, name)
            if isinstance(mine, list):
                setattr(self, name, [a + b for a, b in zip(mine, value, strict=True)])
            else:
                setattr(self, name, mine + value)

    def count(self, words: Integers, unknown: Integers, log10_measure: Floats, kept: Any) -> None:
        """Count records that were scored; `kept` says which of them stay."""
        known = np.isfinite(log10_measure)
        bins = np.clip(np.floor(log10_measure[known] / BIN).astype(np.int64) - _FIRST, 0, _BINS - 1)
        self.without_words += int((words == 0).sum())
        self.words += int(words.sum())
        self.unknown_words += int(unknown.sum())
        self.histogram = (np.array(self.histogram) + np.bincount(bins, minlength=_BINS)).tolist()
        stay = np.bincount(bins[np.asarray(kept)[known]], minlength=_BINS)
        self.histogram_kept = (np.array(self.histogram_kept) + stay).tolist()
