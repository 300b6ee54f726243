"""Positions to fit weights on, with the statistics that a model has of them without having seen them.

Equations (23) and (25) of docs/ideas/mathematics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Begins, Floats, Ids, Integers, Mask
from gapgram.counting.memory_needs import SAMPLE_CHUNK_POSITIONS, sample_positions
from gapgram.counts.counts import Counts
from gapgram.errors import UsageError
from gapgram.estimation.parts import given_class
from gapgram.kernels.fitting import sample as fitting
from gapgram.kernels.probability.query import Found, availability
from gapgram.kernels.tables.arrays import N_CONTEXTS, N_GRAMS, N_ROWS, STATISTICS, STRIDE, TAIL, WIDTH, Tables
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.system.mapped_pages import AROUND, PageBudget
from gapgram.system.parallel import parallel_map
from gapgram.text.corpus import sentence_begins
from gapgram.text.sentences import sample_sentences

_NEVER = 99  # a reach that no position allows
# Where a sample is held in memory, and not in files:
_AHEAD = 2  # times as many pieces are looked up as there are threads before all wait for the first of them
_LARGER = 8  # pieces are so much larger where little is done with each

# All words that would be unknown make the model good at unknown words and worse at known ones, none the
# reverse; with a third of them both perplexities gain about as much (docs/measured/weights.md).
LOST_EVERY = 3


class Rows:
    """An array that grows at its end, and is read in slices of its first axis.

    In memory it is made once, large enough for `most` rows: what is not filled takes no memory. path: of the file that
    it is in, for samples that take more memory than is allowed.
    """

    def __init__(self, most: int, shape: tuple[int, ...], dtype: npt.DTypeLike, path: Path | None = None) -> None:
        self._path, self._shape, self._dtype, self._n = path, shape, np.dtype(dtype), 0
        self._array = np.empty((most if path is None else 0, *shape), dtype)
        if path is not None:
            path.write_bytes(b"")

    @classmethod
    def of(cls, array: npt.NDArray[Any]) -> Rows:
        """Those of an array."""
        rows = cls(len(array), array.shape[1:], array.dtype)
        rows.make_room(array)()
        return rows

    def make_room(self, rows: npt.NDArray[Any]) -> Callable[[], object]:
        """Make room at the end for some rows; what is returned puts them there, in any thread, if no file has them."""
        begin, self._n = self._n, self._n + len(rows)
        if self._path is None:
            return partial(np.copyto, self._array[begin : self._n], rows)
        with self._path.open("ab") as file:
            file.write(np.ascontiguousarray(rows, self._dtype).reshape(-1).data)
        return lambda: None

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, rows: slice, /) -> npt.NDArray[Any]:
        if self._path is None:
            return self._array[: self._n][rows]
        begin, end, _ = rows.indices(self._n)
        size = int(np.prod(self._shape))
        offset = begin * size * self._dtype.itemsize
        numbers = np.fromfile(self._path, self._dtype, max(end - begin, 0) * size, offset=offset)
        return numbers.reshape(-1, *self._shape)


@dataclass(frozen=True)
class FittingSample:
    """Statistics [position, pattern, 5], features [position, feature], and the probabilities of each word given itself,
    1, and its class in each clustering [position, 1 + clustering]; see `kernels.fitting.sample`.

    words, kept: the ids of all sentences that it was taken from, and which of them are positions of it.
    source: what text it was taken from. folder: where the arrays are kept if they are not in memory.
    """

    source: str
    statistics: Rows
    features: Rows
    given: Rows
    words: Rows
    kept: Rows
    folder: Path | None = None

    @classmethod
    def of_arrays(cls, source: str, statistics: Ids, features: Ids, given: Floats) -> FittingSample:
        """A sample whose arrays are there already."""
        no_words = Rows.of(np.empty(0, np.int32))
        return cls(source, Rows.of(statistics), Rows.of(features), Rows.of(given), no_words, no_words)

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
        step = SAMPLE_CHUNK_POSITIONS * (_LARGER if self.folder is None else 1)
        chunks = (self.statistics[begin : begin + step] for begin in range(0, len(self), step))
        _put([rows], ((some,) for some in parallel_map(of, chunks, threads)), threads)
        return rows


def _put(places: Sequence[Rows], parts: Iterable[Sequence[npt.NDArray[Any]]], threads: int) -> None:
    """Add parts of several arrays at the ends of these, in order: who copies what, and when, makes no difference."""
    copies = ([rows.make_room(part) for rows, part in zip(places, each, strict=True)] for each in parts)
    for _ in parallel_map(lambda several: [copy() for copy in several], copies, threads):
        pass


def _new_rows(
    folder: Path | None, name: str, most: int, shape: tuple[int, ...], dtype: npt.DTypeLike
) -> Rows:
    return Rows(most, shape, dtype, None if folder is None else folder / f"sample-{name}")


def left_out(
    counts: Counts,
    ids: Ids,
    *,
    seed: int,
    limit: int | None = None,
    folder: Path | None = None,
    threads: int = 1,
    held_apart: bool = False,
    word_counts: Integers | None = None,
) -> FittingSample:
    """A sample of the training text itself, each position without its own contribution to the counts: equation (23).

    Sentences are taken in the order of a hash of their words, so the sample does not depend on the order of the text,
    and that of a sample of the text is the same. A word that occurs once would be unknown without its one occurrence:
    of those every third is kept, as an unknown word.

    held_apart: the text is the one that classes were found without. What the class of a word is that occurs nowhere
        else would tell too much, so these words are unknown, too.
    word_counts: how often each word is met in the counted text, where the tables do not say it.
    """
    limit = limit or sample_positions(len(counts.lattice.stored))
    ids = sample_sentences([ids], seed=seed, limit=limit, threads=threads)
    hidden = np.zeros(len(counts.vocabulary), np.bool_)
    if held_apart:
        hidden = _only_in(ids, counts.tables.word_counts if word_counts is None else word_counts)
    lookup = _LeftOutLookup(counts, hidden, threads)
    return _sample(_left_out_of(seed), lookup, ids, limit, folder)


def left_out_in_parts(
    parts: Iterable[tuple[Counts, Ids]],
    lattice: Lattice,
    n_positions: int,
    *,
    seed: int,
    folder: Path | None = None,
    threads: int = 1,
) -> FittingSample:
    """A sample of all of a text of so many positions, part by part, each left out of counts of its own.

    parts: each with counts of the whole text, of classes that were found without it; all of one lattice.
    """
    sample = _empty(_left_out_of(seed), lattice, n_positions, folder)
    for counts, ids in parts:
        ids = sample_sentences([ids], seed=seed, limit=ids.size)
        lookup = _LeftOutLookup(counts, _only_in(ids, counts.tables.word_counts), threads)
        _fill(sample, lookup, ids, ids.size)
    return sample


def _left_out_of(seed: int) -> str:
    return f"training text, left out, seed {seed}"


def _only_in(ids: Ids, word_counts: Integers) -> Mask:
    """Which words occur nowhere but in these sentences of a text."""
    hidden: Mask = np.bincount(ids, minlength=word_counts.size) == word_counts
    hidden[: END_ID + 1] = False
    return hidden


def held_out(
    counts: Counts, ids: Ids, *, limit: int | None = None, folder: Path | None = None, threads: int = 1
) -> FittingSample:
    """A sample of text that the counts have not seen."""
    limit = limit or sample_positions(len(counts.lattice.stored))
    return _sample("held-out text", _Lookup(counts, threads), ids, limit, folder)


def _sample(source: str, lookup: _Lookup, ids: Ids, limit: int, folder: Path | None) -> FittingSample:
    """The first sentences of a text, up to the limit, looked up."""
    sample = _empty(source, lookup.counts.lattice, ids.size, folder)
    _fill(sample, lookup, ids, limit)
    return sample


def _empty(source: str, lattice: Lattice, n_positions: int, folder: Path | None) -> FittingSample:
    """A sample with room for so many positions."""
    n_patterns = len(lattice.stored)
    return FittingSample(
        source,
        _new_rows(folder, "statistics", n_positions, (n_patterns, 5), np.int32),
        _new_rows(folder, "features", n_positions, (n_patterns + lattice.order,), np.int32),
        _new_rows(folder, "given", n_positions, (1 + len(lattice.of_classes),), np.float64),
        _new_rows(folder, "words", n_positions, (), np.int32),
        _new_rows(folder, "kept", n_positions, (), np.bool_),
        folder,
    )


def _fill(sample: FittingSample, lookup: _Lookup, ids: Ids, limit: int) -> None:
    """Add the first sentences of a text, up to the limit, looked up."""
    chunks = _chunks(ids, sentence_begins(ids), limit)
    ahead = _AHEAD if sample.folder is None else 1
    looked_up = parallel_map(lookup.positions, chunks, lookup.threads, ahead=ahead, always_beside=True)
    places = [sample.statistics, sample.features, sample.given, sample.words, sample.kept]
    _put(places, looked_up, lookup.threads)


class _Lookup:
    """Looks up sentences in counts; `threads` do so at the same time."""

    def __init__(self, counts: Counts, threads: int) -> None:
        if counts.pruned:
            raise UsageError(
                f"counts pruned ({counts.pruned}) cannot be fitted to: what a position adds to them is not known any "
                "more. Learn the weights first, then prune the model"
            )
        self.counts, self.threads = counts, threads
        self._reaches = np.array([p.reach if p in counts.lattice.patterns else _NEVER for p in counts.lattice.stored])
        ones, n_words = np.ones(len(counts.vocabulary)), len(counts.vocabulary)
        self._given = np.concatenate([ones, self._given_class()]).reshape(-1, n_words).T.copy()

    def _given_class(self) -> Floats:
        """The probability of each word given its class, for each clustering."""
        return given_class(self.counts.tables)

    def positions(self, sentences: tuple[Ids, Begins]) -> tuple[Ids, Ids, Floats, Ids, Mask]:
        """Statistics, features and probability given the class of the positions of sentences that are fitted to, the
        words of the sentences, and which are fitted to."""
        words, begins = sentences
        order = self.counts.lattice.order
        available = availability(words, begins, order)
        statistics = statistics_of(self.counts, words, available, self.threads)
        usable = self._usable(words, available, statistics)
        features, given = fitting.kept_positions(
            words, available, statistics, usable, self._given, self._reaches, order
        )
        return statistics[: len(features)], features, given, words, usable

    def _usable(self, words: Ids, available: npt.NDArray[np.int16], statistics: Ids) -> Mask:
        """Which positions are fitted to: those of known words."""
        known: Mask = (words != START_ID) & (words != UNKNOWN_ID)
        return known


class _LeftOutLookup(_Lookup):
    """Looks up sentences of the counted text itself, each position left out; `hidden` words are unknown."""

    def __init__(self, counts: Counts, hidden: Mask, threads: int) -> None:
        super().__init__(counts, threads)
        lattice = counts.lattice
        self._given[hidden, 1:] = 0.0
        # Of words, then of each clustering: the numbers of the contiguous patterns, and where all of its patterns are.
        clusterings = np.array([p.classes for p in lattice.stored])
        numbers = [np.flatnonzero(clusterings == c) for c in range(1 + len(lattice.of_classes))]
        spans = np.array([[some[0], some[-1] + 1] for some in numbers])
        chains = np.array(
            [[counts.index(Pattern.contiguous(k, c)) for k in range(lattice.order)] for c in range(len(numbers))]
        )
        contiguous, masks = np.array([[p.is_contiguous, p.mask] for p in lattice.stored]).T
        self._leaving_out = (
            chains, spans, np.ascontiguousarray(counts.reaches), contiguous.astype(np.bool_), hidden,
            np.ascontiguousarray(masks), clusterings, LOST_EVERY,
        )  # fmt: skip

    def _given_class(self) -> Floats:
        """As above, without one occurrence of the word."""
        tables = self.counts.tables
        word_counts = np.tile(tables.word_counts, len(self.counts.lattice.of_classes))
        totals = np.bincount(tables.class_of, word_counts)[tables.class_of]
        given: Floats = np.maximum(word_counts - 1, 0) / np.maximum(totals - 1, 1)
        return given

    def _usable(self, words: Ids, available: npt.NDArray[np.int16], statistics: Ids) -> Mask:
        """Takes each position out of its statistics; of the words that are then unknown every third is kept."""
        usable: Mask = fitting.leave_all_out(words, available, statistics, *self._leaving_out)
        return usable


def _chunks(ids: Ids, begins: Begins, limit: int) -> Iterator[tuple[Ids, Begins]]:
    """The sentences up to the limit, a few thousand words at a time, with their starts."""
    ends = begins[1:]
    last = min(int(np.searchsorted(ends, limit)) + 1, ends.size)
    first = 0
    while first < last:
        stop = min(max(int(np.searchsorted(ends, begins[first] + SAMPLE_CHUNK_POSITIONS)), first + 1), last)
        yield ids[begins[first] : begins[stop]], begins[first : stop + 1] - begins[first]
        first = stop


_PLACES = 6  # of the file that one lookup reads: contexts, a few steps of a search, statistics


def statistics_of(counts: Counts, words: Ids, available: npt.NDArray[np.int16], threads: int = 1) -> Ids:
    """[position, pattern, 5]: the count of the gram, and total, N1, N2, N3+ of its context (`kernels.fitting.sample`).

    threads: that look things up at the same time.
    """
    if counts.pages is None:
        whole: Ids = fitting.statistics_of(words, available, counts.tables)
        return whole
    n = len(counts.lattice.stored)
    entries = np.full((2 + n, words.size), -1, np.int64)
    found = Found(entries, np.zeros((2, words.size), np.int64), np.zeros((2, words.size), np.int64))
    out = np.zeros((words.size, n, 5), np.int32)
    for p in range(n):
        tables = _tables_of(counts, p)
        for begin, end in _spans(counts.pages, _bytes_of(tables), words.size, threads):
            fitting.add_statistics(words, available, begin, end, found, tables, out, p)
    return out


def _spans(pages: PageBudget, table_bytes: int, size: int, threads: int) -> Iterator[tuple[int, int]]:
    """Bounds of runs of positions for which there is room: for all that they may touch, or for all tables.

    A part of the room at a time, since other threads are in the midst of reading what they found room for.
    """
    begin = 0
    while begin < size:
        free_bytes = pages.release()
        free_bytes = max(free_bytes // 8, min(free_bytes, pages.least_bytes)) // threads
        end = size if table_bytes <= free_bytes else min(size, begin + max(1, free_bytes // (_PLACES * AROUND)))
        yield begin, end
        begin = end


def _bytes_of(tables: Tables) -> int:
    """What there is to read of the tables of a few patterns, with the contexts of others that lie among theirs."""
    grams = tables.places[:, N_GRAMS] * tables.places[:, WIDTH] // 8
    contexts = (tables.places[:, N_CONTEXTS] + 1) * tables.places[:, STRIDE] * 8
    return int((grams + contexts + tables.places[:, N_ROWS] * 8 * STATISTICS).sum())


def _tables_of(counts: Counts, p: int) -> Tables:
    """The tables of the empty pattern and of pattern p, as `add_statistics` takes them."""
    tables, root = counts.tables, counts.index(Pattern(0, counts.lattice.stored[p].classes))
    places, parts = tables.places[[root, p]], tables.parts[[root, p]]
    places[:, TAIL] += 2
    parts = np.where(parts > root, parts + 2, 0)
    return tables._replace(places=places, parts=parts)
