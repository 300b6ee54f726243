"""What is written into a record: figures by name, as JSON or as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gapgram.applications.filtering.documents import ScoreArrays
from gapgram.arrays import Floats

MEASURE, DIFFERENCE = "perplexity", "difference"


@dataclass(frozen=True)
class FigureNames:
    """The names of the figures of a record.

    others: names of further models, whose perplexity is written too. against: whether there is a bad model.
    prefix: what all names begin with, where records have fields of such names already.
    """

    others: tuple[str, ...] = ()
    against: bool = False
    buckets: bool = False
    prefix: str = ""

    @cached_property
    def set(self) -> frozenset[str]:
        """The names, to be looked up."""
        return frozenset(self.all)

    @cached_property
    def all(self) -> list[str]:
        """The names in their order."""
        own = [MEASURE, "words", "unknown_share", *(f"{MEASURE}_{name}" for name in self.others)]
        own += [DIFFERENCE] if self.against else []
        own += ["bucket"] if self.buckets else []
        return [f"{self.prefix}{name}" for name in own]


@dataclass(frozen=True)
class Judged:
    """ScoreArrays of some records under all models, and what they are judged by.

    measure: perplexity, or the difference to the bad model. bucket: the number of each record's output.
    """

    scores: ScoreArrays
    others: tuple[ScoreArrays, ...]
    against: ScoreArrays | None

    @property
    def difference(self) -> Floats | None:
        """log10 of the perplexity minus that under the bad model."""
        if self.against is None:
            return None
        out: Floats = self.scores.log10_perplexity - self.against.log10_perplexity
        return out

    @property
    def measure(self) -> Floats:
        """What records are chosen by; less is better."""
        difference = self.difference
        return self.scores.perplexity if difference is None else difference

    def columns(self, buckets: Sequence[str] | None) -> list[list[float | int | str | None]]:
        """The figures of all records, a list for each name of `FigureNames.all`."""
        out: list[list[float | int | str | None]] = [
            _rounded(self.scores.perplexity),
            self.scores.words.tolist(),
            _rounded(self.scores.unknown_share),
            *(_rounded(one.perplexity) for one in self.others),
        ]
        if self.difference is not None:
            out.append(_rounded(self.difference))
        if buckets is not None:
            out.append(list(buckets))
        return out


def _rounded(values: Floats) -> list[float | int | str | None]:
    """Six digits; what JSON has no number for is None."""
    return [float(f"{v:.6g}") if good else None for v, good in zip(values.tolist(), np.isfinite(values), strict=True)]
