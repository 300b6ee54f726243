"""What a training run is asked to do: the text, the model, and how it is finished."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gapgram.compression.pruning.by_count import Thresholds
from gapgram.counting.band import NO_CUTS, Cuts
from gapgram.counts.about import About
from gapgram.counts.layouts import FAST, check_layout
from gapgram.errors import UsageError
from gapgram.estimation.weights.estimators import ESTIMATORS, Fitted
from gapgram.lattice import Lattice
from gapgram.queries.language_model import Sentence
from gapgram.signature import __version__
from gapgram.system.memory import parse_size
from gapgram.text.corpus import TextRules, blocks_of_sentences
from gapgram.text.files import Block, Paths, as_paths, blocks_of_files, open_raw
from gapgram.text.splitting import RAW, Splitter, check_split
from gapgram.text.tokenisers.tokeniser import Tokeniser
from gapgram.training.choose_classes import MAX_POSITIONS, ClassSource


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
    classes: tuple[ClassSource, ...]
    seed: int
    layout: str
    prune: str | None
    size: str | int | None
    documents: bool
    threads: int
    progress: bool
    about: About = ()
    tokeniser: Tokeniser | None = None
    split: str | None = None  # whether marks are cut off words before they are counted, or were so before
    discounts: str = "textbook"
    unbounded: bool = False  # whether the text is kept, for contexts without a limit
    class_words: int = MAX_POSITIONS  # of the text that classes are found in
    lattice_budget: int | None = None  # patterns that are chosen for the text at most; the lattice is as large as they

    def __post_init__(self) -> None:
        if (self.texts is None) == (self.sentences is None):
            raise UsageError("train: give text files or sentences, one of the two")
        check_split(self.split, has_tokeniser=self.tokeniser is not None)
        if self.documents and self.rules.empty_lines == "count":
            raise UsageError("documents: empty lines end documents, and cannot count as sentences too")
        if self.unbounded and not self.is_fitted:
            raise UsageError("unbounded: trust in the text is learned: use learned weights (--model glm)")
        inputs = self.inputs()
        check_layout(self.layout)
        if self.prune is not None:
            Thresholds.parse(self.prune, self.lattice).check_rising(self.lattice)
            if self.lattice_budget is not None and "=" in self.prune:
                raise UsageError(f"prune {self.prune!r}: patterns are yet to be chosen; give counts such as 0,0,1")
        if self.size is not None:
            parse_size(self.size, "size")
        for path in inputs.get("held-out text", []):
            if str(path) != "-":  # found missing now, not after hours of counting
                open_raw(path).close()

    @property
    def is_fitted(self) -> bool:
        """Whether weights are fitted on text."""
        return isinstance(ESTIMATORS[self.weights], Fitted)

    @property
    def cuts(self) -> Cuts:
        """What is left out already where it is counted: rare grams, unless something is fitted on all of them."""
        if self.prune is None or self.is_fitted or self.documents:
            return NO_CUTS
        thresholds = Thresholds.parse(self.prune, self.lattice)
        return {pattern: cut for pattern in self.lattice.stored if (cut := thresholds.of(pattern))}

    @property
    def prune_after(self) -> str | None:
        """The thresholds of what is dropped once the weights are there."""
        return None if self.cuts else self.prune

    @property
    def is_pruned(self) -> bool:
        """Whether grams are dropped once the weights are there."""
        return self.prune_after is not None or self.size is not None

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
        if all(positions >= source.least_positions for source in self.classes):
            return self
        return replace(self, classes=(), lattice=self.lattice.of_words)

    def blocks(self) -> Iterator[Block]:
        """The lines of the text."""
        if self.sentences is not None:
            return self.tokenised(blocks_of_sentences(self.sentences))
        return self.tokenised(blocks_of_files(self.texts or [], progress=self.progress))

    def tokenised(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Lines of raw text as lines of the words that are counted."""
        if self.split == RAW:
            return Splitter().blocks(blocks, self.rules)
        if self.tokeniser is None or self.rules.tokenised:
            return blocks
        return self.tokeniser.blocks(blocks, self.rules, self.threads)

    def inputs(self) -> dict[str, list[str | Path]]:
        """The files that are read, by what they are."""
        classes = [source.path for source in self.classes if source.path is not None]
        files = {"text": self.texts, "held-out text": self.held_out_texts, "classes": classes or None}
        return {name: as_paths(paths) for name, paths in files.items() if paths is not None}

    def identity(self) -> dict[str, Any]:
        """What the work of a run belongs to: files as they are now, and options."""
        options = {"order": self.lattice.order, "lattice": str(self.lattice), "model": self.model}
        if self.lattice_budget is not None:
            options["lattice"] = f"auto:{self.lattice_budget}"
        options |= {"weights": self.weights, "seed": self.seed, **vars(self.rules)}
        options |= {"layout": self.layout, "prune": self.prune, "size": self.size}
        if self.classes:
            options["number of classes"] = ", ".join(map(str, self.classes))
        options |= {"class words": self.class_words} if self.class_words != MAX_POSITIONS else {}
        options |= {"about": list(map(list, self.about))} if self.about else {}
        if self.documents:
            options["documents"] = True
        options |= {"unbounded": True} if self.unbounded else {}
        if self.tokeniser is not None:
            options["tokenizer"] = str(self.tokeniser)
        options |= {"split": self.split} if self.split is not None else {}
        options |= {"discounts": self.discounts} if self.discounts != "textbook" else {}
        files = {name: [_file_as_it_is(path) for path in paths] for name, paths in self.inputs().items()}
        return {"gapgram": __version__, **files, **options}


def _file_as_it_is(path: str | Path) -> list[Any]:
    try:
        facts = os.stat(path)
    except OSError:
        return [str(path)]
    return [os.path.abspath(path), facts.st_size, facts.st_mtime_ns]
