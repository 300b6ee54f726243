"""The classes of a training run: a user's own, or found in the text.

Classes fit the text they were found in better than any other, and weights learned from the same text would trust them
too much. So a part of the text, the one that weights are learned from, is held apart, and classes are found without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.arrays import Ids
from gapgram.classes.classes import Classes, read_classes
from gapgram.classes.exchange import find_classes
from gapgram.counting.text_source import TextSource
from gapgram.errors import UsageError
from gapgram.estimation.weights.sample import sample_positions
from gapgram.lattice import Lattice
from gapgram.system.memory import MemoryLimit
from gapgram.system.parallel import SharedCores
from gapgram.system.work_folder import WorkFolder
from gapgram.text.corpus import sentence_begins

HELD_APART_SHARE = 0.15  # of the text, at most; of a large one, as much as a sample holds
LEAST_POSITIONS = 100_000  # in a smaller text classes do more harm than good
MAX_POSITIONS = 1 << 24  # that classes are found in; of a larger text a sample
_POSITION_BYTES = 40  # of memory, about, that finding classes takes
_STAGE = "classes"


@dataclass(frozen=True)
class ClassSource:
    """Where classes come from: a file, or the text, in which at most k are found (None: by its size).

    least_positions: a smaller text does without classes.
    """

    path: Path | None = None
    k: int | None = None
    least_positions: int = 0

    @classmethod
    def parse(cls, text: str | int | Path | None) -> ClassSource | None:
        """Read `none`, `auto`, a number or the path of a file of classes."""
        if text is None or text == "none":
            return None
        if text == "auto":
            return cls(least_positions=LEAST_POSITIONS)
        if isinstance(text, int) or (isinstance(text, str) and text.isdecimal()):
            if int(text) < 1:
                raise UsageError(f"{text} classes: expected 1 or more, none, auto, or a file of words and classes")
            return cls(k=int(text))
        if not isinstance(text, str | PathLike):
            raise wrong_type("classes", text, "a number, none, auto, or a file of words and classes")
        if not Path(text).is_file():
            there = "a folder" if Path(text).is_dir() else "no such file"
            raise UsageError(
                f"classes {str(text)!r}: {there}; expected a number, none, auto, or a file of words and classes"
            )
        return cls(path=Path(text))


@dataclass(frozen=True)
class ChosenClasses:
    """The classes of a run, if it has any, and the sentences that they were found without, if they were found."""

    classes: Classes | None = None
    held_apart: Ids | None = None

    def store(self, folder: WorkFolder) -> None:
        """Keep classes for a run that goes on."""
        if self.classes is None:
            return
        held_apart = self.held_apart if self.held_apart is not None else np.empty(0, np.int32)
        for name, array in (("class_of.npy", self.classes.of_word), ("held_apart.npy", held_apart)):
            with folder.written(name) as file:
                np.save(file, array)
        folder.note(_STAGE, self.classes.names)

    @classmethod
    def of_folder(cls, folder: WorkFolder) -> ChosenClasses | None:
        """Those that an earlier run kept."""
        names = folder.done(_STAGE)
        if names is None:
            return None
        of_word, held_apart = np.load(folder.path / "class_of.npy"), np.load(folder.path / "held_apart.npy")
        return cls(Classes(of_word, tuple(names)), held_apart if held_apart.size else None)


def choose_classes(  # noqa: PLR0913 - all that a run knows, by keyword
    source: ClassSource,
    text: TextSource,
    *,
    n_patterns: int,
    seed: int,
    hold_apart: bool,
    memory: MemoryLimit | None,
    threads: int,
    progress: bool,
    cores: SharedCores | None = None,
) -> ChosenClasses:
    """The classes of a text.

    hold_apart: whether weights will be fitted on sentences of the text, as a sample for so many patterns holds them.
    memory: what finding them may take; any amount without it.
    cores: that other work takes some of meanwhile.
    """
    if source.path is not None:
        return ChosenClasses(read_classes(source.path, text.vocabulary, text.word_counts))
    positions = text.positions
    if memory is not None:
        needed = min(positions, MAX_POSITIONS) * _POSITION_BYTES
        memory.check(needed, "finding classes", "bring a file of classes")
    apart_positions = min(sample_positions(n_patterns), int(HELD_APART_SHARE * positions)) if hold_apart else 0
    ids = text.sample(seed=seed, limit=apart_positions + MAX_POSITIONS)
    begins = sentence_begins(ids)
    cut = int(begins[min(int(np.searchsorted(begins, apart_positions)), begins.size - 1)])
    if cut == ids.size:  # classes need some text, too
        cut = 0
    classes = find_classes(
        ids[cut:], text.word_counts.size, source.k, later=ids[:cut], threads=threads, cores=cores, progress=progress
    )
    return ChosenClasses(classes.named_by(text.vocabulary), ids[:cut] if cut else None)


def with_classes(
    lattice: Lattice, asked: str | int | Path | None, *, fitted: bool, named: bool
) -> tuple[Lattice, ClassSource | None]:
    """The lattice with patterns of classes where there are to be classes, and where these come from.

    fitted: weights are fitted.
    named: the lattice is the user's own; it gets patterns of classes only if classes are asked for.
    """
    source = ClassSource.parse(asked)
    has_patterns = lattice.of_classes is not None
    if asked is None and (has_patterns or (fitted and not named)):
        source = ClassSource(least_positions=LEAST_POSITIONS)
    if source is None:
        if has_patterns:
            raise UsageError("the lattice has patterns of classes: say which classes (auto, a number, or a file)")
        return lattice, None
    if not fitted:
        raise UsageError("classes are for a glm with learned weights: nothing else knows how far to trust them")
    return (lattice, replace(source, least_positions=0)) if has_patterns else (lattice.with_classes("chain"), source)
