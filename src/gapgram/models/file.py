"""The file of a model: written whole or made section by section, and mapped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.counts.compact import Room
from gapgram.counts.counts import Counts
from gapgram.counts.layouts import COMPACT, check_layout, layout_of
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights import Form, Weights
from gapgram.kernels.model_arrays import WEIGHT
from gapgram.pattern import Pattern
from gapgram.system import array_file as container
from gapgram.system.array_file import Unfinished
from gapgram.system.mapped_pages import Pages

Arrays = dict[str, npt.NDArray[Any]]


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
