"""What learned weights look at, and what is fitted: docs/ideas/mathematics.md, equations (17), (19) and (20).

How well a context is known is told by its bucket:

    >>> context_bucket(0, (0, 0, 0))                            # never seen
    0
    >>> context_bucket(1, (1, 0, 0)), context_bucket(4, (4, 0, 0)), context_bucket(4, (0, 0, 1))
    (3, 12, 10)

and a word by its rank:

    >>> word_bucket(17), word_bucket(256), word_bucket(40_000)
    (17, 265, 272)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gapgram.pattern import Pattern

LEVELS = 21  # of totals: 1, 2, 3, 4, 7, 11, 16, … each about 1.6 times the one before
VARIED, SOMEWHAT_VARIED = 0.75, 0.35  # different words that follow a context, a count of its total
FREQUENT_WORDS = 256  # words that are told apart


@dataclass(frozen=True)
class ContextKnown:
    """How well the context of a pattern is known."""

    pattern: Pattern
    bucket: int


@dataclass(frozen=True)
class WordsAvailable:
    """How many words stand before the prediction."""

    words: int


@dataclass(frozen=True)
class WordAt:
    """The word at an offset."""

    offset: int
    bucket: int


Feature = ContextKnown | WordsAvailable | WordAt


@dataclass(frozen=True)
class Fitted:
    """The parameters that are fitted.

    discounts: D1, D2, D3+ of each pattern.
    shifts: what is added to the log-odds of falling back, for each pattern and bucket of its context.
    gate: what each feature of a position adds to the logit of each pattern.
    """

    discounts: Mapping[Pattern, tuple[float, float, float]]
    shifts: Mapping[ContextKnown, float]
    gate: Mapping[Feature, Mapping[Pattern, float]]


def context_bucket(total: int, types: tuple[int, int, int]) -> int:
    """The bucket of a context by its total and by how varied it is; 0 for one never seen. Equation (19)."""
    if total == 0:
        return 0
    level = ((total**3).bit_length() - 1) // 2  # 1.5 log2(total), rounded down
    different = sum(types) / total
    spread = 2 if different > VARIED else 1 if different > SOMEWHAT_VARIED else 0
    return 1 + 3 * min(level, LEVELS - 1) + spread


def word_bucket(rank: int) -> int:
    """The bucket of a word: its own if it is frequent, else that of its order of magnitude. Equation (20)."""
    return rank if rank < FREQUENT_WORDS else FREQUENT_WORDS + rank.bit_length()
