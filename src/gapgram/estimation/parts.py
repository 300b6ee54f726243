"""What a model consists of: counts, discounts, weights, and what queries need of them, derived once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy.typing as npt

from gapgram.counts.counts import Counts, given_class, members_of
from gapgram.counts.layouts import in_layout
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.row_values import discount_table, row_values
from gapgram.estimation.weights import Weights
from gapgram.system.array_store import IN_MEMORY, ArrayStore

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class ModelParts:
    """Counts, discounts and weights, and the arrays derived from them once."""

    name: str
    counts: Counts
    discounts: Discounts
    weights: Weights
    derived: Arrays

    @classmethod
    def of(cls, name: str, counts: Counts, discounts: Discounts, weights: Weights) -> ModelParts:
        """Derive what queries need from counts, discounts and weights."""
        derived = {
            "discounts": discount_table(discounts),
            "row_values": row_values(counts, discounts, weights),
            "given_class": given_class(counts.tables),
            **members_of(counts.tables),
        }
        return cls(name, counts, discounts, weights, derived)

    def in_layout(self, layout: str, store: ArrayStore = IN_MEMORY) -> ModelParts:
        """The same model with its tables in a layout; new ones are kept in `store`."""
        return replace(self, counts=replace(self.counts, tables=in_layout(self.counts, layout, store)))

    def arrays(self) -> Arrays:
        """All arrays by name, as they go into a file."""
        weights = {"gate_table": self.weights.gate_table, "lift": self.weights.lift}
        return {**self.counts.arrays(), **self.derived, **vars(self.weights.form), **weights}

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What the arrays do not say, as plain values."""
        return {
            **self.counts.metadata(),
            "model": self.name,
            "weights": {"name": self.weights.name, "report": self.weights.report},
            "discounts": {
                "fallbacks": [str(p) for p in self.discounts.fallbacks],
                "fitted": self.discounts.fitted,
                "estimated": None if self.discounts.estimated is None else self.discounts.estimated.tolist(),
            },
        }
