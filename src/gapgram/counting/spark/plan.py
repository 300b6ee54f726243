"""What is counted together: bands of words, and parts of the words that are too frequent to be counted at once.

A word with very many windows is cut, much as `counting.on_disk.count` does it: its patterns fall into families by how
far their second word stands from the oldest, and for each family its windows are cut by that word. They are sent once
for each family. One more job counts the different words to the left of the word itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from gapgram.arrays import Integers
from gapgram.counting.in_memory import BAND_POSITIONS
from gapgram.counting.plan import cut_words, word_steps
from gapgram.kernels.tables.keys import words_by_key
from gapgram.lattice import Lattice

MAX_WINDOWS = 4 * BAND_POSITIONS  # of one word, before it is cut
LEFT = -1  # the family that counts the words to the left


@dataclass(frozen=True)
class SparkJob:
    """Windows that one task counts: of all words of a band, or of the family `second` of a frequent word."""

    band: int
    first: int
    last: int
    windows: int | None  # where it is known before
    second: int = 0


@dataclass(frozen=True)
class Frequent:
    """A word that is cut: the number of its first job of each family, and the ranks of second words that cut it."""

    families: dict[int, int]
    ranks: Integers


@dataclass(frozen=True)
class CountingPlan:
    """All jobs, those of a band after those of the bands before it."""

    jobs: tuple[SparkJob, ...]
    n_words: int
    frequent: dict[int, Frequent] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: Integers, lattice: Lattice, n_bands: int, max_windows: int = MAX_WINDOWS) -> CountingPlan:
        """Cut ids that occur so often into about n bands; those that occur more often than `max_windows` further."""
        words = cut_words(counts, min(max_windows, -(-int(counts.sum()) // n_bands)))
        families = [LEFT, *sorted({word_steps(p)[0] for p in lattice.stored if p.mask})]
        by_key = np.cumsum(counts[words_by_key(counts.size)])
        jobs: list[SparkJob] = []
        frequent = {}
        for band, (first, last) in enumerate(pairwise(words)):
            windows = int(counts[first:last].sum())
            if windows <= max_windows or last - first > 1:
                jobs.append(SparkJob(band, first, last, windows))
                continue
            n_ranges = -(-2 * windows // max_windows)
            inner = np.searchsorted(by_key, by_key[-1] * np.arange(1, n_ranges) // n_ranges)
            ranks = np.unique([0, *inner])
            begins = {}
            for second in families:
                begins[second] = len(jobs)
                n_jobs = 1 if second == LEFT else ranks.size
                jobs += [SparkJob(band, first, last, windows if second == LEFT else None, second)] * n_jobs
            frequent[first] = Frequent(begins, ranks)
        return cls(tuple(jobs), counts.size, frequent)

    def bands(self) -> Iterator[tuple[int, list[int]]]:
        """The first word of each band and the numbers of its jobs."""
        numbers_by_band: dict[int, list[int]] = {}
        for number, job in enumerate(self.jobs):
            numbers_by_band.setdefault(job.first, []).append(number)
        yield from numbers_by_band.items()
