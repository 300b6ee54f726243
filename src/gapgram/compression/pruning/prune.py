"""A model with fewer grams.

What a gram that goes has counted is missing from its context and goes to the patterns below (`kernels.tables.arrays`),
so that every distribution still sums to one. A gram that is the context of others stays while any of them does, and
words always stay. Discounts and weights are those of the whole counts.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gapgram.arrays import Mask
from gapgram.compression.pruning.by_count import Thresholds
from gapgram.compression.pruning.tables import Relations, Unpacked, keep_needed, unpack, without
from gapgram.compression.pruning.to_size import BySize
from gapgram.counts.counts import Counts
from gapgram.counts.layouts import check_layout, layout_of
from gapgram.errors import UsageError
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights.estimators import with_rows_of
from gapgram.kernels.tables.arrays import N_GRAMS
from gapgram.pattern import Pattern
from gapgram.system.array_store import IN_MEMORY, ArrayStore, InFolder

GRAM_BYTES = 100  # of memory that pruning by loss takes for each gram


def prune(
    parts: ModelParts,
    *,
    counts: str | None = None,
    size: str | int | None = None,
    keep: float | None = None,
    layout: str | None = None,
    store: ArrayStore = IN_MEMORY,
) -> ModelParts:
    """A model with fewer grams; see `gapgram.Model.pruned`. First by counts, then, where both are given, to a size.

    layout: in which the model is to be written, and so has its size; by default that of the model.
    store: where the model is made, and all kept that is worked out of grams (`store_for`).
    """
    if size is not None and keep is not None:
        raise UsageError("prune: give a size or the part to keep, one of the two")
    if counts is None and size is None and keep is None:
        ways = "by counts (--counts 0,0,1), to a size (--size 10MB), or the part to keep (--keep 0.3)"
        raise UsageError(f"prune: say how: {ways}")
    layout = layout or layout_of(parts.counts.tables)
    check_layout(layout)
    goal = BySize.of(parts, size, keep, layout, store)
    if counts is not None:
        thresholds = Thresholds.parse(counts, parts.counts.lattice)
        tables = unpack(parts.counts, store)
        kept = thresholds.kept(Relations(tables).occurrences(), store)
        keep_needed(tables, kept)
        parts = _rest(parts, tables, kept, thresholds.said)
    if goal is not None and not goal.allows(parts):
        tables = unpack(parts.counts, store)
        parts = goal.best(parts, tables, lambda kept: _rest(parts, tables, kept, goal.name))
    return parts


def store_for(counts: Counts, folder: Path) -> ArrayStore:
    """Where to prune counts: in memory, or, where that is limited and would not do, in files of a folder."""
    n_grams = int(counts.tables.places[:, N_GRAMS].sum())
    if counts.pages is None or n_grams * GRAM_BYTES <= counts.pages.release():
        return IN_MEMORY
    return InFolder(folder, counts.pages)


def _rest(parts: ModelParts, tables: dict[Pattern, Unpacked], kept: dict[Pattern, Mask], how: str) -> ModelParts:
    """The model with the grams that are kept."""
    pruned = "+".join(filter(None, [parts.counts.pruned, how]))
    counts = replace(parts.counts, tables=without(parts.counts.tables, tables, kept), pruned=pruned)
    weights = with_rows_of(counts, parts.discounts, parts.weights)
    made = ModelParts.of(parts.name, counts, parts.discounts, weights, parts.history, parts.spelling)
    return replace(made, unbounded=parts.unbounded)
