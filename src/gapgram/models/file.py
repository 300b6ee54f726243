"""The file of a model: written whole or made section by section, and mapped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gapgram import sections
from gapgram.arrays import Floats
from gapgram.counts.check_meaning import is_checked_whole
from gapgram.counts.counts import Counts
from gapgram.counts.file import counts_of
from gapgram.counts.layouts import COMPACT, check_layout, layout_of
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.history_weights import HistoryWeights, View
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.spelling import PREFIX, Spelling
from gapgram.estimation.unbounded import PREFIX as KEPT
from gapgram.estimation.unbounded import Unbounded
from gapgram.estimation.weights.fallback_graph import NAMES, FallbackGraph, Weights
from gapgram.kernels.probability.soundness import FAULTS, fault_of_numbers
from gapgram.kernels.tables.arrays import N_GRAMS
from gapgram.kernels.tables.model_arrays import SECTIONS, WEIGHT, ModelArrays
from gapgram.pattern import Pattern
from gapgram.system import array_file as container
from gapgram.system.array_file import FilePart, Unfinished
from gapgram.system.array_reading import plain, reading
from gapgram.system.array_store import UNPACKED_ENTRIES, ArrayStore, InSections
from gapgram.system.mapped_pages import PageBudget
from gapgram.system.section_rules import Arrays


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
    file = Unfinished(path, container.MODEL)
    try:
        for name, array in Counts.word_arrays(parts.counts.vocabulary, packed=layout == COMPACT).items():
            file.add(name, array)
        made = make(InSections(file, parts.counts.pages, unpacked_entries=unpacked_entries))
        file.complete(*made.contents())
    except BaseException:
        file.discard()
        raise


def read(path: str | Path | FilePart, *, verify: bool | None = None, most_resident: int | None = None) -> ModelParts:
    """Map a model file; see `gapgram.Model.load`. What it says is checked, in full if `verify` or where it is small."""
    with reading(path, container.MODEL, sections.MODEL, verify=verify) as file:
        metadata, arrays = file.metadata, file.arrays
        pages = PageBudget(most_resident, file.mapped.map) if most_resident is not None else None
        counts = counts_of(metadata, arrays, pages, verify=verify)
        history = _checked_history(metadata["history"], arrays) if "history" in metadata else None
        spelling = _checked_spelling(metadata, arrays, verify=verify)
        parts = _parts_of(counts, metadata, arrays, verify=verify)
        unbounded = _checked_unbounded(metadata, arrays, counts, verify=verify)
        return replace(parts, history=history, spelling=spelling, unbounded=unbounded)


def _parts_of(counts: Counts, metadata: dict[str, Any], arrays: Arrays, *, verify: bool | None) -> ModelParts:
    """Counts, discounts and weights, and what queries need of them."""
    uniform = 1.0 / (int(counts.tables.places[0, N_GRAMS]) - 1)
    derived = ModelArrays(counts.tables, counts.lattice.order, uniform, *(arrays[name] for name in SECTIONS))
    parts = ModelParts(
        plain(metadata["model"], str),
        counts,
        _checked_discounts(metadata["discounts"], derived.discounts[:, 1:]),
        _checked_weights(metadata["weights"], arrays["lift"], derived, counts),
        derived,
    )
    _check_numbers(parts, whole=is_checked_whole(counts, verify))
    return parts


def _check_numbers(parts: ModelParts, *, whole: bool) -> None:
    """Refuse a graph and discounts that do not fit the tables; `whole`: also the numbers of rows and of classes."""
    counts = parts.counts
    number, p, _, found, expected = fault_of_numbers(parts.arrays, len(counts.class_names), whole)
    if number:
        named = {"pattern": counts.lattice.stored[p], "found": f"{found:,}", "expected": f"{expected:,}"}
        raise ValueError(FAULTS[number].format(**named))


def _checked_spelling(metadata: dict[str, Any], arrays: Arrays, *, verify: bool | None) -> Spelling | None:
    """The model of characters of an open vocabulary, where there is one."""
    own = {name.removeprefix(PREFIX): array for name, array in arrays.items() if name.startswith(PREFIX)}
    if bool(own) != ("spelling" in metadata):
        raise ValueError("a spelling without its sections, or sections without their spelling")
    if not own:
        return None
    missing = sections.OF_EVERY_MODEL - own.keys()
    if missing:
        raise ValueError(f"no section {PREFIX}{min(missing)}")
    said = plain(metadata["spelling"], dict)
    parts = _parts_of(counts_of(said, own, verify=verify), said, own, verify=verify)
    return Spelling.checked(parts, plain(said["log10_outside"], float), plain(said["most_characters"], int))


def _checked_unbounded(
    metadata: dict[str, Any], arrays: Arrays, counts: Counts, *, verify: bool | None
) -> Unbounded | None:
    """The training text that a model keeps, where it does."""
    own = {name: array for name, array in arrays.items() if name.startswith(KEPT)}
    if bool(own) != ("unbounded" in metadata) or len(own) not in (0, 5):
        raise ValueError("a kept text without all of its sections, or sections without what is said of them")
    if not own:
        return None
    files = tuple(plain(name, str) for name in plain(plain(metadata["unbounded"], dict)["files"], list))
    return Unbounded.checked(own, counts.lattice.order, files, whole=is_checked_whole(counts, verify))


def _checked_discounts(entries: Any, values: Floats) -> Discounts:
    """The discounts, and how they were found: of the plain values each is what it is taken for."""
    said = plain(entries, dict)
    fallbacks = tuple(Pattern.parse(plain(short, str)) for short in plain(said["fallbacks"], list))
    estimated = None  # those that were taken from counts of counts, where others were fitted
    if said["estimated"] is not None:
        rows = [plain(row, list) for row in plain(said["estimated"], list)]
        estimated = np.array([[plain(value, float) for value in row] for row in rows], np.float64)
        if estimated.shape != values.shape:
            raise ValueError(f"estimated discounts of shape {list(estimated.shape)}, expected {list(values.shape)}")
    as_lmplz = plain(said.get("as_lmplz", False), bool)
    return Discounts(values, fallbacks, plain(said["fitted"], bool), estimated, as_lmplz)


def _checked_weights(entries: Any, log_odds_shift: Floats, derived: ModelArrays, counts: Counts) -> Weights:
    """The weights, and how they were found."""
    said = plain(entries, dict)
    name = plain(said["name"], str)
    if name not in NAMES:
        raise ValueError(f"weights {name!r}, expected one of {', '.join(NAMES)}")
    graph = FallbackGraph(*(getattr(derived, field) for field in FallbackGraph.__dataclass_fields__))
    report = _checked_report(said["report"], counts)
    return Weights(name, graph, derived.row_values[:, WEIGHT], derived.gate_table, log_odds_shift, report)


def _checked_report(entries: Any, counts: Counts) -> dict[str, Any]:
    """What is told of how weights were found: nothing, or all that `estimation.weights.learned` tells."""
    said = plain(entries, dict)
    if not said:
        return {}
    weights = plain(said["mean_weights"], dict)
    return {
        "source": plain(said["source"], str),
        **{name: plain(said[name], int) for name in ("positions", "parameters")},
        **{name: plain(said[name], float) for name in ("perplexity_before", "perplexity_after")},
        "mean_weights": {str(pattern): plain(weights[str(pattern)], float) for pattern in counts.lattice.stored},
    }


def _checked_history(entries: Any, arrays: Arrays) -> HistoryWeights:
    """How far sessions trust what they read, where that was fitted."""
    views = tuple(
        View(
            tuple(plain(offset, int) for offset in plain(view["offsets"], list)), plain(view["decay"], float),
            plain(view["of_classes"], bool), plain(view["boost"], float),
            plain(view.get("longest", False), bool),
        )
        for view in (plain(entry, dict) for entry in plain(entries, list))
    )  # fmt: skip
    return HistoryWeights.checked(views, arrays["history_logits"], arrays["history_squares"])
