"""The file of a model: written whole or made section by section, and mapped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.counts.counts import Counts
from gapgram.counts.layouts import COMPACT, check_layout, layout_of
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights import FallbackGraph, Weights
from gapgram.kernels.model_arrays import SECTIONS, WEIGHT, ModelArrays
from gapgram.kernels.tables import N_GRAMS
from gapgram.pattern import Pattern
from gapgram.system import array_file as container
from gapgram.system.array_file import Unfinished
from gapgram.system.array_store import ArrayStore, InSections
from gapgram.system.mapped_pages import Pages

Arrays = dict[str, npt.NDArray[Any]]


def write(path: str | Path, parts: ModelParts, layout: str | None = None) -> None:
    """Write a model file, in the layout of the tables or in another."""
    if layout is None or layout == layout_of(parts.counts.tables):
        pages = parts.counts.pages
        between = pages.give_back if pages is not None else bool
        sections, metadata = parts.contents()
        container.write(path, container.MODEL, metadata, sections, between=between)
    else:
        write_made(path, parts, layout, lambda store: parts.in_layout(layout, store))


def write_made(path: str | Path, parts: ModelParts, layout: str, make: Callable[[ArrayStore], ModelParts]) -> None:
    """Write a model whose tables are made in the file itself, from those of another model."""
    check_layout(layout)
    file = Unfinished.new(path, container.MODEL)
    try:
        for name, array in Counts.word_arrays(parts.counts.vocabulary, packed=layout == COMPACT).items():
            file.add(name, array)
        sections, metadata = make(InSections(file, parts.counts.pages)).contents()
        written = {section.name for section in file.sections}
        for name, array in sections.items():
            if name not in written:
                file.add(name, array)
        file.finish(metadata)
    except BaseException:
        file.discard()
        raise


def read(path: str | Path, *, verify: bool | None = None, most_resident: int | None = None) -> ModelParts:
    """Map a model file; see `gapgram.Model.load`."""
    with container.reading(path, container.MODEL, verify=verify) as file:
        metadata, arrays = file.metadata, file.arrays
        pages = Pages(most_resident, file.mapped.map) if most_resident is not None else None
        counts = Counts.from_sections(metadata, arrays, pages)
        uniform = 1.0 / (int(counts.tables.places[0, N_GRAMS]) - 1)
        derived = ModelArrays(counts.tables, counts.lattice.order, uniform, *(arrays[name] for name in SECTIONS))
        graph = FallbackGraph(*(getattr(derived, name) for name in FallbackGraph.__dataclass_fields__))
        weights = Weights(
            metadata["weights"]["name"], graph, derived.row_values[:, WEIGHT], derived.gate_table, arrays["lift"],
            metadata["weights"]["report"],
        )  # fmt: skip
        estimated = metadata["discounts"]["estimated"]
        discounts = Discounts(
            derived.discounts[:, 1:],
            tuple(map(Pattern.parse, metadata["discounts"]["fallbacks"])),
            metadata["discounts"]["fitted"],
            None if estimated is None else np.array(estimated),
        )
        return ModelParts(metadata["model"], counts, discounts, weights, derived)
