"""What a training run was asked for, checked before anything is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gapgram.compression.pruning.by_count import Thresholds
from gapgram.counts.layouts import FAST, check_layout
from gapgram.errors import UsageError
from gapgram.estimation.weights.estimators import ESTIMATORS, GLM_WEIGHTS, Fitted
from gapgram.lattice import Lattice
from gapgram.queries.language_model import Sentence
from gapgram.signature import __version__
from gapgram.system.memory import parse_size
from gapgram.text.corpus import Paths, TextRules, as_paths, blocks_of_files, blocks_of_sentences
from gapgram.text.files import Block, open_raw
from gapgram.training.choose_classes import ClassSource

LATTICES = {"mkn": "chain", "glm": "full"}  # the lattice of each model, unless a user names another


@dataclass(frozen=True, kw_only=True)
class TrainingTask:
    """The text, the model and how it is finished; `weights` names an estimator."""

    texts: Paths | None
    sentences: Iterable[Sentence] | None
    held_out_texts: Paths | None
    rules: TextRules
    model: str
    lattice: Lattice
    weights: str
    classes: ClassSource | None
    seed: int
    layout: str
    prune: str | None
    size: str | int | None
    threads: int
    progress: bool

    def __post_init__(self) -> None:
        if (self.texts is None) == (self.sentences is None):
            raise UsageError("train: give text files or sentences, one of the two")
        check_layout(self.layout)
        if self.prune is not None:
            Thresholds.parse(self.prune, self.lattice)
        if self.size is not None:
            parse_size(self.size, "size")
        for path in as_paths(self.held_out_texts) if self.held_out_texts is not None else []:
            if str(path) != "-":  # found missing now, not after hours of counting
                open_raw(path).close()

    @property
    def is_fitted(self) -> bool:
        """Whether weights are fitted on text."""
        return isinstance(ESTIMATORS[self.weights], Fitted)

    @property
    def is_pruned(self) -> bool:
        """Whether grams are dropped once the weights are there."""
        return self.prune is not None or self.size is not None

    @property
    def is_rewritten(self) -> bool:
        """Whether the model is made into another before it is written."""
        return self.is_pruned or self.layout != FAST

    @property
    def can_be_repeated(self) -> bool:
        """Whether another run can read the same text."""
        return self.sentences is None and "-" not in map(str, as_paths(self.texts or []))

    def for_text_of(self, positions: int) -> TrainingTask:
        """The task as a text of so many positions has it: a small one goes without classes."""
        if self.classes is None or positions >= self.classes.least_positions:
            return self
        return replace(self, classes=None, lattice=self.lattice.of_words)

    def blocks(self) -> Iterator[Block]:
        """The lines of the text."""
        if self.sentences is not None:
            return blocks_of_sentences(self.sentences)
        return blocks_of_files(self.texts or [], progress=self.progress)

    def inputs(self) -> dict[str, list[str | Path]]:
        """The files that are read, by what they are."""
        classes = self.classes.path if self.classes is not None else None
        files = {"text": self.texts, "held-out text": self.held_out_texts, "classes": classes}
        return {name: as_paths(paths) for name, paths in files.items() if paths is not None}

    def identity(self) -> dict[str, Any]:
        """What the work of a run belongs to: files as they are now, and options."""
        options = {"order": self.lattice.order, "lattice": str(self.lattice), "model": self.model}
        options |= {"weights": self.weights, "seed": self.seed, **vars(self.rules)}
        options |= {"layout": self.layout, "prune": self.prune, "size": self.size}
        if self.classes is not None:
            options["number of classes"] = self.classes.k
        files = {name: [_file_as_it_is(path) for path in paths] for name, paths in self.inputs().items()}
        return {"gapgram": __version__, **files, **options}


def _file_as_it_is(path: str | Path) -> list[Any]:
    try:
        facts = os.stat(path)
    except OSError:
        return [str(path)]
    return [os.path.abspath(path), facts.st_size, facts.st_mtime_ns]


def checked_estimator(
    model: str, weights: str | None, *, lattice: str | Lattice | None, held_out_texts: Paths | None
) -> str:
    """The name of the estimator of a model with such weights."""
    if model not in LATTICES:
        raise UsageError(f"model {model!r}: expected {' or '.join(LATTICES)}")
    if model == "mkn":
        if lattice is not None:
            raise UsageError("a lattice of your own is for model glm; modified Kneser-Ney has the chain")
        if weights not in (None, "none"):
            raise UsageError(f"weights {weights!r}: modified Kneser-Ney has none to choose; they are for model glm")
        name = "none"
    else:
        name = weights or "learned"
        if name not in GLM_WEIGHTS:
            raise UsageError(f"weights {name!r}: expected {', '.join(GLM_WEIGHTS)}")
    if held_out_texts is not None and not isinstance(ESTIMATORS[name], Fitted):
        raise UsageError("held-out text is for learned weights")
    return name


def with_classes(
    lattice: Lattice, asked: str | int | Path | None, estimator: str, *, named: bool
) -> tuple[Lattice, ClassSource | None]:
    """The lattice with patterns of classes where there are to be classes, and where these come from.

    named: the lattice is the user's own; it gets patterns of classes only if classes are asked for.
    """
    has_patterns, is_fitted = lattice.of_classes is not None, isinstance(ESTIMATORS[estimator], Fitted)
    if asked is None:
        asked = "auto" if has_patterns or (is_fitted and not named) else "none"
    source = ClassSource.parse(asked)
    if source is None:
        if has_patterns:
            raise UsageError("the lattice has patterns of classes: say which classes (auto, a number, or a file)")
        return lattice, None
    if not is_fitted:
        raise UsageError("classes are for a glm with learned weights: nothing else knows how far to trust them")
    return (lattice, replace(source, least_positions=0)) if has_patterns else (lattice.with_classes("chain"), source)
