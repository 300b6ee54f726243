"""Positions to fit weights on, with the statistics that a model has of them without having seen them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Begins, Floats, Ids, Mask
from gapgram.counts.counts import Counts, given_class
from gapgram.errors import UsageError
from gapgram.estimation.weights.statistics import statistics_of
from gapgram.kernels import fitting
from gapgram.kernels.lookup import availability
from gapgram.kernels.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.pattern import Pattern
from gapgram.system.parallel import map_in_order, parallel_map

NUMBERS = 1 << 24  # positions × patterns that a sample holds at most
_CHUNK = 1 << 12
_NEVER = 99  # a reach that no position allows

# All words that would be unknown make the model good at unknown words and worse at known ones, none the
# reverse; with a third of them both perplexities gain about as much (docs/weights.md).
LOST_EVERY = 3


class Rows(Protocol):
    """An array that is read in slices of its first axis, in memory or in a file."""

    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice, /) -> npt.NDArray[Any]: ...


class RowsInFile:
    """Rows in a file, for samples that take more memory than is allowed."""

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: npt.DTypeLike) -> None:
        self._path, self._shape, self._dtype, self._n = path, shape, np.dtype(dtype), 0
        path.write_bytes(b"")

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Add rows at the end."""
        with self._path.open("ab") as file:
            file.write(np.ascontiguousarray(rows, self._dtype).reshape(-1).data)
        self._n += len(rows)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, rows: slice, /) -> npt.NDArray[Any]:
        begin, end, _ = rows.indices(self._n)
        size = int(np.prod(self._shape))
        offset = begin * size * self._dtype.itemsize
        found = np.fromfile(self._path, self._dtype, max(end - begin, 0) * size, offset=offset)
        return found.reshape(-1, *self._shape)


class _RowsInMemory:
    """Rows in an array that is made once, large enough for all; what is not filled takes no memory."""

    def __init__(self, most: int, shape: tuple[int, ...], dtype: npt.DTypeLike) -> None:
        self._array, self._n = np.empty((most, *shape), dtype), 0

    def append(self, rows: npt.NDArray[Any]) -> None:
        self._array[self._n : self._n + len(rows)] = rows
        self._n += len(rows)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, rows: slice, /) -> npt.NDArray[Any]:
        return self._array[: self._n][rows]


@dataclass(frozen=True)
class Sample:
    """Statistics [position, pattern, 5], features [position, feature], and the probability of each word given its
    class, 1 without classes; see `kernels.fitting`.

    folder: where the arrays are kept if they are not in memory.
    """

    statistics: Rows
    features: Rows
    given: Rows
    folder: Path | None = None

    def __len__(self) -> int:
        return len(self.statistics)

    def each(
        self,
        name: str,
        shape: tuple[int, ...],
        of: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
        *,
        threads: int = 1,
    ) -> Rows:
        """What a function says of the statistics, row by row, kept where they are."""
        rows = _new_rows(self.folder, name, len(self), shape, np.float64)
        chunks = (self.statistics[begin : begin + _CHUNK] for begin in range(0, len(self), _CHUNK))
        for found in parallel_map(of, chunks, threads):
            rows.append(found)
        return rows


def _new_rows(
    folder: Path | None, name: str, most: int, shape: tuple[int, ...], dtype: npt.DTypeLike
) -> RowsInFile | _RowsInMemory:
    if folder is None:
        return _RowsInMemory(most, shape, dtype)
    return RowsInFile(folder / f"sample-{name}", shape, dtype)


def sample_positions(n_patterns: int) -> int:
    """The positions that a sample has at most, but for the rest of its last sentence."""
    return NUMBERS // n_patterns


def sample_bytes(n_patterns: int, order: int) -> int:
    """The memory, or disk, of a position of a sample: statistics, features and prior."""
    return n_patterns * (20 + 8) + 4 * (n_patterns + order)


def threads_within(memory: int, n_patterns: int) -> int:
    """How many threads may look up a sample: each has a few thousand positions under way, in two copies."""
    return max(1, memory // (2 * _CHUNK * n_patterns * (20 + 4 + 8)))


def chosen(chunks: Iterable[Ids], *, seed: int, limit: int) -> Ids:
    """The sentences of a text that a sample of so many positions is taken from, in the order of a hash of their words.

    The text comes in arrays of whole sentences. Of the sentences of several texts so chosen, those of all of them
    together can be chosen again.
    """
    ids, begins, hashes = np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.uint64)
    for chunk in chunks:
        more = np.append(np.flatnonzero(chunk == START_ID), chunk.size)
        found = fitting.sentence_hashes(chunk, more, seed)
        if ids.size >= limit:  # whatever comes after the last sentence kept cannot be chosen any more
            near = found < hashes[-1]
            chunk, more = _sentences(chunk, more, np.flatnonzero(near))
            found = found[near]
        ids, begins = np.concatenate([ids, chunk]), np.concatenate([begins[:-1], begins[-1] + more])
        hashes = np.concatenate([hashes, found])
        order = np.argsort(hashes, kind="stable")
        ends = np.cumsum(np.diff(begins)[order])
        order = order[: int(np.searchsorted(ends, limit)) + 1]
        ids, begins = _sentences(ids, begins, order)
        hashes = hashes[order]
    return ids


def _sentences(ids: Ids, begins: Begins, order: Begins) -> tuple[Ids, Begins]:
    """Some sentences, in this order."""
    lengths = np.diff(begins)[order]
    starts = np.append(0, np.cumsum(lengths))
    return ids[np.arange(starts[-1]) + np.repeat(begins[order] - starts[:-1], lengths)], starts


def left_out(
    counts: Counts,
    text: Ids | Iterable[Ids],
    *,
    seed: int,
    limit: int | None = None,
    folder: Path | None = None,
    threads: int = 1,
    apart: bool = False,
) -> Sample:
    """A sample of the training text itself, each position without its own contribution to the counts.

    The text is one array or comes in arrays of whole sentences. Sentences are taken in the order of a hash of their
    words, so the sample does not depend on the order of the text. A word that occurs once would be unknown without
    its one occurrence: of those every third is kept, as an unknown word.

    apart: the text is the part that classes were found without. What the class of a word is that occurs nowhere else
        would tell too much, so these words are unknown, too.
    """
    limit = limit or sample_positions(len(counts.patterns))
    ids = chosen([text] if isinstance(text, np.ndarray) else text, seed=seed, limit=limit)
    hidden = np.bincount(ids, minlength=len(counts.vocabulary)) == counts.tables.word_counts if apart else None
    return _sample(counts, ids, limit, folder, threads, seen=True, hidden=hidden)


def held_out(
    counts: Counts, ids: Ids, *, limit: int | None = None, folder: Path | None = None, threads: int = 1
) -> Sample:
    """A sample of text that the counts have not seen."""
    return _sample(counts, ids, limit or sample_positions(len(counts.patterns)), folder, threads, seen=False)


def _sample(
    counts: Counts,
    ids: Ids,
    limit: int,
    folder: Path | None,
    threads: int,
    *,
    seen: bool,
    hidden: Mask | None = None,
) -> Sample:
    """The first sentences of a text, up to the limit; `hidden` words are unknown."""
    if counts.pruned:
        raise UsageError(
            f"counts pruned ({counts.pruned}) cannot be fitted to: what a position adds to them is not known any "
            "more. Learn the weights first, then prune the model"
        )
    reaches = counts.reaches
    n_patterns, order = len(counts.patterns), counts.lattice.order
    allowed = np.where([p in counts.lattice.patterns for p in counts.patterns], reaches, _NEVER)
    begins = np.append(np.flatnonzero(ids == START_ID), ids.size)
    all_statistics = _new_rows(folder, "statistics", ids.size, (n_patterns, 5), np.int32)
    all_features = _new_rows(folder, "features", ids.size, (n_patterns + order,), np.int32)
    all_given = _new_rows(folder, "given", ids.size, (), np.float64)
    masks = np.array([p.mask for p in counts.patterns])
    of_classes = np.array([p.classes for p in counts.patterns])
    given = _given(counts, seen=seen)
    if hidden is not None:
        hidden[: END_ID + 1] = False
        given[hidden] = 0.0

    def work(chunk: tuple[Ids, Begins]) -> tuple[Ids, Ids, Floats]:
        words, starts = chunk
        available = availability(words, starts, order)
        statistics = statistics_of(counts, words, available, threads)
        usable = (words != START_ID) & (words != UNKNOWN_ID)
        if seen:
            lost = _leave_out(counts, statistics, available)
            if hidden is not None:
                fitting.hide(statistics, words, available, hidden, masks, of_classes)
                lost |= hidden[words]
            lost &= usable
            usable &= ~lost | (np.cumsum(lost) % LOST_EVERY == 0)
        features = fitting.features_of(words, available, statistics, allowed, order)
        kept = np.flatnonzero(usable)
        return statistics.take(kept, axis=0), features.take(kept, axis=0), given[words[kept]]

    for statistics, features, chances in map_in_order(work, _chunks(ids, begins, limit), threads):
        all_statistics.append(statistics)
        all_features.append(features)
        all_given.append(chances)
    return Sample(all_statistics, all_features, all_given, folder)


def _given(counts: Counts, *, seen: bool) -> Floats:
    """The probability of each word given its class, without one occurrence of the word where it was `seen`."""
    tables = counts.tables
    if not tables.class_of.size:
        return np.ones(len(counts.vocabulary))
    if not seen:
        return given_class(tables)
    totals = np.bincount(tables.class_of, tables.word_counts)[tables.class_of]
    chances: Floats = np.maximum(tables.word_counts - 1, 0) / np.maximum(totals - 1, 1)
    return chances


def _leave_out(counts: Counts, statistics: Ids, available: npt.NDArray[np.int16]) -> Mask:
    """Take each position out of its statistics; True where its word occurs nowhere else."""
    order, reaches = counts.lattice.order, np.ascontiguousarray(counts.reaches)
    contiguous = np.array([p.is_contiguous for p in counts.patterns])
    alone = np.zeros(len(statistics), bool)
    for classes in {p.classes for p in counts.patterns}:
        chain = np.array([counts.index(Pattern.contiguous(k, classes)) for k in range(order)])
        numbers = [i for i, p in enumerate(counts.patterns) if p.classes == classes]
        unique = fitting.unique_from(statistics, available, chain)
        fitting.leave_out(statistics, numbers[0], numbers[-1] + 1, available, unique, reaches, contiguous, order)
        alone |= (unique == 0) & (not classes)
    return alone


def _chunks(ids: Ids, begins: Begins, limit: int) -> Iterator[tuple[Ids, Begins]]:
    """The sentences up to the limit, a few thousand words at a time, with their starts."""
    ends = begins[1:]
    last = min(int(np.searchsorted(ends, limit)) + 1, ends.size)
    first = 0
    while first < last:
        stop = min(max(int(np.searchsorted(ends, begins[first] + _CHUNK)), first + 1), last)
        yield ids[begins[first] : begins[stop]], begins[first : stop + 1] - begins[first]
        first = stop
