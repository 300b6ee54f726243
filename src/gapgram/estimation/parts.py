"""What a model consists of: counts, discounts, weights, and the arrays that queries need of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Floats, Ids, Integers
from gapgram.counts.counts import Counts
from gapgram.counts.layouts import in_layout
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.history_weights import HistoryWeights
from gapgram.kernels.probability.gate import context_buckets
from gapgram.kernels.tables.arrays import FIRST_ROW, N_GRAMS, N_ROWS, Tables
from gapgram.kernels.tables.model_arrays import BACKOFF, BUCKET, SCALE, SECTIONS, WEIGHT, ModelArrays
from gapgram.system.array_store import IN_MEMORY, ArrayStore

if TYPE_CHECKING:
    from gapgram.estimation.spelling import Spelling
    from gapgram.estimation.unbounded import Unbounded
    from gapgram.estimation.weights.fallback_graph import Weights


@dataclass(frozen=True)
class ModelParts:
    """Counts, discounts and weights, and the arrays derived from them once; all read-only.

    history: how far sessions trust what they read, where that was fitted on the documents of the text.
    spelling: how probable words are that the vocabulary does not have, where it is open.
    unbounded: the training text, for contexts without a limit, where it is kept.
    """

    name: str
    counts: Counts
    discounts: Discounts
    weights: Weights
    arrays: ModelArrays
    history: HistoryWeights | None = None
    spelling: Spelling | None = None
    unbounded: Unbounded | None = None

    @classmethod
    def of(
        cls, name: str, counts: Counts, discounts: Discounts, weights: Weights, history: HistoryWeights | None = None,
        spelling: Spelling | None = None,
    ) -> ModelParts:  # fmt: skip
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
        return cls(name, counts, discounts, weights, arrays, history, spelling)

    def in_layout(self, layout: str, store: ArrayStore = IN_MEMORY) -> ModelParts:
        """The same model with its tables in a layout; new ones are kept in `store`."""
        spelling = self.spelling.in_layout(layout) if self.spelling is not None else None
        return replace(self.with_tables(in_layout(self.counts, layout, store)), spelling=spelling)

    def with_tables(self, tables: Tables) -> ModelParts:
        """The same model with other tables of the same counts."""
        return replace(self, counts=replace(self.counts, tables=tables), arrays=self.arrays._replace(tables=tables))

    def contents(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """What goes into a file: all arrays by name, and what they do not say, as plain values."""
        sections, metadata = self.counts.contents()
        own_sections, own_metadata = self.estimates()
        return sections | own_sections, metadata | own_metadata

    def estimates(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """The same without what counts have."""
        sections: dict[str, npt.NDArray[Any]] = {name: getattr(self.arrays, name) for name in SECTIONS}
        sections["lift"] = self.weights.log_odds_shift
        estimated = self.discounts.estimated
        metadata: dict[str, Any] = {
            "model": self.name,
            "weights": {"name": self.weights.name, "report": self.weights.report},
            "discounts": {
                "fallbacks": [str(p) for p in self.discounts.fallbacks],
                "fitted": self.discounts.fitted,
                "estimated": None if estimated is None else estimated.tolist(),
            },
        }
        if self.discounts.as_lmplz:
            metadata["discounts"]["as_lmplz"] = True
        if self.history is not None:
            sections |= {"history_logits": self.history.logits, "history_squares": self.history.squares}
            metadata["history"] = [asdict(view) for view in self.history.views]
        if self.spelling is not None:
            of_spelling, metadata["spelling"] = self.spelling.contents()
            sections |= of_spelling
        if self.unbounded is not None:
            of_text, metadata["unbounded"] = self.unbounded.contents()
            sections |= of_text
        return sections, metadata


def row_values(counts: Counts, discounts: Discounts, weights: Weights) -> Floats:
    """[row, 4]: scale, backoff, weight and bucket of a context with the statistics of the row.

    The discounted counts of a context sum to total - taken, taken = D1 N1 + D2 N2 + D3+ N3+ + missing. The usual
    backoff probability is g = taken / total; a log-odds shift c makes its odds e^c times as large. The scale gives
    the discounted counts what the backoff leaves; where discounts take everything, g is 1.

    Equations (9), (14), (15) and (29) of docs/ideas/mathematics.md.
    """
    tables = counts.tables
    values = np.empty((len(tables.rows), 4))
    values[:, WEIGHT] = weights.row_weights
    values[:, BUCKET] = buckets = context_buckets(tables.rows)
    for p, (first, n) in enumerate(tables.places[:, [FIRST_ROW, N_ROWS]]):
        last = first + n
        rows = tables.rows[first:last]
        total = np.maximum(rows[:, 0], 1)
        taken = np.minimum(rows[:, 1:4] @ discounts.values[p] + rows[:, 4], total)
        left = np.maximum(total - taken, 0.0)
        odds = np.exp(weights.log_odds_shift[p, buckets[first:last]]) if weights.log_odds_shift.size else 1.0
        values[first:last, SCALE] = 1 / (left + odds * taken)
        values[first:last, BACKOFF] = odds * taken / (left + odds * taken)
        values[first:last, BACKOFF][rows[:, 0] == 0] = 1.0
    return values


def discount_table(discounts: Discounts) -> Floats:
    """[pattern, 4]: what is taken from a count of 0, 1, 2, 3 or more."""
    return np.hstack([np.zeros((len(discounts.values), 1)), discounts.values])


def given_class(tables: Tables) -> Floats:
    """The probability of each word given its class in each clustering, by how often it is met; 0 for one never met."""
    if not tables.class_of.size:
        return np.empty(0)
    word_counts = np.tile(tables.word_counts, tables.class_of.size // tables.word_counts.size)
    totals = np.bincount(tables.class_of, word_counts)
    probabilities: Floats = word_counts / np.maximum(totals[tables.class_of], 1)
    return probabilities


def members_of(tables: Tables) -> tuple[Ids, Integers]:
    """The words of each class of all clusterings, the most frequent first, and where those of each class begin."""
    # NumPy sorts numbers of 16 bits by their digits.
    classes = tables.class_of.astype(np.uint16) if tables.class_of.max(initial=0) < 1 << 16 else tables.class_of
    members = (np.argsort(classes, kind="stable") % max(tables.word_counts.size, 1)).astype(np.int32)
    base = np.cumsum([0, *np.bincount(tables.class_of)]) if tables.class_of.size else np.zeros(0, np.int64)
    return members, base
