"""What a model consists of, and its file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram import container
from gapgram.compacting import Room
from gapgram.container import Unfinished
from gapgram.counts import Counts, given_class, members_of
from gapgram.discounts import Discounts
from gapgram.estimator import discount_table, row_values
from gapgram.kernels.model_arrays import WEIGHT
from gapgram.layouts import COMPACT, check_layout, in_layout, layout_of
from gapgram.pages import Pages
from gapgram.pattern import Pattern
from gapgram.weights import Form, Weights

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

    def in_layout(self, layout: str, room: Room | None = None) -> ModelParts:
        """The same model with its tables in a layout; new ones are written where there is `room` for them."""
        return replace(self, counts=replace(self.counts, tables=in_layout(self.counts, layout, room)))

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


def write(path: str | Path, parts: ModelParts, layout: str | None = None) -> None:
    """Write a model file, in the layout of the tables or in another."""
    if layout is None or layout == layout_of(parts.counts.tables):
        pages = parts.counts.pages
        between = pages.give_back if pages is not None else bool
        container.write(path, container.MODEL, parts.metadata, parts.arrays(), between=between)
    else:
        write_made(path, parts, layout, lambda room: parts.in_layout(layout, room))


def write_made(path: str | Path, parts: ModelParts, layout: str, make: Callable[[Room], ModelParts]) -> None:
    """Write a model whose tables are made in the file itself, from those of another model."""
    check_layout(layout)
    file = Unfinished.new(path, container.MODEL)
    try:
        for name, array in Counts.word_arrays(parts.counts.vocabulary, packed=layout == COMPACT).items():
            file.add(name, array)
        made = make(_RoomInFile(file, parts.counts.pages))
        there = {section.name for section in file.sections}
        for name, array in made.arrays().items():
            if name not in there:
                file.add(name, array)
        file.finish(made.metadata)
    except BaseException:
        file.discard()
        raise


class _RoomInFile:
    """Room for tables in an unfinished file; their pages are given back together with those of what is read."""

    def __init__(self, file: Unfinished, pages: Pages | None) -> None:
        self._file, self._pages = file, pages

    def array(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        return self._file.reserve(name, dtype, shape, self._pages)

    def put(self, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        self._file.add(name, array)
        return array

    def give_back(self) -> None:
        if self._pages is not None:
            self._pages.give_back()


def read(path: str | Path, *, verify: bool | None = None, most_resident: int | None = None) -> ModelParts:
    """Map a model file; see `gapgram.Model.load`."""
    with container.reading(path, container.MODEL, verify=verify) as file:
        metadata, arrays = file.metadata, file.arrays
        pages = Pages(most_resident, file.mapped.map) if most_resident is not None else None
        counts = Counts.from_parts(metadata, arrays, pages)
        form = Form(**{name: arrays[name] for name in Form.__dataclass_fields__})
        weights = Weights(
            metadata["weights"]["name"], form, arrays["row_values"][:, WEIGHT], arrays["gate_table"], arrays["lift"],
            metadata["weights"]["report"],
        )  # fmt: skip
        estimated = metadata["discounts"]["estimated"]
        discounts = Discounts(
            np.asarray(arrays["discounts"][:, 1:]),
            tuple(map(Pattern.parse, metadata["discounts"]["fallbacks"])),
            metadata["discounts"]["fitted"],
            None if estimated is None else np.array(estimated),
        )
        derived = {name: arrays[name] for name in ("discounts", "row_values", "given_class", "members", "member_base")}
        return ModelParts(metadata["model"], counts, discounts, weights, derived)
