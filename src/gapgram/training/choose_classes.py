"""The classes of a training run: a user's own, or found in the text.

Classes fit the text they were found in better than any other, and weights learned from the same text would trust them
too much. So a part of the text, the one that weights are learned from, is set apart, and classes are found without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes, read_classes
from gapgram.classes.exchange import find_classes
from gapgram.errors import UsageError
from gapgram.estimation.weights.sample import chosen, sample_positions
from gapgram.kernels.special_words import START_ID
from gapgram.system.work_folder import WorkFolder
from gapgram.text.vocabulary import Vocabulary

APART = 0.15  # of the text, at most; where it is large, as much as a sample holds
LEAST = 100_000  # positions; in a smaller text classes do more harm than good
MOST = 1 << 24  # positions that classes are found in; of a larger text a sample
_BYTES = 40  # of memory, about, that finding classes takes for a position
_STAGE = "classes"


@dataclass(frozen=True)
class ClassSource:
    """Where classes come from: a file, or the text, in which at most k are found (None: by its size).

    least: a text with fewer positions does without classes.
    """

    path: Path | None = None
    k: int | None = None
    least: int = 0

    @classmethod
    def parse(cls, text: str | int | Path | None) -> ClassSource | None:
        """Read `none`, `auto`, a number or the path of a file of classes."""
        if text is None or text == "none":
            return None
        if text == "auto":
            return cls(least=LEAST)
        if isinstance(text, int) or (isinstance(text, str) and text.isdecimal()):
            if int(text) < 1:
                raise UsageError(f"{text} classes: expected 1 or more, none, auto, or a file of words and classes")
            return cls(k=int(text))
        if not Path(text).is_file():
            found = "a folder" if Path(text).is_dir() else "no such file"
            raise UsageError(
                f"classes {str(text)!r}: {found}; expected a number, none, auto, or a file of words and classes"
            )
        return cls(path=Path(text))


@dataclass(frozen=True)
class Classing:
    """Classes, and the part of the text that they were found without, if they were found."""

    classes: Classes
    apart: Ids | None = None

    def store(self, folder: WorkFolder) -> None:
        """Keep them for a run that goes on."""
        apart = self.apart if self.apart is not None else np.empty(0, np.int32)
        for name, array in (("class_of.npy", self.classes.of_word), ("apart.npy", apart)):
            with folder.written(name) as file:
                np.save(file, array)
        folder.note(_STAGE, self.classes.names)

    @classmethod
    def of_folder(cls, folder: WorkFolder) -> Classing | None:
        """Those that an earlier run kept."""
        names = folder.done(_STAGE)
        if names is None:
            return None
        of_word, apart = np.load(folder.path / "class_of.npy"), np.load(folder.path / "apart.npy")
        return cls(Classes(of_word, tuple(names)), apart if apart.size else None)


def finding_bytes(positions: int) -> int:
    """The memory that finding classes in a text takes, about."""
    return min(positions, MOST) * _BYTES


def choose_classes(
    source: ClassSource,
    text: Callable[[int], Iterable[Ids]],
    positions: int,
    vocabulary: Vocabulary,
    word_counts: Integers,
    *,
    n_patterns: int,
    seed: int,
    set_apart: bool = True,
    threads: int | None = None,
    progress: bool = False,
) -> Classing:
    """The classes of a text of so many positions.

    text: gives all sentences, or those with the smallest hashes (`chosen`) up to so many positions, in arrays.
    set_apart: whether weights will be learned from the text.
    """
    if source.path is not None:
        return Classing(read_classes(source.path, vocabulary, word_counts))
    n_apart = min(sample_positions(n_patterns), int(APART * positions)) if set_apart else 0
    ids = chosen(text(n_apart + MOST), seed=seed, limit=n_apart + MOST)
    starts = np.append(np.flatnonzero(ids == START_ID), ids.size)
    cut = int(starts[min(int(np.searchsorted(starts, n_apart)), starts.size - 1)])
    apart, rest = ids[:cut], ids[cut:]
    if not rest.size:
        apart, rest = rest, ids
    found = find_classes(rest, len(vocabulary), source.k, later=apart, threads=threads, progress=progress)
    return Classing(found.named_by(vocabulary), apart if apart.size else None)
