"""A mixture as one file: the files of its models inside it, each at a multiple of 64 bytes, and their weights.

parts       the models' files, one after the other; a mixture among them is such a file itself
part_sizes  the bytes of each
weights     of the models
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from gapgram import sections
from gapgram.errors import UsageError
from gapgram.models.backoff import BackoffModel
from gapgram.models.backoff_file import backoff_contents
from gapgram.models.mixture import Mixture
from gapgram.models.model import Model
from gapgram.queries.language_model import LanguageModel
from gapgram.system import array_file
from gapgram.system.array_file import HEADER, FilePart, Writing
from gapgram.system.array_reading import plain, reading
from gapgram.system.atomic_file import written_aside
from gapgram.system.section_rules import ALIGN


class StoredMixture(NamedTuple):
    """What a mixture's file holds: where each model is, how it begins, what its file was called, and its weight."""

    parts: list[FilePart]
    first_bytes: list[bytes]
    names: list[str]
    weights: list[float]


def write_mixture(path: str | Path, mixture: Mixture, *, layout: str | None = None) -> None:
    """Write a mixture with its models to one file, aside and renamed.

    layout: `fast` or `compact`, of all models that gapgram has trained; by default each as it is.
    """
    _check(mixture)
    with written_aside(Path(path)) as file:
        _write_mixture(mixture, layout, file)


def read_mixture(path: str | Path | FilePart, *, verify: bool | None = None) -> StoredMixture:
    """What the file of a mixture holds; no model is opened yet."""
    with reading(path, array_file.MIXTURE, sections.MIXTURE, verify=verify) as file:
        whole, begin = (path.path, path.begin) if isinstance(path, FilePart) else (Path(path), 0)
        memory, sizes = file.arrays["parts"], file.arrays["part_sizes"].tolist()
        names = [plain(name, str) for name in plain(file.metadata["models"], list)]
        if len(sizes) < 2 or len(names) != len(sizes):
            raise ValueError(f"{len(sizes)} models with {len(names)} names, expected two or more, a name for each")
        places = [0, *accumulate(size + -size % ALIGN for size in sizes)]
        if places.pop() != memory.size:
            raise ValueError("models that are larger or smaller than their place")
        begin += next(section.offset for section in file.sections if section.name == "parts")
        return StoredMixture(
            [FilePart(whole, begin + at, sizes[i], f"model {i + 1}") for i, at in enumerate(places)],
            [memory[at : at + min(sizes[i], HEADER.size)].tobytes() for i, at in enumerate(places)],
            names,
            file.arrays["weights"].tolist(),
        )


def _check(mixture: Mixture) -> None:
    """Refuse what has no file of gapgram's own format, before anything is written."""
    for model, name in zip(mixture.models, mixture.names, strict=True):
        if isinstance(model, Mixture):
            _check(model)
        elif not isinstance(model, Model | BackoffModel):
            raise UsageError(f"{name}: cannot be a part of one file: convert it first (gapgram convert), and mix that")


def _write_mixture(mixture: Mixture, layout: str | None, file: BinaryIO) -> None:
    writing = Writing(file, array_file.MIXTURE)
    sizes = writing.add_files("parts", (_writer_of(model, layout) for model in mixture.models))
    writing.add("part_sizes", np.array(sizes, np.int64))
    writing.add("weights", mixture.weights)
    writing.finish({"models": [os.fsencode(Path(name).name).decode("utf-8", "replace") for name in mixture.names]})


def _writer_of(model: LanguageModel, layout: str | None) -> Callable[[BinaryIO], None]:
    if isinstance(model, Mixture):
        return partial(_write_mixture, model, layout)
    if isinstance(model, BackoffModel):
        return partial(_write_backoff, model)
    assert isinstance(model, Model)
    return partial(_write_model, model, layout)


def _write_model(model: Model, layout: str | None, file: BinaryIO) -> None:
    parts, pages = model.with_layout(layout or model.layout).parts, model.counts.pages
    arrays, metadata = parts.contents()
    writing = Writing(file, array_file.MODEL)
    for name, array in arrays.items():
        writing.add(name, array, between=pages.release if pages is not None else bool)
    writing.finish(metadata)


def _write_backoff(model: BackoffModel, file: BinaryIO) -> None:
    arrays, metadata = backoff_contents(model)
    writing = Writing(file, array_file.BACKOFF)
    for name, array in arrays.items():
        writing.add(name, array)
    writing.finish(metadata)
