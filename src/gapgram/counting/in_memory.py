"""Counting on this machine: bands of oldest words, side by side on all cores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gapgram.arrays import Ids
from gapgram.classes.classes import Classes
from gapgram.counting.band import Band
from gapgram.counting.text_source import TextSource, check_longest, count_pieces
from gapgram.counting.windows import Bands
from gapgram.counts.assemble import NO_CLASSES, NO_COUNTS, assemble
from gapgram.counts.counts import Counts, Piece
from gapgram.errors import TextError
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.system.parallel import all_in_threads, checked_threads
from gapgram.text.corpus import Corpus
from gapgram.text.sentences import sample_sentences

BAND_POSITIONS = 1 << 20
MAX_POSITIONS = 1 << 31


class TextInMemory:
    """A text in memory, as a `TextSource`.

    band_positions: of the text, about, that a thread counts at a time; there are at least as many bands as threads.
    """

    def __init__(
        self, corpus: Corpus, *, threads: int, progress: bool = False, band_positions: int = BAND_POSITIONS
    ) -> None:
        self.ids, self.vocabulary, self.word_counts = corpus.ids, corpus.vocabulary, corpus.word_counts
        self.facts, self.longest_sentence = corpus.facts, corpus.longest_sentence
        self._threads, self._progress, self._band_positions = threads, progress, band_positions

    def sample(self, *, seed: int, limit: int) -> Ids:
        """As `TextSource`."""
        return sample_sentences([self.ids], seed=seed, limit=limit)

    def pieces(self, lattice: Lattice, classes: Classes | None = None) -> HeldPieces:
        """As `TextSource`."""
        if self.ids.size >= MAX_POSITIONS:
            raise TextError(f"{self.ids.size:,} words at once: this engine counts up to {MAX_POSITIONS:,}")
        if classes is None:
            return self._count(self.ids, len(self.word_counts), lattice, "counting")
        return self._count(classes.of_word[self.ids], len(classes.names), lattice, "counting classes")

    def _count(self, ids: Ids, n_words: int, lattice: Lattice, title: str) -> HeldPieces:
        n_bands = max(-(-ids.size // self._band_positions), 1)
        bands = Bands.of(ids, n_words, n_bands if n_bands == 1 else max(n_bands, 2 * self._threads))

        def count_band(words: tuple[int, int]) -> dict[Pattern, Piece]:
            return Band(bands.windows(*words, lattice.order), *words, n_words, lattice).pieces()

        done = all_in_threads(
            count_band, list(pairwise(bands.cuts)), self._threads, title=title, unit="band", progress=self._progress
        )
        return HeldPieces(lattice, done)


class HeldPieces:
    """Pieces in memory. Those of a pattern are given away once, so that memory falls while tables are made of them."""

    def __init__(self, lattice: Lattice, bands: list[dict[Pattern, Piece]]) -> None:
        self._bands = {pattern: [band[pattern] for band in bands] for pattern in lattice.stored}

    def of(self, pattern: Pattern) -> Iterator[Piece]:
        """The pieces of a pattern in the order of the bands."""
        return iter(self._bands.pop(pattern))


def count(
    corpus: Corpus,
    lattice: Lattice,
    classes: Classes | None = None,
    *,
    threads: int | None = None,
    progress: bool = False,
    band_positions: int = BAND_POSITIONS,
) -> Counts:
    """Count all patterns of a lattice in a corpus; those of classes, where it has any, by these classes."""
    threads = checked_threads(threads)
    text = TextInMemory(corpus, threads=threads, progress=progress, band_positions=band_positions)
    return counts_in_memory(text, lattice, classes, threads=threads)


def counts_in_memory(text: TextSource, lattice: Lattice, classes: Classes | None, *, threads: int) -> Counts:
    """Count a text, and put the tables of all its bands together in memory."""
    check_longest(text.longest_sentence, lattice.order)
    pieces = count_pieces(text, lattice, classes)
    held = {pattern: list(pieces.of(pattern)) for pattern in lattice.stored}
    if lattice.of_classes is None or classes is None:
        tables = assemble(lattice.stored, held, NO_CLASSES, NO_COUNTS, threads=threads)
        return Counts(lattice, text.vocabulary, text.facts, tables)
    tables = assemble(lattice.stored, held, classes.of_word, text.word_counts, threads=threads)
    return Counts(lattice, text.vocabulary, text.facts, tables, classes.names)
