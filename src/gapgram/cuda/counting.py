"""The tables of all patterns, counted by sorting whole arrays: what a card is good at.

Only functions that NumPy and CuPy share are used, so that the same lines run on the card and, in tests, without one.

A *window* is a word of the text, the one before it and those after it (`gapgram.counting.band`). Contiguous grams of
one word more are numbered by sorting the pairs (number of the gram without its last word, key of that word). A pattern
with gaps needs no more than one window of each contiguous gram that it spans: the fillings of its gaps are these, so
that its continuation counts are the lengths of runs in the sorted pairs. All numbers are whole, and the tables are
those of the CPU. A text that does not fit is cut into bands of oldest words, as elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from gapgram.arrays import Ids, Integers
from gapgram.counting.in_memory import TextInMemory
from gapgram.counts.counts import Piece
from gapgram.cuda.card import on_cpu
from gapgram.cuda.classes import CardClasses
from gapgram.kernels.tables.arrays import COUNT_BITS, ROW_BITS, STATISTICS
from gapgram.kernels.tables.keys import key_bits_of, keys_of_all
from gapgram.kernels.text.special_words import END_ID, START_ID
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.system.parallel import SharedCores
from gapgram.text.corpus import Corpus

Array = Any  # of NumPy, or of CuPy on the card

TEXT_BYTES = 160  # of a card, about, that a position of a text takes, with its neighbours while classes are found
WINDOW_BYTES = 256  # that counting it takes
_SMALL = 1 << 15  # statistics below this are packed into one number


class TextCountedOnCard(TextInMemory):
    """A text in memory that a card counts; the cores are free meanwhile.

    xp: CuPy, or NumPy in its place. free_bytes: of the card's memory.
    """

    takes_cores = False

    def __init__(self, corpus: Corpus, xp: ModuleType, free_bytes: int, **options: Any) -> None:
        super().__init__(corpus, **options)
        self._xp, self._free_bytes = xp, free_bytes
        self.class_engine = CardClasses(xp, self._threads)

    def _count(
        self, ids: Ids, n_words: int, lattice: Lattice, title: str, cores: SharedCores | None = None
    ) -> dict[Pattern, list[Piece]]:
        text = CardText.of(self._xp, ids, n_words)
        room = max(self._free_bytes - TEXT_BYTES * ids.size, WINDOW_BYTES)
        n_bands = -(-ids.size * WINDOW_BYTES // room)
        cuts = band_cuts(np.bincount(ids, minlength=n_words), n_bands) if n_bands > 1 else [0, n_words]
        bands = [text.pieces(lattice, first, last) for first, last in pairwise(cuts)]
        return {pattern: [band[pattern] for band in bands] for pattern in lattice.stored}


def band_cuts(word_counts: Integers, n_bands: int) -> list[int]:
    """Where to cut the words into at most n ranges that are met about equally often.

    >>> band_cuts(np.array([5, 1, 1, 1, 2]), 2), band_cuts(np.array([5, 1, 1, 1, 2]), 1)
    ([0, 1, 5], [0, 5])
    """
    ends = np.cumsum(word_counts)
    inner = np.searchsorted(ends, ends[-1] * np.arange(1, n_bands) // n_bands) + 1
    return [0, *np.unique(inner[inner < ends.size]).tolist(), ends.size]


@dataclass(frozen=True)
class CardText:
    """A text on the card: its ids, and how many words there are from each position to the end of its sentence."""

    xp: ModuleType
    ids: Array
    left: Array
    n_words: int

    @classmethod
    def of(cls, xp: ModuleType, ids: Ids, n_words: int) -> CardText:
        """Copy a text to the card."""
        held = xp.asarray(ids)
        ends = xp.flatnonzero(held == END_ID)
        sentence = xp.cumsum(held == START_ID) - 1
        left = ends[sentence] - xp.arange(held.size) + 1
        return cls(xp, held, left.astype(np.int32), n_words)

    def pieces(self, lattice: Lattice, first_word: int, last_word: int) -> dict[Pattern, Piece]:
        """The tables of all stored patterns in the band of the words first … last-1, back on the CPU."""
        return _Band(self, lattice, first_word, last_word).pieces()


@dataclass(frozen=True)
class _Runs:
    """Pairs (number of a shorter gram, key of a word) in order.

    order: which of the given ones come first. starts: where runs of equal ones begin, and the end. above: the shorter
    gram of each run. number: of the run of each that was given.
    """

    order: Array
    starts: Array
    above: Array
    number: Array


class _Band:
    """Counts the windows whose oldest words are of some range."""

    def __init__(self, text: CardText, lattice: Lattice, first_word: int, last_word: int) -> None:
        self.xp, self.text, self.lattice, self.order = text.xp, text, lattice, lattice.order
        self.first_word, self.n_words = first_word, last_word - first_word
        keys = keys_of_all(text.n_words, int(key_bits_of(text.n_words)))
        self.keys = self.xp.asarray(keys)
        inside = (text.ids >= first_word) & (text.ids < last_word)
        self.oldest = self.xp.flatnonzero(inside).astype(np.int32)
        self.left = text.left[self.oldest]
        # By length: the number of each window's contiguous gram, and one window of each gram.
        self.numbers: list[Array] = [text.ids[self.oldest] - first_word]
        self.windows: list[Array] = [self.oldest]
        # By pattern with gaps: the number of the gram of that pattern in each contiguous gram of its reach.
        self.within: dict[Pattern, Array] = {}
        self.sizes: dict[Pattern, int] = {Pattern(0): self.n_words}

    def pieces(self) -> dict[Pattern, Piece]:
        """The tables of all stored patterns."""
        made = {Pattern(0): self._unigrams()}
        for length in range(1, self.order):
            pattern = Pattern.contiguous(length)
            made[pattern] = self._contiguous(pattern)
        for pattern in sorted(self.lattice.stored, key=lambda p: p.reach):
            if not pattern.is_contiguous:
                made[pattern] = self._with_gaps(pattern)
        return {pattern: made[pattern] for pattern in self.lattice.stored}

    def _unigrams(self) -> Piece:
        """Counts of the band's words alone; what follows no context is put together with the other bands."""
        counts = self._to_the_left(self.numbers[0], self.xp.arange(self.oldest.size), self.n_words)
        counts = on_cpu(counts)
        if 0 <= START_ID - self.first_word < self.n_words:
            counts[START_ID - self.first_word] = 0
        words = np.arange(self.first_word, self.first_word + self.n_words, dtype=np.int64)
        return Piece(words << COUNT_BITS | counts, np.empty(0, np.int64), np.zeros((1, STATISTICS), np.int64))

    def _contiguous(self, pattern: Pattern) -> Piece:
        """Number the grams of one word more, and make their tables."""
        xp, length = self.xp, pattern.reach
        windows = xp.flatnonzero(self.left > length)
        words = self.text.ids[self.oldest[windows] + length]
        runs = self._runs(self.numbers[-1][windows], words)
        numbers = xp.full(self.oldest.size, -1, np.int32)
        numbers[windows] = runs.number
        self.numbers.append(numbers)
        self.windows.append(windows[runs.order[runs.starts[:-1]]])
        n_grams = self.sizes[pattern] = runs.starts.size - 1
        counts = self._to_the_left(runs.number, windows, n_grams)
        return self._tables(pattern, runs, words, counts)

    def _to_the_left(self, numbers: Array, windows: Array, n_grams: int) -> Array:
        """The count of contiguous grams: of the different words to their left, and of occurrences where there is none.

        Of the longest grams all occurrences count. numbers: of the grams of some windows.
        """
        xp = self.xp
        occurrences = xp.bincount(numbers, minlength=n_grams)
        if len(self.numbers) == self.order:
            return occurrences
        oldest = self.oldest[windows]
        having = xp.flatnonzero(self.text.ids[oldest] != START_ID)
        pairs = numbers[having].astype(np.int64) << 32 | self.text.ids[oldest[having] - 1]
        pairs.sort()
        is_new = self._is_new(pairs)
        counts = xp.bincount((pairs[is_new] >> 32).astype(np.int32), minlength=n_grams)
        return xp.where(counts == 0, occurrences, counts)

    def _with_gaps(self, pattern: Pattern) -> Piece:
        """The tables of a pattern with gaps, from one window of each contiguous gram of its reach."""
        windows, tail = self.windows[pattern.reach], pattern.tail
        above = self.numbers[tail.reach][windows]
        if not tail.is_contiguous:
            above = self.within[tail][above]
        words = self.text.ids[self.oldest[windows] + pattern.reach]
        runs = self._runs(above, words)
        self.within[pattern] = runs.number
        self.sizes[pattern] = runs.starts.size - 1
        return self._tables(pattern, runs, words, self.xp.diff(runs.starts))

    def _is_new(self, in_order: Array) -> Array:
        """Where a number differs from the one before it."""
        is_new = self.xp.ones(in_order.size, bool)
        is_new[1:] = in_order[1:] != in_order[:-1]
        return is_new

    def _runs(self, above: Array, words: Array) -> _Runs:
        """Sort pairs."""
        xp = self.xp
        pairs = above.astype(np.int64) << 32 | self.keys[words]
        order = xp.argsort(pairs, kind="stable")
        pairs = pairs[order]
        is_new = self._is_new(pairs)
        number = xp.empty(order.size, np.int32)
        number[order] = (xp.cumsum(is_new) - 1).astype(np.int32)
        begins = xp.flatnonzero(is_new)
        starts = xp.concatenate([begins, xp.full(1, order.size, begins.dtype)])
        return _Runs(order, starts, (pairs[begins] >> 32).astype(np.int32), number)

    def _tables(self, pattern: Pattern, runs: _Runs, words: Array, counts: Array) -> Piece:
        """The tables of a pattern, from its grams in order and their counts."""
        xp, n_contexts = self.xp, self.sizes[pattern.tail]
        grams = words[runs.order[runs.starts[:-1]]].astype(np.int64) << COUNT_BITS | counts
        begins = xp.searchsorted(runs.above, xp.arange(n_contexts + 1, dtype=np.int32))
        # Statistics of the contexts: differences of running sums.
        statistics = xp.empty((4, n_contexts), np.int64)
        for k, summed in enumerate((counts, counts == 1, counts == 2, counts > 2)):
            sums = xp.zeros(counts.size + 1, np.int64)
            xp.cumsum(summed, out=sums[1:])
            statistics[k] = sums[begins[1:]] - sums[begins[:-1]]
        numbers, rows = _distinct(xp, statistics)
        contexts = begins[:-1].astype(np.int64) << ROW_BITS | numbers
        return Piece(on_cpu(grams), on_cpu(contexts), rows)


def _distinct(xp: ModuleType, statistics: Array) -> tuple[Array, Any]:
    """The number of each context's statistics among the distinct ones, and these, the first of which is all 0.

    Small numbers are packed into one, which is sorted; the few contexts of large ones are looked at by the CPU.
    """
    total, n1, n2, n3 = statistics
    is_large = total >= _SMALL
    packed = ((total << 15 | n1) << 15 | n2) << 15 | n3
    packed[is_large] = 0
    found = xp.unique(packed)
    found = found if found.size and int(found[0]) == 0 else xp.concatenate([xp.zeros(1, np.int64), found])
    numbers = xp.searchsorted(found, packed)
    small = on_cpu(found)
    columns = [small >> shift & (_SMALL - 1) for shift in (45, 30, 15, 0)]
    rows = np.stack([*columns, np.zeros(small.size, np.int64)], axis=1)
    large = xp.flatnonzero(is_large)
    if large.size:
        of_large = on_cpu(statistics[:, large]).T
        distinct, inverse = np.unique(of_large, axis=0, return_inverse=True)
        numbers[large] = xp.asarray(inverse.reshape(-1) + small.size)
        distinct = np.concatenate([distinct, np.zeros((len(distinct), STATISTICS - 4), np.int64)], axis=1)
        rows = np.concatenate([rows, distinct])
    return numbers, rows
