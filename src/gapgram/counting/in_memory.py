"""Counting on this machine: bands of oldest words, side by side on all cores."""

from __future__ import annotations

import numpy as np

from gapgram.arrays import Ids
from gapgram.classes.classes import Classes
from gapgram.counting.band import Band
from gapgram.counting.windows import Bands
from gapgram.counts.assemble import assemble
from gapgram.counts.counts import Counts, Piece, TextInfo
from gapgram.errors import TextError
from gapgram.kernels.special_words import START_ID
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.system.parallel import all_in_threads, checked_threads
from gapgram.system.progress import Progress
from gapgram.text.corpus import Corpus

BAND_POSITIONS = 1 << 20


def count(
    corpus: Corpus,
    lattice: Lattice,
    classes: Classes | None = None,
    *,
    threads: int | None = None,
    progress: bool = False,
    band_positions: int = BAND_POSITIONS,
) -> Counts:
    """Count all patterns of a lattice in a corpus; those of classes, where it has any, by these classes.

    band_positions: of the text, about, that a thread counts at a time; there are at least as many bands as threads.
    """
    threads = checked_threads(threads)
    _check_text(corpus, lattice.order)
    bands = _bands(corpus.ids, len(corpus.vocabulary), threads, band_positions)
    pieces = _pieces(bands, lattice.of_words, threads, "counting", progress)
    info = TextInfo(corpus.sentences, corpus.words, corpus.digest, corpus.rule)
    if lattice.of_classes is None or classes is None:
        return Counts(lattice, corpus.vocabulary, info, assemble(lattice.stored, pieces, threads=threads))
    bands = _bands(classes.of_word[corpus.ids], len(classes), threads, band_positions)
    of_classes = _pieces(bands, lattice.of_classes, threads, "counting classes", progress)
    for pattern, found in of_classes.items():
        pieces[pattern.of_classes] = found
    word_counts = np.bincount(corpus.ids, minlength=len(corpus.vocabulary))
    tables = assemble(lattice.stored, pieces, classes.of_word, word_counts, threads=threads)
    return Counts(lattice, corpus.vocabulary, info, tables, classes.names)


def _bands(ids: Ids, n_words: int, threads: int, band_positions: int) -> Bands:
    n_bands = max(-(-ids.size // band_positions), 1)
    return Bands.of(ids, n_words, n_bands if n_bands == 1 else max(n_bands, 2 * threads))


def _pieces(
    bands: Bands, lattice: Lattice, threads: int, title: str, progress: bool
) -> dict[Pattern, list[Piece]]:
    """The pieces of all patterns, band by band."""
    n_words = bands.cuts[-1]

    def work(band: tuple[int, int]) -> dict[Pattern, Piece]:
        return Band(bands.windows(band, lattice.order), *band, n_words, lattice).pieces()

    with Progress(title, total=len(bands), unit="band", progress=progress) as bar:
        results = all_in_threads(work, bands, threads, bar)
    pieces: dict[Pattern, list[Piece]] = {}
    for band_pieces in results:
        for pattern, piece in band_pieces.items():
            pieces.setdefault(pattern, []).append(piece)
    return pieces


def check_length(longest: int, order: int) -> None:
    """Refuse an order that no sentence reaches, the longest having so many words."""
    if longest + 1 < order - 1:
        raise TextError(
            f"order {order} is larger than any sentence: the longest has {longest} words, which allow "
            f"order {longest + 2} at most"
        )


def _check_text(corpus: Corpus, order: int) -> None:
    starts = np.flatnonzero(corpus.ids == START_ID)
    check_length(int(np.max(np.diff(np.append(starts, corpus.ids.size)))) - 2, order)
    if corpus.ids.size >= 1 << 31:
        raise TextError(f"{corpus.ids.size:,} words at once: this engine counts up to {1 << 31:,}")
