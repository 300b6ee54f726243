"""What a text in files and a text on a cluster share: what is counted at once, and how its tables are put together.

Windows whose oldest words are in different bands have no gram in common (`counting.band`). A word that alone has too
many windows is a band of its own and is cut further. The patterns fall into families by where their second word stands,
and for each family the windows are cut by that word: two windows with a gram of the family in common also share it, so
that these parts know nothing of each other, as bands do. A part of one word that is still too large is cut by the third
word, and so on. Only one gram goes across such a cut, that of the words which all its windows share: it is counted
apart, and what follows it in the parts is added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gapgram.arrays import Integers
from gapgram.counting.band import Cuts
from gapgram.counts.counts import NONE_SEEN, Piece
from gapgram.counts.streaming import StoredPiece
from gapgram.kernels.tables.arrays import COUNT_MASK, ROW_MASK, STATISTICS
from gapgram.pattern import Pattern

# Odd factors of the words of a gram, whose sum says by its upper bits in which share of many the gram is.
MIX = np.array([0x9E3779B97F4A7C1 | 1, 0xBF58476D1CE4E5B, 0x94D049BB133111E | 1, 0xD1B54A32D192ED0 | 1] * 4)


@dataclass(frozen=True)
class Job:
    """Windows that are counted at once: those of a band of oldest words, or some of one.

    name: of the file of its pieces. steps: how far behind the oldest the words stand that all windows share, but for
    the last, which is one of several (or `word`, unless that is negative). begin: in its file of windows.
    """

    name: str
    steps: tuple[int, ...]
    first: int
    last: int
    source: str
    begin: int
    windows: int
    word: int


@dataclass(frozen=True)
class Split:
    """A job that is too large, cut by the next word: jobs by the step to that word, and the gram that all share."""

    job: Job
    gram: int
    jobs_by_step: dict[int, list[Job | Split]]

    def jobs(self) -> Iterator[Job]:
        """The jobs that are counted at once."""
        yield from jobs_of(job for jobs in self.jobs_by_step.values() for job in jobs)


def jobs_of(bands: Iterable[Job | Split]) -> Iterator[Job]:
    """The jobs of bands."""
    for band in bands:
        yield from [band] if isinstance(band, Job) else band.jobs()


@dataclass(frozen=True)
class CountedBands:
    """The tables of all bands. counted: the piece of a pattern of a job that was counted at once."""

    bands: Sequence[Job | Split]
    counted: Callable[[Job, Pattern], StoredPiece]
    cuts: Cuts

    def of(self, pattern: Pattern) -> Iterator[StoredPiece]:
        """The pieces of a pattern, in the order of the bands; may be asked for again and again."""
        for band in self.bands:
            yield from self._pieces(band, pattern, word_steps(pattern))

    def _pieces(self, band: Job | Split, pattern: Pattern, rest: tuple[int, ...]) -> Iterator[StoredPiece]:
        """The pieces of a pattern in a band; `rest` are the steps to its words that the band does not share."""
        if isinstance(band, Job):
            yield self.counted(band, pattern)
        elif not rest:
            yield _piece_of(band.gram, self.cuts.get(pattern, 0), band.job.windows)
        else:
            pieces = (p for job in band.jobs_by_step[rest[0]] for p in self._pieces(job, pattern, rest[1:]))
            if len(rest) > 1:
                yield from pieces
            else:
                has_context = band.job.windows > self.cuts.get(pattern.tail, 0)
                yield merged(list(pieces), has_context=has_context)


def _piece_of(gram: int, cut: int, occurrences: int) -> Piece:
    """The piece of one gram, which may be left out."""
    count, kept = gram & COUNT_MASK, occurrences > cut
    row = [count, *(int(kept and min(count, 3) == n) for n in (1, 2, 3)), 0 if kept else count]
    rows = np.array([[0] * STATISTICS, row][: 2 if count else 1])
    seen = NONE_SEEN + (np.arange(1, 5) == count) if cut else NONE_SEEN
    return Piece(np.array([gram] * kept, np.int64), np.array([int(count > 0)]), rows, seen)


def cut_words(counts: Integers, most: int) -> list[int]:
    """Cut words into runs that occur at most so often together; a word more frequent than that is alone."""
    ends = np.cumsum(counts)
    cuts = [0]
    while cuts[-1] < counts.size:
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(int(np.searchsorted(ends, before + most, side="right")), cuts[-1] + 1))
    return cuts


def word_steps(pattern: Pattern) -> tuple[int, ...]:
    """How far behind the oldest the other words of a pattern's grams stand.

    >>> word_steps(Pattern.parse("11011"))
    (1, 3, 4)
    """
    return tuple(pattern.reach - offset for offset in (*reversed(pattern.offsets), 0))[1:] if pattern.mask else ()


def merged(pieces: Sequence[StoredPiece], *, has_context: bool = True) -> Piece:
    """One piece of several whose one context is the same, unless that was left out."""
    row = np.zeros(STATISTICS, np.int64)
    for piece in pieces:
        row += piece.rows[piece.contexts[0] & ROW_MASK]
    grams = np.concatenate([np.empty(0, np.int64), *(piece.grams for piece in pieces)])
    seen = np.sum([NONE_SEEN, *(piece.seen for piece in pieces)], axis=0)
    rows, contexts = np.array([np.zeros(STATISTICS, np.int64), row]), np.array([int(row.any())] * has_context, np.int64)
    return Piece(grams, contexts, rows if has_context and row.any() else rows[:1], seen)
