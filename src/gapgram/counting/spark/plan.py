"""What each task counts: bands of words, and parts of those words that are too frequent to be counted at once.

They are cut as `counting.plan` tells. How often a word has another some steps behind it is not known before all windows
are made, so it is taken from a sample: how large the parts become depends on it, what is counted does not. The gram
that all windows of such a word share is counted by jobs of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gapgram.arrays import Ids, Integers, Mask
from gapgram.counting.in_memory import BAND_POSITIONS
from gapgram.counting.plan import Job, Split, cut_words, word_steps
from gapgram.kernels.counting import sorting
from gapgram.kernels.tables.arrays import COUNT_BITS
from gapgram.kernels.tables.keys import words_by_key
from gapgram.kernels.text.special_words import START_ID
from gapgram.lattice import Lattice

MAX_WINDOWS = 4 * BAND_POSITIONS  # of one word, before it is cut
UNKNOWN = -1  # how many windows a part will have


@dataclass(frozen=True)
class SharedGram:
    """Counts the gram that all windows of a job share: different words in these columns of them, or, without, windows.

    One of several that share the work: it looks at the words whose hash says so.
    """

    columns: tuple[int, ...]
    share: int
    shares: int
    is_counted: bool  # not of <s>, which is never predicted


@dataclass(frozen=True)
class Cut:
    """A job that is cut.

    gram: the numbers of the jobs that count the gram of all its windows, which are `grams`. ranks: by step those of
    the words that begin a part; parts: these, a number or what is cut further.
    """

    job: Job
    gram: range
    grams: tuple[SharedGram, ...]
    ranks: dict[int, Integers]
    parts: dict[int, tuple[int | Cut, ...]]


@dataclass(frozen=True)
class CountingPlan:
    """All jobs by number, and the bands in order: a number, or what is cut. done: jobs whose files are there."""

    jobs: tuple[Job | SharedGram, ...]
    bands: tuple[int | Cut, ...]
    n_words: int
    done: frozenset[int] = frozenset()

    @property
    def firsts(self) -> list[int]:
        """The first word of each band."""
        return [(self.jobs[band] if isinstance(band, int) else band.job).first for band in self.bands]  # type: ignore[union-attr]

    def resolved(self, windows: Mapping[int, int], counts: Mapping[int, int]) -> list[Job | Split]:
        """The bands, given how many windows each job had, if any, and what those of grams counted."""

        def found(node: int | Cut) -> Iterator[Job | Split]:
            if isinstance(node, int):
                job = self.jobs[node]
                assert isinstance(job, Job)
                if job.windows == 0 or node in windows:
                    yield replace(job, windows=windows.get(node, 0))
                return
            n_windows = windows.get(node.gram.start, 0)
            if not n_windows:
                return
            count = sum(counts.get(number, 0) for number in node.gram)
            parts = {step: [p for part in some for p in found(part)] for step, some in node.parts.items()}
            yield Split(replace(node.job, windows=n_windows), node.job.word << COUNT_BITS | count, parts)

        return [band for node in self.bands for band in found(node)]


def plan_of(
    counts: Integers, lattice: Lattice, n_bands: int, max_windows: int = MAX_WINDOWS, sample: Ids | None = None
) -> CountingPlan:
    """Cut ids that occur so often into about n bands; those that occur more often than `max_windows` further.

    sample: of the text, for these.
    """
    planning = _Planning(counts, lattice, max_windows, sample)
    words = cut_words(counts, max(1, min(max_windows, -(-int(counts.sum()) // n_bands))))
    bands = tuple(planning.band(first, last) for first, last in pairwise(words))
    return CountingPlan(tuple(planning.jobs), bands, counts.size)


def job_name(number: int) -> str:
    """The name of the file of a job.

    >>> job_name(7), job_number("pieces-7")
    ('pieces-7', 7)
    """
    return f"pieces-{number}"


def job_number(name: str) -> int:
    """The number of a job, by the name of its file."""
    return int(name.rpartition("-")[2])


def is_cut(counts: Integers, max_windows: int) -> bool:
    """Whether some word is too frequent to be counted at once."""
    return bool(counts.max(initial=0) > max_windows)


class _Planning:
    """Jobs as they are numbered."""

    def __init__(self, counts: Integers, lattice: Lattice, max_windows: int, sample: Ids | None) -> None:
        self.counts, self.order, self.max_windows = counts, lattice.order, max_windows
        self.steps = [word_steps(p) for p in lattice.stored]
        self.ids = sample if sample is not None else np.empty(0, np.int32)
        self.weight = max(int(counts.sum()), 1) / max(self.ids.size, 1)
        self.by_key = words_by_key(counts.size)
        self.ranks = ranks_of(counts.size)
        self.jobs: list[Job | SharedGram] = []

    def band(self, first: int, last: int) -> int | Cut:
        windows = int(self.counts[first:last].sum())
        job = Job("", (), first, last, "", 0, windows, first if last - first == 1 else -1)
        if windows <= self.max_windows or job.word < 0:
            return self._numbered(job)
        own = np.flatnonzero(self.ids == first).astype(np.int32)
        return self._cut(job, sorting.windows_at(self.ids, own, self.order))

    def _numbered(self, job: Job) -> int:
        self.jobs.append(replace(job, name=job_name(len(self.jobs))))
        return len(self.jobs) - 1

    def _cut(self, job: Job, sample: Ids) -> Cut:
        gram = self._gram(job, len(sample) * self.weight)
        n = len(job.steps)
        nexts = sorted({steps[n] for steps in self.steps if steps[:n] == job.steps and len(steps) > n})
        ranks, parts = {}, {}
        goal = max(1, int(self.max_windows / 2 / self.weight))
        for step in nexts:
            kept = sample[sample[:, 1 + step] >= 0]
            of_kept = self.ranks[kept[:, 1 + step]]
            cuts = cut_words(np.bincount(of_kept, minlength=self.counts.size), goal)
            ranks[step] = np.array(cuts[:-1])
            part_of = np.searchsorted(ranks[step], of_kept, side="right") - 1
            parts[step] = tuple(
                self._part(job, step, int(self.by_key[a]) if b - a == 1 else -1, kept, part_of == number)
                for number, (a, b) in enumerate(pairwise(cuts))
            )
        grams = tuple(g for g in self.jobs[gram.start : gram.stop] if isinstance(g, SharedGram))
        return Cut(job, gram, grams, ranks, parts)

    def _part(self, job: Job, step: int, word: int, kept: Ids, own: Mask) -> int | Cut:
        part = Job("", (*job.steps, step), job.first, job.last, "", 0, UNKNOWN, word)
        if word < 0 or np.count_nonzero(own) * self.weight <= self.max_windows:
            return self._numbered(part)
        return self._cut(part, kept[own])

    def _gram(self, job: Job, windows: float) -> range:
        """Jobs for the gram that all windows of a job share: equations (2) to (4) of docs/ideas/mathematics.md."""
        reach = job.steps[-1] if job.steps else 0
        columns = tuple(1 + step for step in range(1, reach) if step not in job.steps)
        if not columns and reach < self.order - 1 and job.first != START_ID:
            columns = (0,)
        shares = 1 + (len(columns) > 1) * int(windows // self.max_windows)
        first, is_counted = len(self.jobs), bool(job.steps) or job.first != START_ID
        self.jobs += [SharedGram(columns, share, shares, is_counted) for share in range(shares)]
        return range(first, first + shares)


def ranks_of(n_words: int) -> Ids:
    """The place of each word in the order of keys, which is that of grams, but for their oldest words."""
    ranks = np.empty(n_words, np.int32)
    ranks[words_by_key(n_words)] = np.arange(n_words, dtype=np.int32)
    return ranks
