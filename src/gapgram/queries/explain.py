"""Where a probability comes from: the lattice with the numbers of one prediction.

The shares say how much of the prediction each pattern decides; a pattern's share times its discounted
relative frequency is what it contributes, and the contributions add up to the probability.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from gapgram.counts.counts import Counts, class_text
from gapgram.estimation.parts import ModelParts
from gapgram.kernels.model_arrays import BACKOFF, SCALE
from gapgram.kernels.shares import given_class, shares_of_last
from gapgram.pattern import Pattern
from gapgram.queries.predict import Source as PredictionSource


class Source(PredictionSource, Protocol):
    """What is needed of a model."""

    def _word_id(self, word: str) -> int: ...
    @property
    def uniform(self) -> float: ...
    @property
    def counts(self) -> Counts: ...
    @property
    def parts(self) -> ModelParts: ...
    @property
    def signature(self) -> object: ...


@dataclass(frozen=True)
class PatternShare:
    """What one pattern says about a word: all of its numbers for this context.

    total: how much was counted after the context; count: how much of it is the word.
    discounted: the relative frequency of the word once the discount is taken off; backoff: g, the part of
        the pattern's share that goes on to the patterns below it.
    share: the weight the pattern received, from being started from and from the patterns above it.
    given_class: of a pattern of classes, which predicts the word's class, the probability of the word given it; else 1.
    contribution: share times discounted times given_class. below: the patterns that skip more words, as the lattice
        has them.
    """

    pattern: str
    context: str
    total: int
    count: int
    discounted: float
    backoff: float
    share: float
    given_class: float
    contribution: float
    below: tuple[str, ...]

    @property
    def classes(self) -> bool:
        """Whether it is a pattern of classes."""
        return Pattern.parse(self.pattern).classes


@dataclass(frozen=True)
class Explanation:
    """The probability of a word after a context, taken apart.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> whole = explain(model, "sat", "the cat")
    >>> [(p.context, p.count, p.total) for p in whole.patterns]
    [('', 2, 10), ('cat', 1, 2), ('the cat', 9, 9)]
    >>> abs(sum(p.contribution for p in whole.patterns) + whole.uniform_contribution - whole.probability) < 1e-15
    True
    """

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


def explain(model: Source, word: str, context: Any = ()) -> Explanation:
    """Take P(word | context) apart."""
    ids = np.append(model._context_ids(context), np.int32(model._word_id(word)))
    column = ids.size - 1
    found, shares, rest = shares_of_last(ids, model.arrays)
    counts, rows = found.counts[:, column], found.rows[:, column]
    patterns = tuple(
        _pattern_share(model, i, pattern, ids, int(counts[i]), int(rows[i]), float(shares[i]))
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
    model: Source, i: int, pattern: Pattern, ids: Any, count: int, row: int, share: float
) -> PatternShare:
    total = int(model.counts.tables.rows[row, 0])
    left = max(count - float(model.parts.derived["discounts"][i, min(count, 3)]), 0.0)
    discounted = left * float(model.parts.derived["row_values"][row, SCALE])
    places = range(pattern.reach, 0, -1)
    words = [_shown(model.counts, int(ids[-1 - k]), pattern) if k in pattern else "_" for k in places]
    given = float(given_class(model.arrays, int(ids[-1]))) if pattern.classes else 1.0
    backoff = float(model.parts.derived["row_values"][row, BACKOFF])
    below = model.counts.lattice.below(pattern) if pattern in model.counts.lattice.patterns else ()
    return PatternShare(
        str(pattern), " ".join(words), total, count, discounted, backoff, share, given,
        share * discounted * given, tuple(map(str, below)),
    )  # fmt: skip


def _shown(counts: Counts, word: int, pattern: Pattern) -> str:
    """A word of the context, or its class."""
    if pattern.classes:
        return class_text(counts.class_names[counts.tables.class_of[word]])
    return counts.vocabulary[word]
