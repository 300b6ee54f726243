"""What a model consists of: counts, discounts, weights, and the arrays that queries need of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy.typing as npt

from gapgram.counts.counts import Counts
from gapgram.counts.layouts import in_layout
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.history_weights import HistoryWeights
from gapgram.estimation.row_values import discount_table, given_class, members_of, row_values
from gapgram.estimation.weights import Weights
from gapgram.kernels.model_arrays import SECTIONS, ModelArrays
from gapgram.kernels.tables import N_GRAMS, Tables
from gapgram.system.array_store import IN_MEMORY, ArrayStore


@dataclass(frozen=True)
class ModelParts:
    """Counts, discounts and weights, and the arrays derived from them once; all read-only.

    history: how far sessions trust what they read, where that was fitted on the documents of the text.
    """

    name: str
    counts: Counts
    discounts: Discounts
    weights: Weights
    arrays: ModelArrays
    history: HistoryWeights | None = None

    @classmethod
    def of(
        cls, name: str, counts: Counts, discounts: Discounts, weights: Weights, history: HistoryWeights | None = None
    ) -> ModelParts:
        """Derive what queries need from counts, discounts and weights."""
        graph, given, (members, member_base) = weights.graph, given_class(counts.tables), members_of(counts.tables)
        arrays = ModelArrays(
            tables=counts.tables,
            order=counts.lattice.order,
            uniform=1.0 / (int(counts.tables.places[0, N_GRAMS]) - 1),
            discounts=discount_table(discounts),
            row_values=row_values(counts, discounts, weights),
            given_class=given,
            members=members,
            member_base=member_base,
            edge_base=graph.edge_base,
            edge_to=graph.edge_to,
            edge_weight=graph.edge_weight,
            start_base=graph.start_base,
            starts=graph.starts,
            gate_table=weights.gate_table,
        )
        for array in (*(getattr(arrays, name) for name in SECTIONS), weights.log_odds_shift):
            array.flags.writeable = False
        return cls(name, counts, discounts, weights, arrays, history)

    def in_layout(self, layout: str, store: ArrayStore = IN_MEMORY) -> ModelParts:
        """The same model with its tables in a layout; new ones are kept in `store`."""
        return self.with_tables(in_layout(self.counts, layout, store))

    def with_tables(self, tables: Tables) -> ModelParts:
        """The same model with other tables of the same counts."""
        return replace(self, counts=replace(self.counts, tables=tables), arrays=self.arrays._replace(tables=tables))

    def contents(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """What goes into a file: all arrays by name, and what they do not say, as plain values."""
        sections, metadata = self.counts.contents()
        sections |= {name: getattr(self.arrays, name) for name in SECTIONS}
        sections["lift"] = self.weights.log_odds_shift
        estimated = self.discounts.estimated
        metadata |= {
            "model": self.name,
            "weights": {"name": self.weights.name, "report": self.weights.report},
            "discounts": {
                "fallbacks": [str(p) for p in self.discounts.fallbacks],
                "fitted": self.discounts.fitted,
                "estimated": None if estimated is None else estimated.tolist(),
            },
        }
        if self.history is not None:
            sections |= {"history_logits": self.history.logits, "history_squares": self.history.squares}
            metadata["history"] = [asdict(view) for view in self.history.views]
        return sections, metadata
