"""Pruning by loss: of all models of a size, one that loses little."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gapgram.arguments import checked_number
from gapgram.arrays import Floats, Mask, Singles
from gapgram.compression.pruning.by_loss import losses_of
from gapgram.compression.pruning.tables import Unpacked, keep_needed
from gapgram.counts.counts import Counts
from gapgram.counts.layouts import COMPACT, bits_of, in_layout
from gapgram.errors import UsageError
from gapgram.estimation.parts import ModelParts
from gapgram.kernels.tables.arrays import N_CONTEXTS, N_GRAMS
from gapgram.pattern import Pattern
from gapgram.system.array_store import IN_MEMORY, ArrayStore
from gapgram.system.memory import parse_size, show_size
from gapgram.text.vocabulary import Vocabulary

_NEAR_ENOUGH = 0.99  # of the size that is asked for
_TRIES = 12
_HALVINGS = 40
_GRAM, _CONTEXT = 4, 8  # bytes of a gram in the fast layout, and of it as a context of one pattern


def bytes_of(parts: ModelParts, layout: str | None = None, store: ArrayStore = IN_MEMORY) -> int:
    """The size of the file of a model in a layout, by default its own, but for a few bytes; laid out to be measured."""
    laid_out = parts if layout is None else parts.in_layout(layout, store)
    sections, metadata = laid_out.contents()
    padded = sum(array.nbytes + -array.nbytes % 64 for array in sections.values())
    return padded + 128 * len(sections) + len(json.dumps(metadata))


@dataclass(frozen=True)
class BySize:
    """The size to prune to, what it is called, and the layout of the file that is to have it."""

    n_bytes: int
    name: str
    layout: str
    store: ArrayStore

    @classmethod
    def of(
        cls, parts: ModelParts, size: str | int | None, keep: float | None, layout: str, store: ArrayStore
    ) -> BySize | None:
        """What was asked for: a size in bytes, or the part of the model to keep."""
        if size is not None:
            return cls(parse_size(size, "size"), f"size={size}".replace(" ", ""), layout, store)
        if keep is None:
            return None
        if not 0 < checked_number("keep", keep, "the part of the model to keep, such as 0.3") <= 1:
            raise UsageError(f"keep {keep}: expected the part of the model to keep, above 0 and at most 1, such as 0.3")
        return cls(int(keep * bytes_of(parts, layout, store)), f"keep={keep:g}", layout, store)

    def allows(self, parts: ModelParts) -> bool:
        """Whether a model is small enough."""
        return self._bytes_of(parts) <= self.n_bytes

    def _bytes_of(self, parts: ModelParts) -> int:
        return bytes_of(parts, self.layout, self.store)

    def best(
        self,
        parts: ModelParts,
        tables: Mapping[Pattern, Unpacked],
        made: Callable[[dict[Pattern, Mask]], ModelParts],
    ) -> ModelParts:
        """The model of this size, or a little less. How much room rows take is only known once one is made."""
        smallest = made({p: np.full(len(t), not p.mask) for p, t in tables.items()})
        least = self._bytes_of(smallest)
        if least > self.n_bytes:
            raise _too_small(self.name, self.n_bytes, least)
        choice = _Choice(parts, tables, _costs(parts, tables, self.layout, self.store))
        goal_bytes, best_model, best_bytes = float(self.n_bytes - least), smallest, least
        low, high = 0.0, goal_bytes
        for tried_before in range(_TRIES):
            kept, used = choice.within(goal_bytes)
            tried = made(kept)
            n_bytes = self._bytes_of(tried)
            if best_bytes < n_bytes <= self.n_bytes:
                best_model, best_bytes = tried, n_bytes
            if _NEAR_ENOUGH * self.n_bytes <= n_bytes <= self.n_bytes:
                break
            low, high = (low, goal_bytes) if n_bytes > self.n_bytes else (goal_bytes, high)
            goal_bytes = used * (0.998 * self.n_bytes - least) / max(n_bytes - least, 1)
            if tried_before > 1 or not low < goal_bytes < high:
                goal_bytes = (low + high) / 2
        return best_model


def check_size(size: str | int | None, vocabulary: Vocabulary) -> None:
    """Refuse a size that not even the words have room in; worth asking before long work."""
    if size is None:
        return
    n_bytes, least = parse_size(size, "size"), sum(a.nbytes for a in Counts.word_arrays(vocabulary).values())
    if n_bytes < least:
        raise _too_small(f"size={size}", n_bytes, least)


def _too_small(name: str, n_bytes: int, least: int) -> UsageError:
    return UsageError(
        f"{name} is {n_bytes:,} bytes: the words alone, without a gram of two, take {least:,} "
        f"({show_size(least)}): ask for more, or train with a smaller vocabulary (--vocab-limit)"
    )


def _costs(
    parts: ModelParts, tables: Mapping[Pattern, Unpacked], layout: str, store: ArrayStore
) -> dict[Pattern, float]:
    """Bytes of a gram of each pattern, with those of the contexts of longer grams that it is."""
    gram, context = dict.fromkeys(tables, float(_GRAM)), dict.fromkeys(tables, float(_CONTEXT))
    if layout == COMPACT:
        packed = in_layout(parts.counts, layout, store)
        for i, p in enumerate(parts.counts.lattice.stored):
            bits, at = bits_of(packed, i), packed.places[i]
            gram[p] = (bits.keys + bits.counts) / 8 / max(1, int(at[N_GRAMS]))
            context[p] = (bits.contexts + bits.rows) / 8 / max(1, int(at[N_CONTEXTS]))
    return {p: gram[p] + sum(context[q] for q in tables if q.mask and q.tail == p) for p in tables}


class _Choice:
    """Which grams stay when there is room for some."""

    def __init__(
        self, parts: ModelParts, tables: Mapping[Pattern, Unpacked], cost: Mapping[Pattern, float]
    ) -> None:
        self.tables, self.cost = tables, cost
        self.kept = {p: table.store.array("kept", np.bool_, (len(table),)) for p, table in tables.items()}
        self.worth = {p: self._worth(p, loss) for p, loss in losses_of(parts, tables) if p.mask}

    def _worth(self, pattern: Pattern, losses: Floats) -> Singles:
        """What a byte of each gram is worth."""
        return self.tables[pattern].each_gram("worth", np.float32, lambda a, b: losses[a:b] / self.cost[pattern])

    def within(self, max_bytes: float) -> tuple[dict[Pattern, Mask], float]:
        """The grams worth most a byte that, with those they need, take no more room; and the room they take."""
        low, high = -90.0, 90.0  # logarithms of what a byte must be worth
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._used(self._kept(middle)) > max_bytes:
                low = middle
            else:
                high = middle
        kept = self._kept(high)
        return kept, self._used(kept)

    def _kept(self, log_worth: float) -> dict[Pattern, Mask]:
        least = np.float32(np.exp(log_worth))
        for pattern, kept in self.kept.items():
            for begin, end in self.tables[pattern].store.spans(kept.size):
                kept[begin:end] = self.worth[pattern][begin:end] > least if pattern.mask else True
        keep_needed(self.tables, self.kept)
        return self.kept

    def _used(self, kept: Mapping[Pattern, Mask]) -> float:
        used = 0.0
        for pattern, mask in kept.items():
            for begin, end in self.tables[pattern].store.spans(mask.size if pattern.mask else 0):
                used += self.cost[pattern] * int(np.count_nonzero(mask[begin:end]))
        return used
