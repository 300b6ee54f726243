"""Where a probability comes from: the lattice with the numbers of one prediction.

The shares say how much of the prediction each pattern decides; a pattern's share times its discounted
relative frequency is what it contributes, and the contributions add up to the probability.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gapgram.errors import UsageError
from gapgram.kernels import lookup
from gapgram.model import Model, Sentence
from gapgram.pattern import Pattern
from gapgram.vocabulary import START


@dataclass(frozen=True)
class PatternShare:
    """What one pattern says about a word: all of its numbers for this context."""

    pattern: str
    context: str
    total: int
    count: int
    discounted: float
    backoff: float
    share: float
    contribution: float


@dataclass(frozen=True)
class Explanation:
    """The probability of a word after a context, taken apart."""

    word: str
    context: tuple[str, ...]
    probability: float
    patterns: tuple[PatternShare, ...]
    uniform_share: float
    uniform_contribution: float
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        return asdict(self)


def explain(model: Model, word: str, context: Sentence = ()) -> Explanation:
    """Take P(word | context) apart."""
    if word == START:
        raise UsageError(f"the word {START} starts a sentence and is never predicted")
    ids = np.append(model.context_ids(context), np.int32(model.vocabulary.id(word)))
    column = ids.size - 1
    _, counts, rows, shares, rest = lookup.locate_one(ids, model.order, model.arrays)
    patterns = tuple(
        _pattern_share(model, i, pattern, ids, int(counts[i, column]), int(rows[i, column]), float(shares[i]))
        for i, pattern in enumerate(model.counts.patterns)
        if pattern.reach <= column
    )
    uniform = float(rest) * model.uniform
    return Explanation(
        word=word,
        context=tuple(model.vocabulary[int(i)] for i in ids[:-1]),
        probability=sum(p.contribution for p in patterns) + uniform,
        patterns=patterns,
        uniform_share=float(rest),
        uniform_contribution=uniform,
        signature=str(model.signature),
    )


def _pattern_share(
    model: Model, i: int, pattern: Pattern, ids: Any, count: int, row: int, share: float
) -> PatternShare:
    total = int(model.counts.tables.rows[row, 0])
    left = max(count - float(model.parts.derived["discounts"][i, min(count, 3)]), 0.0)
    discounted = left * float(model.parts.derived["row_values"][row, lookup.SCALE])
    places = range(pattern.reach, 0, -1)
    words = [model.vocabulary[int(ids[-1 - k])] if k in pattern else "_" for k in places]
    backoff = float(model.parts.derived["row_values"][row, lookup.BACKOFF])
    return PatternShare(
        str(pattern), " ".join(words), total, count, discounted, backoff, share, share * discounted
    )
