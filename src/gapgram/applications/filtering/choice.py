"""Which records are kept, and into which bucket they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from gapgram.applications.filtering.documents import ScoreArrays
from gapgram.arrays import Floats, Integers, Mask
from gapgram.errors import UsageError

BUCKETS = ("head", "middle", "tail")

Columns = list[list[float | int | str | None]]  # figures of records, a list for each name


@dataclass(frozen=True)
class Choice:
    """What a record must be to be kept; None asks nothing.

    The measure is the perplexity, or, against another model, log10 of the perplexity minus that under the other.
    keep_below, keep_above: percentiles of the measure, as shares, found on a sample or on other text.
    buckets: split what is kept at these shares into head, middle and tail, as cc_net does with 0.3 and 0.6.
    """

    max_perplexity: float | None = None
    min_perplexity: float | None = None
    max_difference: float | None = None
    min_words: int | None = None
    max_words: int | None = None
    max_unknown: float | None = None
    keep_below: float | None = None
    keep_above: float | None = None
    buckets: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("keep_below", "keep_above", "max_unknown"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise UsageError(f"{name.replace('_', '-')} {value}: expected a share from 0 to 1")
        cuts = self.buckets
        if cuts is not None and not 0 < cuts[0] < cuts[1] < 1:
            raise UsageError(
                f"buckets {cuts[0]},{cuts[1]}: expected two rising shares between 0 and 1, such as 0.3,0.6"
            )

    @property
    def chooses(self) -> bool:
        """Whether anything is asked."""
        return any(getattr(self, field.name) is not None for field in fields(self))

    @property
    def shares(self) -> tuple[float, ...]:
        """The percentiles that must be found first, rising."""
        asked = [self.keep_below, self.keep_above, *(self.buckets or ())]
        return tuple(sorted({share for share in asked if share is not None}))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return BUCKETS if self.buckets is not None else ("kept",)

    def as_dict(self) -> dict[str, Any]:
        """What is asked, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def kept(self, scores: ScoreArrays, measure: Floats, percentiles: dict[float, float]) -> Mask:
        """Of each record whether it is kept. One without words has no perplexity and meets no limit of that."""
        good = np.ones(measure.size, bool)
        bounds = [
            (scores.words, self.min_words, self.max_words),
            (scores.unknown_share, None, self.max_unknown),
            (scores.perplexity, self.min_perplexity, self.max_perplexity),
            (measure, None, self.max_difference),
            (measure, percentiles.get(_given(self.keep_above)), percentiles.get(_given(self.keep_below))),
        ]
        for values, least, most in bounds:
            if least is not None:
                good &= values >= least
            if most is not None:
                good &= values <= most
        return good

    def bucket_of(self, measure: Floats, percentiles: dict[float, float]) -> Integers:
        """The number of the bucket of each record; those without words are in the last."""
        if self.buckets is None:
            return np.zeros(measure.size, np.int64)
        cuts = [percentiles[share] for share in self.buckets]
        buckets: Integers = np.searchsorted(cuts, measure, side="left").astype(np.int64)
        return buckets


def _given(share: float | None) -> float:
    return -1.0 if share is None else share


MEASURE, DIFFERENCE = "perplexity", "difference"


def figure_names(others: Sequence[str], *, against: bool, buckets: bool, prefix: str) -> list[str]:
    """The names of the figures of a record, in their order, each after a prefix.

    others: names of further models, whose perplexity is written too. against: whether there is a bad model.
    """
    own = [MEASURE, "words", "unknown_share", *(f"{MEASURE}_{name}" for name in others)]
    own += [DIFFERENCE] if against else []
    own += ["bucket"] if buckets else []
    return [f"{prefix}{name}" for name in own]


@dataclass(frozen=True)
class Judged:
    """The scores of some records under all models, and what they are judged by.

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

    def columns(self, buckets: Sequence[str] | None) -> Columns:
        """The figures of all records, a list for each of their names."""
        out: Columns = [
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
