"""Counting in bounded memory: windows and tables go through the files of a work folder.

The windows of the text are written to one file, those of each band of oldest words together; each band is then read,
counted and its tables written to a file of its own, as many bands side by side as there are threads and as the memory
allows.

Windows of a word that alone is too frequent for the memory are written again, cut by another word (`counting.plan`).
The count of the gram that goes across a cut is found by reading the windows through.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise

import numpy as np

from gapgram.arrays import Begins, Ids
from gapgram.classes.classes import Classes
from gapgram.counting.band import NO_CUTS, Band, Cuts
from gapgram.counting.in_memory import BAND_POSITIONS
from gapgram.counting.memory_needs import window_bytes
from gapgram.counting.on_disk.piece_files import PieceFile
from gapgram.counting.on_disk.scatter import Scattered, checksum_of
from gapgram.counting.on_disk.stored_text import StoredClasses, StoredText
from gapgram.counting.plan import MIX, CountedBands, Job, Split, cut_words, jobs_of, word_steps
from gapgram.counts.counts import Piece
from gapgram.counts.streaming import InTurn, Pieces, words_and_classes
from gapgram.kernels.counting import sorting
from gapgram.kernels.tables.arrays import COUNT_BITS
from gapgram.kernels.tables.keys import words_by_key
from gapgram.kernels.text.special_words import START_ID
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.system.memory import MemoryLimit
from gapgram.system.parallel import all_in_threads
from gapgram.system.progress import progress_bar
from gapgram.system.work_folder import WorkFolder
from gapgram.text.sentences import sample_sentences

_COUNTED = "counted"  # the stage after which windows are needed no longer
SAMPLED_POSITIONS = 1 << 20  # read at a time to take a sample of a text


class _MemoryBudget:
    """Memory that threads take a share of and give back; who does not find enough waits."""

    def __init__(self, size: int) -> None:
        self._free, self._size, self._changed = size, size, threading.Condition()

    @contextmanager
    def taken(self, n_bytes: int) -> Iterator[None]:
        n_bytes = min(n_bytes, self._size)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= n_bytes)
            self._free -= n_bytes
        try:
            yield
        finally:
            with self._changed:
                self._free += n_bytes
                self._changed.notify_all()


class TextInFiles:
    """A text in the files of a work folder, as a `TextSource`; `memory`: what counting it may take.

    documents: the first sentence of each, and the number of sentences, where they are told apart.
    """

    def __init__(
        self, stored: StoredText, folder: WorkFolder, *, memory: MemoryLimit, threads: int, progress: bool = False,
        documents: Begins | None = None,
    ) -> None:  # fmt: skip
        self.documents = documents
        self.facts, self.positions = stored.facts, stored.facts.positions
        self.longest_sentence = stored.longest_sentence
        self.vocabulary, self.word_counts = stored.vocabulary, stored.word_counts
        self.word_sample = stored.word_sample
        self.folder, self._stored, self._memory, self._threads = folder, stored, memory, threads
        self._progress = progress

    def another(self, stored: StoredText, folder: WorkFolder) -> TextInFiles:
        """Another text, in another folder, that may take the same memory."""
        return TextInFiles(stored, folder, memory=self._memory, threads=self._threads)

    def chunks(self) -> Iterator[Ids]:
        """All sentences in their order, some at a time."""
        return self._stored.chunks(SAMPLED_POSITIONS)

    def sample(self, *, seed: int, limit: int) -> Ids:
        """As `TextSource`."""
        return sample_sentences(self.chunks(), seed=seed, limit=limit)

    def tables(self, lattice: Lattice, classes: Sequence[Classes], cuts: Cuts = NO_CUTS) -> InTurn:
        """As `TextSource`."""
        words = self._count(self._stored, lattice.of_words, self.folder, cuts)
        of_classes = [
            self._count(StoredClasses(self._stored, own), patterns, self.folder.inside(f"classes{number}"))
            for number, (own, patterns) in enumerate(zip(classes, lattice.of_classes, strict=True), 1)
        ]
        return InTurn(lattice.stored, words_and_classes(words, *of_classes))

    def _count(
        self, text: StoredText | StoredClasses, lattice: Lattice, folder: WorkFolder, cuts: Cuts = NO_CUTS
    ) -> Pieces:
        memory, threads = self._memory.left(), self._threads
        return SpilledCount(text, lattice, folder, memory=memory, threads=threads, cuts=cuts).pieces(
            progress=self._progress
        )


class SpilledCount:
    """One run of counting; `pieces` does it."""

    def __init__(
        self,
        text: StoredText | StoredClasses,
        lattice: Lattice,
        folder: WorkFolder,
        *,
        memory: int,
        threads: int = 1,
        cuts: Cuts = NO_CUTS,
    ) -> None:
        self.text, self.lattice, self.folder, self.cuts = text, lattice, folder, cuts
        self.memory, self.threads = memory, threads
        self.order, self.width, self.n_words = lattice.order, lattice.order + 1, len(text.vocabulary)

    def pieces(self, *, progress: bool = False) -> Pieces:
        """Count all bands that are not counted yet."""
        bands = self._cut(progress)
        if not self._can_go_on(bands):
            self._begin_anew()
            bands = self._cut(progress)
        budget = _MemoryBudget(self.memory)

        def work(job: Job) -> None:
            if not PieceFile.is_whole(self.folder.path / job.name):
                with (
                    budget.taken(job.windows * window_bytes(self.order)),
                    self.folder.written(job.name, synced=False) as file,
                ):
                    PieceFile.write(file, self._count(job))

        if self.folder.done(_COUNTED) is None:
            jobs = list(jobs_of(bands))
            all_in_threads(work, jobs, self.threads, title="counting", unit="band", progress=progress)
            self.folder.note(_COUNTED, True)
        for path in self.folder.path.glob("windows*"):
            path.unlink()
        files = {job.name: PieceFile(self.folder.path / job.name) for job in jobs_of(bands)}
        return CountedBands(bands, lambda job, pattern: files[job.name].piece(pattern), self.cuts).of

    def _can_go_on(self, bands: list[Job | Split]) -> bool:
        """Whether what an earlier run has left can be used: it had no more memory, and what it counted is whole."""
        if self.folder.done(_COUNTED) is not None:
            return all(PieceFile.is_whole(self.folder.path / job.name) for job in jobs_of(bands))
        return all(self._fits(job.windows) for job in jobs_of(bands))

    def _begin_anew(self) -> None:
        """Forget what an earlier run has left of its counting."""
        for stages in (_COUNTED, "windows", "split"):
            self.folder.forget(stages)
        for path in self.folder.path.glob("pieces*"):
            path.unlink()

    def _cut(self, progress: bool) -> list[Job | Split]:
        """The bands, those too large for the memory cut further."""
        noted = self.folder.done("windows")
        cuts = noted["cuts"] if noted and self._is_left(noted["files"]) else self._scatter(progress)
        begins = np.concatenate([[0], np.cumsum(self.text.word_counts)])[cuts].tolist()
        bands: list[Job | Split] = []
        for k, (first, last) in enumerate(pairwise(cuts)):
            word = first if last - first == 1 else -1
            band = Job(f"pieces-{k}", (), first, last, "windows", begins[k], begins[k + 1] - begins[k], word)
            bands.append(self._cut_further(band))
        return bands

    @property
    def _goal(self) -> int:
        """Windows of an ordinary band."""
        return max(1, min(BAND_POSITIONS, self.memory // self.threads // window_bytes(self.order)))

    @property
    def _chunk(self) -> int:
        """Ids, or windows, that are moved at a time; each thread has some, and as many wait."""
        return max(1 << 10, min(1 << 20, self.memory // (6 * (self.threads + 1) * self.width)))

    def _fits(self, windows: int) -> bool:
        return windows * window_bytes(self.order) <= self.memory and windows * self.width < 1 << 31

    def _scatter(self, progress: bool) -> list[int]:
        """Write the windows of the text, those of each band together, in the order of the text."""
        cuts = cut_words(self.text.word_counts, self._goal)
        ends = np.concatenate([[0], np.cumsum(self.text.word_counts)])
        numbers = np.repeat(np.arange(len(cuts) - 1, dtype=np.int32), np.diff(cuts))
        with (
            progress_bar("sorting", total=self.text.facts.positions, unit="word", progress=progress) as advance,
            Scattered(self.folder.path / "windows", ends[cuts[:-1]], self.width, self.threads) as target,
        ):
            for ids in self.text.chunks(self._chunk):
                positions, starts = sorting.positions_by_word(numbers[ids], len(cuts) - 1)
                target.add(partial(self._windows_at, ids, positions), starts)
                advance(ids.size)
        self.folder.note("windows", {"cuts": cuts, "files": {"windows": target.checksum}})
        return cuts

    def _windows_at(self, ids: Ids, positions: Ids, some: slice) -> Ids:
        windows: Ids = sorting.windows_at(ids, positions[some], self.order)
        return windows

    def _is_left(self, files: dict[str, int]) -> bool:
        """Whether files of windows are as an earlier run has left them; they are gone once all is counted."""
        if self.folder.done(_COUNTED) is not None:
            return True
        return all(checksum_of(self.folder.path / name) == checksum for name, checksum in files.items())

    def _read(self, name: str, begin: int, windows: int) -> Ids:
        path, offset = self.folder.path / name, 4 * begin * self.width
        return np.fromfile(path, np.int32, windows * self.width, offset=offset).reshape(-1, self.width)

    def _count(self, job: Job) -> Iterator[tuple[Pattern, Piece]]:
        windows = self._read(job.source, job.begin, job.windows)
        if job.last - job.first > 1:
            order, _ = sorting.positions_by_word(windows[:, 1] - np.int32(job.first), job.last - job.first)
            windows = windows[order]
        return Band(windows, job.first, job.last, self.n_words, self.lattice, self.cuts).each(job.steps)

    def _cut_further(self, job: Job) -> Job | Split:
        """A job that fits into memory as it is; another is cut."""
        stage = f"split-{job.name}"
        noted = self.folder.done(stage)
        if noted is None or not self._is_left(noted["files"]):
            if job.word < 0 or self._fits(job.windows):
                return job
            n = len(job.steps)
            nexts = sorted({p[n] for p in map(word_steps, self.lattice.stored) if p[:n] == job.steps and len(p) > n})
            split = {step: self._split(job, step) for step in nexts}
            files = {_source(job, step): checksum for step, (_, checksum) in split.items()}
            noted = {"gram": self._gram(job), "jobs": [[step, sizes] for step, (sizes, _) in split.items()]}
            self.folder.note(stage, {**noted, "files": files})
        jobs_by_step: dict[int, list[Job | Split]] = {}
        for step, sizes in noted["jobs"]:
            begin, jobs_by_step[step] = 0, []
            for k, (windows, word) in enumerate(sizes):
                name, source = f"{job.name}-{step}.{k}", _source(job, step)
                smaller = Job(name, (*job.steps, step), job.first, job.last, source, begin, windows, word)
                jobs_by_step[step].append(self._cut_further(smaller))
                begin += windows
        return Split(job, noted["gram"], jobs_by_step)

    def _split(self, job: Job, step: int) -> tuple[list[tuple[int, int]], int]:
        """Write the windows that have a word so many steps behind the oldest, cut by it.

        Returns the size of each run of words, and the word where it is one; and the checksum of the file.
        """
        counts = np.zeros(self.n_words, np.int64)
        for windows in self._windows_of(job, step):
            counts += np.bincount(windows[:, 1 + step], minlength=counts.size)
        by_key = words_by_key(self.n_words)  # the order of grams, but for their oldest words
        by_key = by_key[counts[by_key] > 0]
        cuts = cut_words(counts[by_key], self._goal)
        numbers = np.zeros(self.n_words, np.int32)
        numbers[by_key] = np.repeat(np.arange(len(cuts) - 1, dtype=np.int32), np.diff(cuts))
        sizes = np.diff(np.concatenate([[0], np.cumsum(counts[by_key])])[cuts])
        begins = np.cumsum(sizes) - sizes
        with Scattered(self.folder.path / _source(job, step), begins, self.width, 1) as target:
            for windows in self._windows_of(job, step):
                order, starts = sorting.positions_by_word(numbers[windows[:, 1 + step]], sizes.size)
                target.add(partial(_rows, windows, order), starts)
        words = [int(by_key[a]) if b - a == 1 else -1 for a, b in pairwise(cuts)]
        return list(zip(sizes.tolist(), words, strict=True)), target.checksum

    def _windows_of(self, job: Job, step: int = 0) -> Iterator[Ids]:
        """The windows of a job that have a word so many steps behind the oldest, some at a time."""
        for begin in range(0, job.windows, self._chunk):
            windows = self._read(job.source, job.begin + begin, min(self._chunk, job.windows - begin))
            yield windows[windows[:, 1 + step] >= 0]

    def _gram(self, job: Job) -> int:
        """The gram of the words that all windows of a job share, and its count.

        Equations (2) to (4) of docs/ideas/mathematics.md, for one gram.
        """
        reach = job.steps[-1] if job.steps else 0
        gaps = [1 + step for step in range(1, reach) if step not in job.steps]
        if not job.steps and job.first == START_ID:
            count = 0
        elif gaps:
            count = self._different(job, gaps)
        elif reach < self.order - 1 and job.first != START_ID:
            count = self._different(job, [0])
        else:
            count = job.windows
        return job.word << COUNT_BITS | count

    def _different(self, job: Job, columns: list[int]) -> int:
        """How many different words the windows of a job have in these columns, taken together."""
        if len(columns) == 1:
            seen = np.zeros(self.n_words, np.bool_)
            for windows in self._windows_of(job):
                seen[windows[:, columns[0]]] = True
            return int(seen.sum())
        n_shares, total = 1 + 32 * len(columns) * job.windows // self.memory, 0
        for share in range(n_shares):
            seen = np.empty((0, len(columns)), np.int32)
            for windows in self._windows_of(job):
                words = windows[:, columns]
                mixed = (words.astype(np.int64) @ MIX[: len(columns)]) >> 20
                seen = np.unique(np.concatenate([seen, words[mixed % n_shares == share]]), axis=0)
            total += len(seen)
        return total


def _source(job: Job, step: int) -> str:
    """The file of windows of a job that were cut by the word so many steps behind the oldest."""
    return f"windows-{job.name.removeprefix('pieces-')}-{step}"


def _rows(windows: Ids, order: Ids, some: slice) -> Ids:
    return windows[order[some]]
