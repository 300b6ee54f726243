"""The reference of a trained model: of the model it is given what was fitted and the classes, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from reference.by_counts import CountsModel
from reference.counts import ReferenceCounts
from reference.gate import ContextKnown, Feature, Fitted, WordAt, WordsAvailable
from reference.learned import LearnedModel
from reference.model import ReferenceModel
from reference.pruned import PrunedCounts, seen_more_often

from gapgram import Model, Pattern
from gapgram.arrays import Floats
from gapgram.estimation.parts import ModelParts
from gapgram.kernels.probability.gate import BUCKETS, WORD_BUCKETS, word_row


def reference_of(model: Model, text: Sequence[Sequence[str]], prune: Sequence[int] = ()) -> ReferenceModel:
    """The reference of a model of a text; `prune` are the numbers that it was pruned by count with."""
    counts = reference_counts(model, text)
    if prune:
        counts = PrunedCounts(counts, seen_more_often(counts, list(prune)))
    match model.parts.weights.name:
        case "learned":
            return LearnedModel(counts, fitted_of(model))
        case "counts":
            return CountsModel(counts)
        case _:
            return ReferenceModel(counts)


def reference_counts(model: Model, text: Sequence[Sequence[str]]) -> ReferenceCounts:
    """The reference's counts of the text that a model was trained on, with the model's classes."""
    return ReferenceCounts([as_known(model, s) for s in text], model.counts.lattice, classes_of(model))


def as_known(model: Model, words: Sequence[str]) -> list[str]:
    """Words as a model sees them."""
    return [word if word in model.vocabulary else "<unk>" for word in words]


def classes_of(model: Model) -> list[dict[str, str]]:
    """The class of each word in each clustering of a model; none where it has no classes."""
    counts, words = model.counts, list(model.vocabulary)
    class_of = counts.tables.class_of.reshape(-1, len(words)).tolist()
    return [{word: counts.class_names[c] for word, c in zip(words, own, strict=True)} for own in class_of]


def fitted_of(model: Model) -> Fitted:
    """The parameters of a learned model, by name."""
    weights = model.parts.weights
    return named(model.counts.lattice.stored, weights.gate_table, weights.log_odds_shift, model.parts.discounts.values)


def named(patterns: Sequence[Pattern], gate_table: Floats, shift: Floats, discounts: Floats) -> Fitted:
    """Parameters as the kernels have them, by name."""
    n, order = len(patterns), 1 + max(pattern.reach for pattern in patterns)
    rows: dict[Feature, int] = {
        ContextKnown(pattern, bucket): p * BUCKETS + bucket
        for p, pattern in enumerate(patterns)
        for bucket in range(BUCKETS)
    }
    rows |= {WordsAvailable(words): n * BUCKETS + words for words in range(order)}
    rows |= {
        WordAt(offset, bucket): word_row(n, order, offset, bucket)
        for offset in range(1, order)
        for bucket in range(WORD_BUCKETS)
    }
    assert len(rows) == len(gate_table), "every row of the table is some feature's"
    table, shifts = gate_table.tolist(), shift.tolist()
    return Fitted(
        discounts={pattern: (d1, d2, d3) for pattern, (d1, d2, d3) in zip(patterns, discounts.tolist(), strict=True)},
        shifts={ContextKnown(pattern, b): shifts[p][b] for p, pattern in enumerate(patterns) for b in range(BUCKETS)},
        gate={feature: dict(zip(patterns, table[row], strict=True)) for feature, row in rows.items()},
    )


def shaken(model: Model, seed: int) -> Model:
    """A learned model with parameters at random instead of those that were fitted: all of them matter."""
    random, parts = np.random.default_rng(seed), model.parts
    weights = replace(
        parts.weights,
        gate_table=random.normal(0, 1, parts.weights.gate_table.shape),
        log_odds_shift=random.normal(0, 1, parts.weights.log_odds_shift.shape),
    )
    limits = np.array([1.0, 2.0, 3.0])
    discounts = replace(parts.discounts, values=limits * random.uniform(0.05, 0.95, parts.discounts.values.shape))
    return Model(ModelParts.of(parts.name, parts.counts, discounts, weights))
