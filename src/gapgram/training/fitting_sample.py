"""The sample that the weights of a run are fitted on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gapgram.arrays import Ids
from gapgram.classes.classes import Classes
from gapgram.classes.exchange import find_classes
from gapgram.counting.in_memory import TextInMemory, counts_in_memory
from gapgram.counting.memory_needs import sample_positions
from gapgram.counting.text_source import TextSource
from gapgram.counts.counts import Counts
from gapgram.estimation.weights.sample import FittingSample, held_out, left_out, left_out_in_parts
from gapgram.kernels.text.special_words import START_ID
from gapgram.lattice import Lattice
from gapgram.text.corpus import Corpus

if TYPE_CHECKING:
    from gapgram.training.choose_classes import ChosenClasses

PARTS = 5  # of a small text, each fitted with classes that were found in the others

Clusterings = tuple[Classes, ...]


def fitting_sample(
    text: TextSource,
    counts: Counts,
    chosen: ChosenClasses,
    unseen: Ids | None,
    *,
    seed: int,
    folder: Path | None,
    threads: int,
) -> FittingSample:
    """Positions of held-out text, if there is any, of what classes were found without, or of the whole text.

    folder: for a sample that is larger than the memory. threads: that may look it up.
    """
    if unseen is not None:
        return held_out(counts, unseen, folder=folder, threads=threads)
    ids, is_apart = chosen.held_apart, chosen.held_apart is not None
    if ids is None:
        ids = text.sample(seed=seed, limit=sample_positions(len(counts.lattice.stored)))
    if chosen.crosswise:
        parts = counts_without(ids, text, chosen.crosswise, counts.lattice, threads=threads)
        return left_out_in_parts(parts, counts.lattice, ids.size, seed=seed, folder=folder, threads=threads)
    return left_out(counts, ids, seed=seed, folder=folder, threads=threads, held_apart=is_apart)


def parts_of(ids: Ids) -> list[tuple[Ids, Ids]]:
    """Each part of a text, every fifth sentence, and the rest.

    >>> parts_of(np.array([1, 7, 2, 1, 8, 9, 2]))[:2]
    [(array([1, 7, 2]), array([1, 8, 9, 2])), (array([1, 8, 9, 2]), array([1, 7, 2]))]
    """
    part = (np.cumsum(ids == START_ID) - 1) % PARTS
    return [(ids[part == number], ids[part != number]) for number in range(PARTS)]


def find_crosswise(
    ids: Ids, text: TextSource, most_classes: Sequence[int], n_parts: int = PARTS, *, threads: int,
    progress: bool = False,
) -> tuple[Clusterings, tuple[Clusterings, ...]]:  # fmt: skip
    """(clusterings of a whole text, those found without each of its first parts); `ids`: all of it, by hash.

    So weights are learned from all of a small text, or from much of it, and none is looked up in classes that it has
    made. The classes of the model itself are found in the whole text.
    """

    def found(found_in: Ids, later: Ids) -> Clusterings:
        find = partial(find_classes, found_in, text.word_counts.size, later=later, threads=threads, progress=progress)
        return tuple(find(k).named_by(text.vocabulary) for k in most_classes)

    return found(ids, ids[:0]), tuple(found(rest, own) for own, rest in parts_of(ids)[:n_parts])


def counts_without(
    ids: Ids, text: TextSource, clusterings: Sequence[Clusterings], lattice: Lattice, *, threads: int
) -> Iterator[tuple[Counts, Ids]]:
    """For the first parts of a text the counts of the whole with the classes that were found without each, and it."""
    corpus = Corpus(ids, text.vocabulary, text.word_counts, text.facts, text.longest_sentence, 0)
    whole = TextInMemory(corpus, threads=threads, keeps_words=True)
    for classes, (own, _) in zip(clusterings, parts_of(ids), strict=False):
        yield counts_in_memory(whole, lattice, classes, threads=threads), own
