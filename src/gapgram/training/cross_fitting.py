"""Classes of a small text, fitted crosswise: too much would be lost if a part of it was held apart.

The text is cut into parts. For each part classes are found without it, and its positions are looked up in the counts of
these classes: so weights are learned from all of the text, and none of it is looked up in classes that it has made. The
classes of the model itself are found in the whole text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gapgram.arrays import Ids
from gapgram.classes.classes import Classes
from gapgram.classes.exchange import find_classes
from gapgram.counting.in_memory import TextInMemory, counts_in_memory
from gapgram.counting.text_source import TextSource
from gapgram.counts.counts import Counts
from gapgram.kernels.special_words import START_ID
from gapgram.lattice import Lattice
from gapgram.text.corpus import Corpus

PARTS = 5

Clusterings = tuple[Classes, ...]


def parts_of(ids: Ids) -> list[tuple[Ids, Ids]]:
    """Each part of a text, every fifth sentence, and the rest.

    >>> parts_of(np.array([1, 7, 2, 1, 8, 9, 2]))[:2]
    [(array([1, 7, 2]), array([1, 8, 9, 2])), (array([1, 8, 9, 2]), array([1, 7, 2]))]
    """
    part = (np.cumsum(ids == START_ID) - 1) % PARTS
    return [(ids[part == number], ids[part != number]) for number in range(PARTS)]


def find_crosswise(
    ids: Ids, text: TextSource, most_classes: Sequence[int], *, threads: int
) -> tuple[Clusterings, tuple[Clusterings, ...]]:
    """(clusterings of a whole text, those found without each of its parts); `ids`: all of it, by hash."""

    def found(found_in: Ids, later: Ids) -> Clusterings:
        n_words = text.word_counts.size
        return tuple(
            find_classes(found_in, n_words, k, later=later, threads=threads).named_by(text.vocabulary)
            for k in most_classes
        )

    return found(ids, ids[:0]), tuple(found(rest, own) for own, rest in parts_of(ids))


def counts_without(
    ids: Ids, text: TextSource, clusterings: Sequence[Clusterings], lattice: Lattice, *, threads: int
) -> Iterator[tuple[Counts, Ids]]:
    """For each part of a text the counts of the whole with the classes that were found without it, and the part."""
    corpus = Corpus(ids, text.vocabulary, text.word_counts, text.facts, text.longest_sentence, 0)
    whole = TextInMemory(corpus, threads=threads, keeps_words=True)
    for classes, (own, _) in zip(clusterings, parts_of(ids), strict=True):
        yield counts_in_memory(whole, lattice, classes, threads=threads), own
