"""Discounts of modified Kneser-Ney smoothing (Chen and Goodman, 1999): docs/ideas/mathematics.md, equation (7)."""

from __future__ import annotations

FALLBACK = (0.5, 1.0, 1.5)


def discounts(n1: int, n2: int, n3: int, n4: int) -> tuple[float, float, float]:
    """D1, D2, D3+ from counts of counts; the fallback where they are undefined or out of range.

    >>> [round(d, 4) for d in discounts(16662, 3272, 1395, 859)]
    [0.718, 1.0816, 1.2315]
    >>> discounts(3, 0, 0, 0)
    (0.5, 1.0, 1.5)
    """
    if 0 in (n1, n2, n3):
        return FALLBACK
    y = n1 / (n1 + 2 * n2)
    d = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    return d if all(0 <= dk <= k for k, dk in enumerate(d, 1)) else FALLBACK
