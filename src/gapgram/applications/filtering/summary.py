"""What a run has done, to be printed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gapgram.arrays import Floats, Integers

_WIDTH = 40  # characters of the longest bar
_BARS = 14


@dataclass(frozen=True)
class FilterSummary:
    """What was read and kept, by what limits, with which models.

    kept: records by output. percentiles: those that were found, by share. measure: what records were chosen by.
    """

    tally: FilterTally
    kept: dict[str, int]
    percentiles: dict[float, float]
    choice: dict[str, Any]
    measure: str
    signatures: tuple[str, ...]
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        figures = {**asdict(self), **asdict(self.tally), "kept": self.kept}
        del figures["tally"], figures["histogram_kept"]
        figures["percentiles"] = {str(share): value for share, value in self.percentiles.items()}
        bins = range(len(self.tally.histogram))
        figures["histogram"] = [
            {"log10": round(bin_begin(b), 1), "records": self.tally.histogram[b], "kept": self.tally.histogram_kept[b]}
            for b in bins
            if self.tally.histogram[b]
        ]
        return figures

    def __str__(self) -> str:
        """Lines for people, with the histogram."""
        tally = self.tally
        share = 100 * tally.unknown_words / max(tally.words, 1)
        lines = [
            f"{tally.records:,} records, {tally.words:,} words, {share:.2f} % of them unknown"
            + (f"; {tally.broken:,} broken records left out" if tally.broken else "")
            + (f"; {tally.without_words:,} without words" if tally.without_words else ""),
            *(f"{name}: {n:,} records, {100 * n / max(tally.records, 1):.1f} %" for name, n in self.kept.items()),
            *(f"percentile {share}: {self.measure} {value:.6g}" for share, value in self.percentiles.items()),
            *self._histogram(),
        ]
        return "\n".join(lines)

    def _histogram(self) -> list[str]:
        """Bars, no more than fit a screen, from the first bin that has records on: # for those kept, . for others."""
        histogram = self.tally.histogram
        used = [b for b, n in enumerate(histogram) if n]
        if not used:
            return []
        step = -(-(used[-1] + 1 - used[0]) // _BARS)  # bins of a bar
        bars = [range(b, min(b + step, _BINS)) for b in range(used[0], used[-1] + 1, step)]
        sums = [(sum(histogram[b] for b in bar), sum(self.tally.histogram_kept[b] for b in bar)) for bar in bars]
        most, lines = max(total for total, _ in sums), [f"{self.measure}, # kept, . not:"]
        for bar, (total, stay) in zip(bars, sums, strict=True):
            begin, end = bin_begin(bar[0]), bin_begin(bar[-1] + 1)
            shown = f"{begin:+.1f} to {end:+.1f}" if self.measure == "difference" else _range(begin, end)
            kept = round(_WIDTH * stay / most)
            rest = max(round(_WIDTH * total / most) - kept, 0)
            lines.append(f"{shown:>18} {total:>9,} {'#' * kept}{'.' * rest}")
        return lines


def _range(begin: float, end: float) -> str:
    """The perplexities between two exponents.

    >>> _range(0.3, 0.4), _range(2.0, 2.1)
    ('2.0 to 2.5', '100 to 126')
    """
    return " to ".join(f"{10**x:,.1f}" if x < 0.95 else f"{10**x:,.0f}" for x in (begin, end))


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
