"""The file of a model: written whole or made section by section, and mapped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram import sections
from gapgram.arrays import Floats
from gapgram.counts.check_meaning import are_small, check_meaning
from gapgram.counts.counts import Counts
from gapgram.counts.file import counts_of
from gapgram.counts.layouts import COMPACT, check_layout, layout_of
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.history_weights import HistoryWeights, View
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights import ESTIMATORS, FallbackGraph, Weights
from gapgram.kernels.model_arrays import SECTIONS, WEIGHT, ModelArrays
from gapgram.kernels.tables import N_GRAMS
from gapgram.models.check_numbers import check_graph, check_numbers, check_small
from gapgram.pattern import Pattern
from gapgram.system import array_file as container
from gapgram.system.array_file import FilePart, Unfinished
from gapgram.system.array_reading import reading
from gapgram.system.array_store import UNPACKED_ENTRIES, ArrayStore, InSections
from gapgram.system.mapped_pages import PageBudget
from gapgram.system.plain_values import count_of, entries_of, list_of, number_of, text_of, truth_of

Arrays = dict[str, npt.NDArray[Any]]


def write(
    path: str | Path, parts: ModelParts, layout: str | None = None, *, unpacked_entries: int = UNPACKED_ENTRIES
) -> None:
    """Write a model file, in the layout of the tables or in another.

    unpacked_entries: of the tables that are laid out anew at a time.
    """
    if layout is None or layout == layout_of(parts.counts.tables):
        pages = parts.counts.pages
        between = pages.release if pages is not None else bool
        arrays, metadata = parts.contents()
        container.write(path, container.MODEL, metadata, arrays, between=between)
    else:
        write_made(
            path, parts, layout, lambda store: parts.in_layout(layout, store), unpacked_entries=unpacked_entries
        )


def write_made(
    path: str | Path,
    parts: ModelParts,
    layout: str,
    make: Callable[[ArrayStore], ModelParts],
    *,
    unpacked_entries: int = UNPACKED_ENTRIES,
) -> None:
    """Write a model whose tables are made in the file itself, from those of another model."""
    check_layout(layout)
    file = Unfinished.new(path, container.MODEL)
    try:
        for name, array in Counts.word_arrays(parts.counts.vocabulary, packed=layout == COMPACT).items():
            file.add(name, array)
        arrays, metadata = make(InSections(file, parts.counts.pages, unpacked_entries=unpacked_entries)).contents()
        written = {section.name for section in file.sections}
        for name, array in arrays.items():
            if name not in written:
                file.add(name, array)
        file.finish(metadata)
    except BaseException:
        file.discard()
        raise


def read(path: str | Path | FilePart, *, verify: bool | None = None, most_resident: int | None = None) -> ModelParts:
    """Map a model file; see `gapgram.Model.load`. What it says is checked, in full if `verify` or where it is small."""
    with reading(path, container.MODEL, sections.MODEL, verify=verify) as file:
        pages = PageBudget(most_resident, file.mapped.map) if most_resident is not None else None
        counts = counts_of(file.metadata, file.arrays, pages, verify=verify)
        parts = _parts_of(file.metadata, file.arrays, counts)
        check_graph(counts, parts.weights.graph)
        check_small(counts, parts.arrays, parts.weights.log_odds_shift)
        if verify or (verify is None and are_small(counts)):
            check_meaning(counts)
            check_numbers(counts, parts.arrays)
        return parts


def _parts_of(metadata: dict[str, Any], arrays: Arrays, counts: Counts) -> ModelParts:
    """The model of a file; of its plain values each is what it is taken for."""
    uniform = 1.0 / (int(counts.tables.places[0, N_GRAMS]) - 1)
    derived = ModelArrays(counts.tables, counts.lattice.order, uniform, *(arrays[name] for name in SECTIONS))
    graph = FallbackGraph(*(getattr(derived, name) for name in FallbackGraph.__dataclass_fields__))
    weights, discounts = entries_of(metadata["weights"]), entries_of(metadata["discounts"])
    return ModelParts(
        text_of(metadata["model"]),
        counts,
        Discounts(
            derived.discounts[:, 1:],
            tuple(Pattern.parse(text_of(short)) for short in list_of(discounts["fallbacks"])),
            truth_of(discounts["fitted"]),
            _estimated(discounts["estimated"], derived.discounts[:, 1:].shape),
        ),
        Weights(
            _estimator(weights["name"]), graph, derived.row_values[:, WEIGHT], derived.gate_table, arrays["lift"],
            _report(weights["report"], counts),
        ),
        derived,
        _history(metadata["history"], arrays) if "history" in metadata else None,
    )  # fmt: skip


def _history(entries: Any, arrays: Arrays) -> HistoryWeights:
    """How far sessions trust what they read, where that was fitted."""
    views = tuple(
        View(
            tuple(count_of(offset) for offset in list_of(view["offsets"])), number_of(view["decay"]),
            truth_of(view["of_classes"]), number_of(view["boost"]),
        )
        for view in map(entries_of, list_of(entries))
    )  # fmt: skip
    return HistoryWeights.checked(views, arrays["history_logits"], arrays["history_squares"])


def _estimated(values: Any, shape: tuple[int, ...]) -> Floats | None:
    """The discounts that were taken from counts of counts, where others were fitted."""
    if values is None:
        return None
    estimated = np.array([[number_of(value) for value in list_of(row)] for row in list_of(values)], np.float64)
    if estimated.shape != shape:
        raise ValueError(f"estimated discounts of shape {list(estimated.shape)}, expected {list(shape)}")
    return estimated


def _estimator(name: Any) -> str:
    if text_of(name) not in ESTIMATORS:
        raise ValueError(f"weights {name!r}, expected one of {', '.join(ESTIMATORS)}")
    return str(name)


def _report(report: Any, counts: Counts) -> dict[str, Any]:
    """What is told of how weights were found: nothing, or all that `estimation.weights.learned` tells."""
    entries = entries_of(report)
    if not entries:
        return {}
    weights = entries_of(entries["mean_weights"])
    return {
        "source": text_of(entries["source"]),
        **{name: count_of(entries[name]) for name in ("positions", "parameters")},
        **{name: number_of(entries[name]) for name in ("perplexity_before", "perplexity_after")},
        "mean_weights": {str(pattern): number_of(weights[str(pattern)]) for pattern in counts.lattice.stored},
    }
