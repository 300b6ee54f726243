"""What a run has done, to be printed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gapgram.applications.filtering.tally import BIN, FilterTally, bin_begin

_WIDTH = 40  # characters of the longest bar


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
        """A bar a bin from the first to the last that has records: # for those kept, . for the others."""
        histogram = self.tally.histogram
        used = [b for b, n in enumerate(histogram) if n]
        if not used:
            return []
        most, lines = max(histogram), [f"{self.measure}, # kept, . not:"]
        for b in range(used[0], used[-1] + 1):
            begin = bin_begin(b)
            shown = f"{begin:+.1f} to {begin + BIN:+.1f}" if self.measure == "difference" else _range(begin)
            kept = round(_WIDTH * self.tally.histogram_kept[b] / most)
            rest = max(round(_WIDTH * histogram[b] / most) - kept, 0)
            lines.append(f"{shown:>18} {histogram[b]:>9,} {'#' * kept}{'.' * rest}")
        return lines


def _range(log10: float) -> str:
    """The perplexities of a bin.

    >>> _range(0.3), _range(2.0)
    ('2.0 to 2.5', '100 to 126')
    """
    return " to ".join(f"{10**x:,.1f}" if x < 0.95 else f"{10**x:,.0f}" for x in (log10, log10 + BIN))
