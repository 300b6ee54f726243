"""The classes of a training run: a user's own, or found in the text; of one clustering of the words or of several.

Classes fit the text they were found in better than any other, and weights learned from the same text would trust them
too much. So a part of the text, the one that weights are learned from, is held apart, and classes are found without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.arrays import Ids
from gapgram.classes.classes import Classes, read_classes
from gapgram.classes.exchange import automatic_k, find_classes
from gapgram.counting.in_memory import TextInMemory
from gapgram.counting.memory_needs import crosswise_positions, sample_positions
from gapgram.counting.text_source import TextSource
from gapgram.errors import UsageError
from gapgram.lattice import Lattice
from gapgram.system.memory import MemoryLimit
from gapgram.system.parallel import SharedCores
from gapgram.system.work_folder import WorkFolder
from gapgram.text.corpus import sentence_begins
from gapgram.training.fitting_sample import PARTS, Clusterings, find_crosswise

MAX_HELD_APART_SHARE = 0.15  # of the text, at most; of a large one, as much as a sample holds
LEAST_POSITIONS = 20_000  # in a smaller text classes do more harm than good
CROSSWISE_POSITIONS = 300_000  # a smaller text, but for one without classes, is fitted crosswise
CROSSWISE_OF_SEVERAL = 2_500_000  # so is one below this that gets several clusterings
MAX_POSITIONS = 1 << 24  # that classes are found in; of a larger text a sample
_BYTES_PER_POSITION = 40  # about, while classes are found
_BYTES_CROSSWISE = 850  # about, while a text is counted with the classes of each part
_COUNTING_CORE_SHARE = 3 / 8  # of the cores, while classes are found with the others; they end at about one time
_STAGE = "classes"
_EXPECTED = "a number, none, auto, or a file of words and classes"

AskedClasses = str | int | Path | Sequence[str | int | Path] | None


@dataclass(frozen=True)
class ClassSource:
    """Where the classes of a clustering come from: a file, or the text, in which at most k are found.

    k: None for so many as the text bears out by its size, times `share`.
    least_positions: a smaller text does without classes.
    """

    path: Path | None = None
    k: int | None = None
    share: float = 1.0
    least_positions: int = 0

    @classmethod
    def parse(cls, text: str | int | Path) -> ClassSource:
        """Read `auto`, a number or the path of a file of classes."""
        if text == "auto":
            return cls(least_positions=LEAST_POSITIONS)
        if isinstance(text, int) or (isinstance(text, str) and text.isdecimal()):
            if int(text) < 1:
                raise UsageError(f"{text} classes: expected 1 or more, none, auto, or a file of words and classes")
            return cls(k=int(text))
        if not isinstance(text, str | PathLike):
            raise wrong_type("classes", text, _EXPECTED)
        if not Path(text).is_file():
            there = "a folder" if Path(text).is_dir() else "no such file"
            raise UsageError(f"classes {str(text)!r}: {there}; expected {_EXPECTED}")
        return cls(path=Path(text))

    def __str__(self) -> str:
        """What was asked for, in a word."""
        automatic = "auto" if self.share == 1.0 else f"auto × {self.share:g}"
        return automatic if self.k is None else str(self.k)


def _automatic(*shares: float) -> tuple[ClassSource, ...]:
    return tuple(ClassSource(share=share, least_positions=LEAST_POSITIONS) for share in shares)


# What is done for a better model of the same text: the clusterings that are found in it.
EFFORTS: dict[str, tuple[ClassSource, ...]] = {
    "small": (ClassSource(k=200, least_positions=LEAST_POSITIONS),),
    "fast": (),
    "default": _automatic(1.0),
    "best": _automatic(1.0, 0.2, 4.0, 0.45, 2.0),
}


def parse_sources(asked: AskedClasses) -> tuple[ClassSource, ...]:
    """Where the classes of each clustering come from; several are a list, or have commas between them."""
    if asked is None or asked == "none":
        return ()
    if isinstance(asked, str) and "," in asked and not Path(asked).is_file():
        several = [each.strip() for each in asked.split(",")]
        if "" in several or "none" in several:
            raise UsageError(f"classes {asked!r}: expected a number, auto or a file before and after each comma")
        asked = several
    return tuple(map(ClassSource.parse, asked if isinstance(asked, list | tuple) else (asked,)))


@dataclass(frozen=True)
class ChosenClasses:
    """The clusterings of a run, if it has any, and the sentences that they were found without, if they were found.

    crosswise: of a small text those that were found without each part of it; then `held_apart` is all of it.
    """

    classes: Clusterings = ()
    held_apart: Ids | None = None
    crosswise: tuple[Clusterings, ...] = ()

    def store(self, folder: WorkFolder) -> None:
        """Keep classes for a run that goes on."""
        if not self.classes:
            return
        held_apart = self.held_apart if self.held_apart is not None else np.empty(0, np.int32)
        every = [own for clusterings in (self.classes, *self.crosswise) for own in clusterings]
        of_words = np.stack([own.of_word for own in every])
        for name, array in (("class_of.npy", of_words), ("held_apart.npy", held_apart)):
            with folder.written(name) as file:
                np.save(file, array)
        folder.note(_STAGE, [len(self.classes), [own.names for own in every]])

    @classmethod
    def of_folder(cls, folder: WorkFolder) -> ChosenClasses | None:
        """Those that an earlier run kept."""
        noted = folder.done(_STAGE)
        if noted is None:
            return None
        n, names = noted
        of_words, held_apart = np.load(folder.path / "class_of.npy"), np.load(folder.path / "held_apart.npy")
        every = tuple(Classes(of_word, tuple(own)) for of_word, own in zip(of_words, names, strict=True))
        crosswise = tuple(every[begin : begin + n] for begin in range(n, len(every), n))
        return cls(every[:n], held_apart if held_apart.size else None, crosswise)


def choose_classes(  # noqa: PLR0913 - all that a run knows, by keyword
    sources: Sequence[ClassSource],
    text: TextSource,
    lattice: Lattice,
    *,
    seed: int,
    hold_apart: bool,
    memory: MemoryLimit | None,
    folder: WorkFolder | None,
    threads: int,
    progress: bool,
    counts_ahead: bool = True,
    max_positions: int = MAX_POSITIONS,
) -> ChosenClasses:
    """The clusterings of a text, if there are to be any; of an earlier run where there are.

    Patterns of words are counted meanwhile, where there is more than one core, and memory: a text is held in memory
    where there is room for all tables later on, and finding classes takes less than these.

    hold_apart: whether weights will be fitted on sentences of the text, as a sample for the lattice holds them.
    memory: what finding them may take; any amount without it.
    folder: where they are kept for a run that goes on.
    counts_ahead: False where the patterns that will be counted are not known yet.
    max_positions: that classes are found in.
    """
    if not sources:
        return ChosenClasses()
    kept = ChosenClasses.of_folder(folder) if folder is not None else None
    if kept is not None:
        return kept
    finds = any(source.path is None for source in sources)
    if finds and memory is not None:
        needed = min(text.positions, max_positions) * _BYTES_PER_POSITION
        memory.check(needed, "finding classes", "bring a file of classes")
    n_parts = crosswise_parts(text.positions, len(sources), len(lattice.stored))
    n_parts = n_parts if text.positions <= max_positions else 0
    if n_parts and hold_apart and counts_ahead and all(source.path is None for source in sources):
        if memory is not None and text.positions >= CROSSWISE_POSITIONS:
            needed = text.positions * _BYTES_CROSSWISE
            memory.check(needed, "fitting crosswise with several clusterings", "find one (--classes auto)")
        chosen = _crosswise(sources, text, n_parts, seed=seed, threads=threads, progress=progress)
    else:
        most_apart = min(sample_positions(len(lattice.stored)), int(MAX_HELD_APART_SHARE * text.positions))
        sizes = most_apart if hold_apart else 0, max_positions
        chosen = _held_apart(
            sources, text, lattice, seed=seed, sizes=sizes, threads=threads, progress=progress,
            counts_ahead=finds and counts_ahead,
        )  # fmt: skip
    if folder is not None:
        chosen.store(folder)
    return chosen


def crosswise_parts(positions: int, n_clusterings: int, n_patterns: int) -> int:
    """To how many parts of a text, from the first, weights are fitted crosswise; 0: they are not.

    >>> [crosswise_parts(10**4 * n, 1, 21) for n in (1, 2, 29, 30)]
    [0, 5, 5, 0]
    >>> [crosswise_parts(10**5 * n, 5, 41) for n in (3, 13, 21, 25)]
    [5, 5, 3, 0]
    """
    most = CROSSWISE_POSITIONS if n_clusterings == 1 else CROSSWISE_OF_SEVERAL
    if not LEAST_POSITIONS <= positions < most:
        return 0
    held = PARTS * crosswise_positions(n_patterns) // positions
    return PARTS if positions < CROSSWISE_POSITIONS else min(max(held, 1), PARTS)


def _crosswise(
    sources: Sequence[ClassSource], text: TextSource, n_parts: int, *, seed: int, threads: int, progress: bool
) -> ChosenClasses:
    """The clusterings of a small text, and those found without each of its first parts."""
    ids = text.sample(seed=seed, limit=text.positions)
    most_classes = [source.k or automatic_k(ids.size, source.share) for source in sources]
    classes, crosswise = find_crosswise(ids, text, most_classes, n_parts, threads=threads, progress=progress)
    return ChosenClasses(classes, ids, crosswise)


def _held_apart(
    sources: Sequence[ClassSource],
    text: TextSource,
    lattice: Lattice,
    *,
    seed: int,
    sizes: tuple[int, int],
    threads: int,
    progress: bool,
    counts_ahead: bool,
) -> ChosenClasses:
    """The clusterings of a text, found without the sentences that weights are fitted on.

    sizes: positions that are held apart at most, and that classes are found in.
    """
    found_without, found_in = np.empty(0, np.int32), np.empty(0, np.int32)
    clusterings, cores = list[Classes](), None
    ahead: AbstractContextManager[None] = nullcontext()
    if counts_ahead and threads > 1 and isinstance(text, TextInMemory):
        kept = threads - max(1, int(_COUNTING_CORE_SHARE * threads))
        cores = SharedCores(threads, kept=kept)
        ahead = cores.beside(partial(text.count_ahead, lattice, cores))
    with ahead:
        if any(source.path is None for source in sources):
            most_apart = sizes[0]
            sample = text.sample(seed=seed, limit=sum(sizes))
            # Up to the first sentence that begins there or later, whole sentences.
            some = sample[most_apart : most_apart + text.longest_sentence + 2]
            cut = most_apart + int(sentence_begins(some)[0])
            cut = cut if cut < sample.size else 0  # classes need some text, too
            found_without, found_in = sample[:cut], sample[cut:]
        for source in sources:
            if source.path is not None:
                clusterings.append(read_classes(source.path, text.vocabulary, text.word_counts))
                continue
            classes = find_classes(
                found_in, text.word_counts.size, source.k or automatic_k(found_in.size, source.share),
                later=found_without, threads=threads, cores=cores, progress=progress,
            )  # fmt: skip
            clusterings.append(classes.named_by(text.vocabulary))
    return ChosenClasses(tuple(clusterings), found_without if found_without.size else None)


def with_classes(
    lattice: str | Lattice | None,
    family: str,
    order: int,
    asked: AskedClasses,
    *,
    fitted: bool,
    effort: str = "default",
) -> tuple[Lattice, tuple[ClassSource, ...]]:
    """The lattice, with patterns of classes where there are to be classes, and where each clustering comes from.

    lattice: a user's own, which gets patterns of classes only if classes are asked for; None for the model's family.
    fitted: weights are fitted.
    effort: what is done where no classes are asked for.
    """
    chooses = fitted and lattice is None and asked is None
    if effort not in EFFORTS:
        raise UsageError(f"effort {effort!r}: expected {', '.join(EFFORTS)}")
    if effort != "default" and not chooses:
        raise UsageError(
            f"effort {effort}: it chooses patterns and classes of a glm with learned weights; leave it out, or "
            "what you chose yourself"
        )
    sources = EFFORTS[effort] if chooses else parse_sources(asked)
    if effort == "small":
        family, order = "chain", min(order, 3)
    if lattice is None:
        _check_fitted(sources, fitted)
        return Lattice.parse("+".join([family, *["chain"] * len(sources)]), order), sources
    patterns = lattice if isinstance(lattice, Lattice) else Lattice.parse(lattice, order)
    n_clusterings = len(patterns.of_classes)
    if asked is None:
        sources = EFFORTS["best"][:n_clusterings]
    _check_fitted(sources, fitted)
    if not n_clusterings:
        return patterns.with_classes(*["chain"] * len(sources)) if sources else patterns, sources
    if not sources:
        raise UsageError("the lattice has patterns of classes: say which classes (auto, a number, or a file)")
    if n_clusterings != len(sources):
        raise UsageError(
            f"the lattice has patterns of {n_clusterings} clusterings, and classes are named for {len(sources)}: "
            "name as many, such as 60,350,1500"
        )
    return patterns, tuple(replace(source, least_positions=0) for source in sources)


def _check_fitted(sources: Sequence[ClassSource], fitted: bool) -> None:
    if sources and not fitted:
        raise UsageError("classes are for a glm with learned weights: nothing else knows how far to trust them")
