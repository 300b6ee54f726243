"""Counting on this machine: bands of oldest words, side by side on all cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gapgram.arrays import Begins, Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.counting.band import NO_CUTS, Band, Cuts
from gapgram.counting.text_source import TextSource
from gapgram.counts.assemble import NO_COUNTS, assemble, flat_classes, frozen
from gapgram.counts.counts import Counts, Piece
from gapgram.counts.streaming import InTurn, seen_of
from gapgram.errors import TextError
from gapgram.kernels.counting import sorting
from gapgram.kernels.text.word_order import renumber
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.system.parallel import SharedCores, all_in_threads, checked_threads, parallel_map
from gapgram.text.corpus import Corpus
from gapgram.text.sentences import sample_sentences

BAND_POSITIONS = 1 << 20  # of a band at most
_CACHED_POSITIONS, _MANY_BANDS = 1 << 16, 1 << 11  # what is counted of so many stays in the cache of a processor
MAX_POSITIONS = 1 << 31


def usual_band(n_positions: int) -> int:
    """About how many positions of a text a thread counts at a time: few, but of a large text not too few.

    >>> usual_band(10_000_000), usual_band(1 << 28), usual_band(MAX_POSITIONS)
    (65536, 131072, 1048576)
    """
    return min(max(_CACHED_POSITIONS, n_positions // _MANY_BANDS), BAND_POSITIONS)


@dataclass(frozen=True)
class Bands:
    """A text sorted by word; band b, of about as many positions as others, has the words cuts[b] … cuts[b+1] - 1."""

    ids: Ids
    positions: Ids
    starts: Integers
    cuts: tuple[int, ...]

    @classmethod
    def of(cls, ids: Ids, n_words: int, n_bands: int, threads: int = 1) -> Bands:
        """Cut a text into at most n bands."""
        positions, starts = sorted_by_word(ids, n_words, threads)
        goals = positions.size * np.arange(1, n_bands) // n_bands
        inner = np.unique(np.searchsorted(starts[1:-1], goals) + 1).tolist() if n_words > 1 else []
        return cls(ids, positions, starts, (0, *inner, n_words))

    def windows(self, first_word: int, last_word: int, order: int) -> Ids:
        """The windows of a band from one word up to another, sorted by word, then by position: [window, order + 1]."""
        begin, end = self.starts[first_word], self.starts[last_word]
        windows: Ids = sorting.windows_at(self.ids, self.positions[begin:end], order)
        return windows


def sorted_by_word(
    ids: Ids, n_words: int, threads: int, *, least_span: int = 1 << 18, out: Ids | None = None
) -> tuple[Ids, Integers]:
    """All positions of a text by word, then in their order, and where each word's begin; each thread has a span of it.

    least_span: positions that a thread has at least; to start another would take as long as to sort fewer.
    out: where the positions are written; without it, a new array.

    >>> positions, starts = sorted_by_word(np.array([1, 0, 1, 2], np.int32), 3, threads=2, least_span=2)
    >>> positions.tolist(), starts.tolist()
    ([1, 0, 2, 3], [0, 1, 3, 4])
    """
    n = min(threads, max(1, ids.size // least_span))
    spans = [(ids.size * i // n, ids.size * (i + 1) // n) for i in range(n)]
    counts, positions = np.zeros((n, n_words), np.int64), np.empty(ids.size, np.int32) if out is None else out
    list(parallel_map(lambda i: sorting.count_words(ids, *spans[i], counts[i]), range(n), n))
    starts: Integers = sorting.begins_of_spans(counts)
    list(parallel_map(lambda i: sorting.place_words(ids, *spans[i], counts[i], positions), range(n), n))
    return positions, starts


def renumbered(ids: Ids, numbers: Ids, threads: int) -> Ids:
    """The number of each id, numbers[id]; each thread does a part.

    >>> renumbered(np.array([2, 0], np.int32), np.array([5, 6, 7], np.int32), threads=2).tolist()
    [7, 5]
    """
    out = np.empty(ids.size, np.int32)

    def number(i: int) -> None:
        part = slice(ids.size * i // threads, ids.size * (i + 1) // threads)
        renumber(ids[part], numbers, out[part])

    list(parallel_map(number, range(threads), threads))
    return out


class TextInMemory:
    """A text in memory, as a `TextSource`.

    band_positions: of the text, about, that a thread counts at a time, as `usual_band` says unless said otherwise;
        there are at least as many bands as threads.
    documents: the first sentence of each, and the number of sentences, where they are told apart.
    lines: where its lines were read, where it is kept.
    keeps_words: it is counted again, with other classes: the counts of words stay in memory.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        threads: int,
        progress: bool = False,
        band_positions: int | None = None,
        documents: Begins | None = None,
        lines: Any = None,
        keeps_words: bool = False,
    ) -> None:
        self.lines = lines
        self.documents, self.word_sample = documents, corpus.word_sample
        self.ids, self.vocabulary, self.word_counts = corpus.ids, corpus.vocabulary, corpus.word_counts
        self.facts, self.positions, self.longest_sentence = corpus.facts, corpus.ids.size, corpus.longest_sentence
        self._threads, self._progress = threads, progress
        self._band_positions = band_positions or usual_band(corpus.ids.size)
        self._ahead: dict[Pattern, list[Piece]] | None = None
        self._keeps_words = keeps_words

    def chunks(self) -> Iterator[Ids]:
        """All sentences in their order."""
        yield self.ids

    def sample(self, *, seed: int, limit: int) -> Ids:
        """As `TextSource`."""
        return sample_sentences([self.ids], seed=seed, limit=limit, threads=self._threads)

    def tables(self, lattice: Lattice, classes: Sequence[Classes], cuts: Cuts = NO_CUTS) -> InTurn:
        """As `TextSource`, given away once, so that memory falls while tables are made of them."""
        if self.ids.size >= MAX_POSITIONS:
            raise TextError(f"{self.ids.size:,} words at once: this engine counts up to {MAX_POSITIONS:,}")
        pieces = self._ahead or self._count_words(lattice, cuts=cuts)
        self._ahead = dict(pieces) if self._keeps_words else None
        for clustering, (of_classes, patterns) in enumerate(zip(classes, lattice.of_classes, strict=True), 1):
            ids = renumbered(self.ids, of_classes.of_word, self._threads)
            counted = self._count(ids, len(of_classes.names), patterns, "counting classes")
            pieces |= {Pattern(pattern.mask, clustering): bands for pattern, bands in counted.items()}
        return InTurn(lattice.stored, lambda pattern: iter(pieces.pop(pattern)))

    def count_ahead(self, lattice: Lattice, cores: SharedCores) -> None:
        """Count the patterns of words, for `tables`, while other work shares the cores."""
        self._ahead = self._count_words(lattice, cores)

    def _count_words(
        self, lattice: Lattice, cores: SharedCores | None = None, cuts: Cuts = NO_CUTS
    ) -> dict[Pattern, list[Piece]]:
        return self._count(self.ids, self.word_counts.size, lattice.of_words, "counting", cores, cuts)

    def _count(
        self, ids: Ids, n_words: int, lattice: Lattice, title: str, cores: SharedCores | None = None,
        cuts: Cuts = NO_CUTS,
    ) -> dict[Pattern, list[Piece]]:
        n_bands = max(-(-ids.size // self._band_positions), 1)
        bands = Bands.of(ids, n_words, n_bands if n_bands == 1 else max(n_bands, 2 * self._threads), self._threads)

        def count_band(words: tuple[int, int]) -> dict[Pattern, Piece]:
            with cores.one() if cores is not None else nullcontext():
                return Band(bands.windows(*words, lattice.order), *words, n_words, lattice, cuts).pieces()

        counted = all_in_threads(
            count_band, list(pairwise(bands.cuts)), self._threads, title=title, unit="band",
            progress=self._progress and cores is None,
        )  # fmt: skip
        return {pattern: [band[pattern] for band in counted] for pattern in lattice.stored}


def count(
    corpus: Corpus,
    lattice: Lattice,
    classes: Sequence[Classes] = (),
    *,
    threads: int | None = None,
    progress: bool = False,
    band_positions: int | None = None,
) -> Counts:
    """Count all patterns of a lattice in a corpus; those of classes, where it has any, by these clusterings."""
    threads = checked_threads(threads)
    text = TextInMemory(corpus, threads=threads, progress=progress, band_positions=band_positions)
    return counts_in_memory(text, lattice, classes, threads=threads)


def counts_in_memory(
    text: TextSource, lattice: Lattice, classes: Sequence[Classes], *, threads: int, cuts: Cuts = NO_CUTS
) -> Counts:
    """Count a text, and put the tables of all its bands together in memory."""
    check_longest(text.longest_sentence, lattice.order)
    pieces = text.tables(lattice, classes, cuts).pieces
    held = {pattern: list(pieces(pattern)) for pattern in lattice.stored}
    class_of, names = flat_classes(classes)
    seen = seen_of(cuts, lambda pattern: iter(held[pattern]))
    tables = assemble(lattice.stored, held, class_of, text.word_counts if classes else NO_COUNTS, threads=threads)
    if cuts:  # a gram may be there without its parts
        tables = frozen(tables._replace(parts=np.zeros_like(tables.parts)))
    return Counts(lattice, text.vocabulary, text.facts, tables, names, seen=seen)



def check_longest(longest_sentence: int, order: int) -> None:
    """Refuse an order that no sentence reaches, the longest having so many words."""
    if longest_sentence + 1 < order - 1:
        raise TextError(
            f"order {order} is larger than any sentence: the longest has {longest_sentence} words, which allow "
            f"order {longest_sentence + 2} at most"
        )
