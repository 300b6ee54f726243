"""Discounts of every pattern, from its own counts of counts: equations (6) and (7) of docs/ideas/mathematics.md.

    Y = n1 / (n1 + 2 n2),  D1 = 1 - 2Y n2/n1,  D2 = 2 - 3Y n3/n2,  D3+ = 3 - 4Y n4/n3
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from gapgram.arrays import Floats
from gapgram.counts.counts import Counts
from gapgram.errors import DiscountWarning
from gapgram.pattern import Pattern
from gapgram.system.parallel import parallel_map

FALLBACK = (0.5, 1.0, 1.5)


@dataclass(frozen=True)
class Discounts:
    """D1, D2, D3+ of each stored pattern, in their order; the patterns that fell back; whether they were
    fitted together with weights, and then `estimated`, what they were when taken from counts of counts;
    whether these are counted `as_lmplz` does."""

    values: Floats
    fallbacks: tuple[Pattern, ...] = ()
    fitted: bool = False
    estimated: Floats | None = None
    as_lmplz: bool = False

    @property
    def usual(self) -> Discounts:
        """Those taken from counts of counts."""
        return self if self.estimated is None else Discounts(self.estimated, self.fallbacks)

    def __str__(self) -> str:
        if self.fitted:
            return "fitted"
        return "fallback" if self.fallbacks else "lmplz" if self.as_lmplz else "modified"


def estimate_discounts(counts: Counts, *, threads: int = 1, warned: bool = True) -> Discounts:
    """Discounts from counts of counts; if `warned`, with one warning where the fallback is used."""
    values, problems = [], {}
    for pattern, n in zip(
        counts.lattice.stored, parallel_map(counts.counts_of_counts, counts.lattice.stored, threads), strict=True
    ):
        top = pattern == Pattern.contiguous(counts.lattice.order - 1)
        discounts, problem = discounts_of(n, "count" if top else "continuation count")
        values.append(discounts)
        if problem and not pattern.classes:  # classes are few and frequent: nothing is wrong with the text
            problems[pattern] = f"{problem} ({', '.join(f'n{k}={v}' for k, v in enumerate(n, 1))})"
    if problems and warned:
        warnings.warn(_fell_back(problems), DiscountWarning, stacklevel=2)
    return Discounts(np.array(values), tuple(problems))


def discounts_of(n: tuple[int, ...], kind: str = "count") -> tuple[tuple[float, float, float], str]:
    """(D1, D2, D3+) from n1 … n4, and what made the fallback necessary, if anything did.

    >>> discounts_of((14, 0, 0, 0))
    ((0.5, 1.0, 1.5), 'no gram has count 2')

    A discount of zero takes nothing, and what was not seen would have a probability of zero.

    >>> discounts_of((4, 1, 1, 0))
    ((0.5, 1.0, 1.5), 'D2 would be 0.000')
    """
    for k in (1, 2, 3):
        if n[k - 1] == 0:
            return FALLBACK, f"no gram has {kind} {k}"
    y = n[0] / (n[0] + 2 * n[1])
    discounts = tuple(k - (k + 1) * y * n[k] / n[k - 1] for k in (1, 2, 3))
    for k, discount in enumerate(discounts, 1):
        if not 0 < discount <= k or k * (n[0] + 2 * n[1]) * n[k - 1] <= (k + 1) * n[0] * n[k]:  # zero, but for rounding
            return FALLBACK, f"D{k}{'+' * (k == 3)} would be {discount:.3f}"
    return (discounts[0], discounts[1], discounts[2]), ""


def _fell_back(problems: dict[Pattern, str]) -> str:
    (pattern, problem), *others = problems.items()
    also = f", also for pattern{'s' * (len(others) > 1)} {' '.join(str(p) for p, _ in others)}" if others else ""
    return (
        f"discounts for pattern {pattern} ({pattern.describe()}): {problem}. The text is too small or repeats its "
        f"lines; fallback discounts {', '.join(map(str, FALLBACK))} are used{also}."
    )
