"""The tables of all patterns, from the windows of a band of oldest words.

The grams of a pattern are those of its tail with one more word, so the patterns form a tree: its root is
the empty pattern, and appending a word at distance d to pattern S gives (S shifted by d) with offset d.
Each node sorts the windows inside the groups of the node above (`kernels.counting.sorting`).

Continuation counts need no sets. The first window of every contiguous gram {1 … m} is marked; the
fillings of a gram's gaps are then the marked windows among its occurrences, m being its reach. The
different words to the left of a contiguous gram are counted by sorting its windows by that word.

The unit of counting: a word of the text, the word before it and the words after it that a gram can span.

All grams whose oldest word is at one place are in the window of that place, and so is the word to their
left. So windows that start with different words never have a gram in common, and any set of bands of
oldest words can be counted apart: one after the other where memory is short, side by side on many cores
or machines. The result does not depend on how the bands were cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gapgram.arrays import Bytes, Ids, Integers, Mask
from gapgram.counts.counts import Piece
from gapgram.kernels.counting import sorting
from gapgram.kernels.pruning.tables import pruned_tables
from gapgram.kernels.tables.arrays import COUNT_BITS, COUNT_MASK, STATISTICS
from gapgram.kernels.tables.build import build_tables, count_marked
from gapgram.kernels.tables.keys import key_bits_of
from gapgram.kernels.text.special_words import START_ID
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern

NO_MARKS = np.empty(0, np.uint8)
Cuts = Mapping[Pattern, int]  # grams of these patterns that occur so often or less are left out; it grows with the tail
NO_CUTS: Cuts = {}


@dataclass(frozen=True)
class _Node:
    """The sorted places of one pattern's grams; see `kernels.counting.sorting`.

    kept: which of them stay, and which of the tail's; None where all do.
    """

    pattern: Pattern
    positions: Ids
    starts: Ids
    begins: Ids
    kept: Mask | None = None
    kept_tail: Mask | None = None


class Band:
    """Windows laid out one after the other as a text of their own."""

    def __init__(
        self, windows: Ids, first_word: int, last_word: int, n_words: int, lattice: Lattice, cuts: Cuts = NO_CUTS
    ) -> None:
        self.lattice, self.order, self.cuts = lattice, lattice.order, cuts
        self.first_word, self.last_word, self.n_words = first_word, last_word, n_words
        self.ids = windows.reshape(-1)
        self.reach: Bytes = sorting.window_reach(windows)
        self.key_bits = int(key_bits_of(n_words))
        self.marks = [np.zeros(self.ids.size if m else 0, np.uint8) for m in range(self.order)]

    def pieces(self) -> dict[Pattern, Piece]:
        """The tables of all stored patterns in this band."""
        return dict(self.each())

    def each(self, steps: tuple[int, ...] = ()) -> Iterator[tuple[Pattern, Piece]]:
        """The tables of all stored patterns, or of those whose next words stand so many steps behind the oldest.

        Each is worked out when it is asked for, so that they need not all be in memory.
        """
        chain = self._chain(len(steps))
        straight = sum(step == i for i, step in enumerate(steps, 1))
        if straight == len(steps):
            if not steps:
                yield Pattern(0), self._unigrams(chain[0])
            for node in chain[max(1, straight) :]:
                yield node.pattern, self._piece(node)
            while len(chain) > straight:
                for below in self._gapped(chain.pop()):
                    yield below.pattern, self._piece(below)
        else:
            node = chain[straight]
            del chain
            for n, step in enumerate(steps[straight:], straight + 1):
                node = self._append(node, step - node.pattern.reach, shared=n < len(steps))
            yield node.pattern, self._piece(node)
            for below in self._gapped(node):
                yield below.pattern, self._piece(below)

    def _chain(self, n_shared: int) -> list[_Node]:
        """The nodes of the contiguous patterns; marks the first place of each of their grams.

        n_shared: so many words are those of all windows, the last but for its being one of several.
        """
        width = self.order + 1
        oldest = np.arange(1, self.ids.size, width, dtype=np.int32)
        words = np.arange(self.first_word, self.last_word + 1)
        starts = np.searchsorted(self.ids[oldest], words).astype(np.int32)
        nodes = [_Node(Pattern(0), oldest, starts, np.empty(0, np.int32))]
        for m in range(1, self.order):
            nodes.append(self._extend(nodes[-1], 1, marks=self.marks[m], shared=m < n_shared))
        top = nodes[-1]
        if any(not p.is_contiguous and p.reach == self.order - 1 for p in self.cuts):
            self.times = np.zeros(self.ids.size, np.int32)  # how often what is marked occurs
            self.times[top.positions[top.starts[:-1]]] = np.diff(top.starts)
        return nodes

    def _gapped(self, node: _Node) -> Iterator[_Node]:
        """The stored nodes with gaps in the tree below a node, each before those below it."""
        for distance in range(1, self.order - node.pattern.reach):
            pattern = _appended(node.pattern, distance)
            if pattern.is_contiguous or pattern not in self.lattice.stored:
                continue
            below = self._append(node, distance)
            yield below
            yield from self._gapped(below)

    def _append(self, node: _Node, distance: int, *, shared: bool = False) -> _Node:
        """The node of a pattern with gaps."""
        reaches_all = node.pattern.reach + distance == self.order - 1
        return self._extend(node, distance, only=self.marks[-1] if reaches_all else NO_MARKS, shared=shared)

    def _extend(
        self, node: _Node, distance: int, *, only: Bytes = NO_MARKS, marks: Bytes = NO_MARKS, shared: bool = False
    ) -> _Node:
        """The node whose grams have one word more, `distance` places later.

        shared: its gram is one that parts of a cut share: it is not all here, and stays.
        """
        pattern = _appended(node.pattern, distance)
        positions, starts, begins = sorting.refine(
            node.positions, node.starts, distance, pattern.reach, self.ids, self.reach, only, marks, self.key_bits
        )
        kept = None
        if self.cuts.get(pattern) and not shared:
            occurrences = add_in_groups(self.times[positions], starts) if only.size else np.diff(starts)
            kept = occurrences > self.cuts[pattern]
        return _Node(pattern, positions, starts, begins, kept, node.kept)

    def _piece(self, node: _Node) -> Piece:
        """The tables of a node."""
        words, counts = sorting.newest_words(node.positions, node.starts, self.ids), self.continuation_counts(node)
        tables = build_tables(words, counts, node.begins)
        return Piece(*tables) if node.kept is None else left_of(Piece(*tables), node.kept, node.kept_tail)

    def _unigrams(self, root: _Node) -> Piece:
        """Counts of the band's words alone; what follows no context is put together with the other bands."""
        counts = self.continuation_counts(root)
        if self.first_word <= START_ID < self.last_word:
            counts[START_ID - self.first_word] = 0
        words = np.arange(self.first_word, self.last_word, dtype=np.int64)
        no_rows = np.zeros((1, STATISTICS), np.int64)
        return Piece(words << COUNT_BITS | counts, np.empty(0, np.int64), no_rows)

    def continuation_counts(self, node: _Node) -> Integers:
        """The count that is smoothed, for each gram of a node: equations (2) to (4) of docs/ideas/mathematics.md."""
        pattern = node.pattern
        counts: Integers
        if pattern == Pattern.contiguous(self.order - 1):
            counts = np.diff(node.starts).astype(np.int64)
        elif pattern.is_contiguous:
            # A gram that starts with <s> has nothing to its left: each occurrence counts.
            to_the_left = pattern.reach + 1
            counts = sorting.count_left(node.positions, node.starts, to_the_left, self.ids, self.n_words)
        else:
            counts = count_marked(node.positions, node.starts, self.marks[pattern.reach])
        return counts


def left_of(piece: Piece, kept: Mask, kept_tail: Mask | None) -> Piece:
    """A piece with only some of its grams, and of its tail's, which knows what it was."""
    seen = np.bincount(np.minimum(piece.grams & COUNT_MASK, 5), minlength=6)[1:5]
    kept_tail = np.ones(piece.contexts.size, np.bool_) if kept_tail is None else kept_tail
    grams, contexts, rows = pruned_tables(piece.grams, piece.contexts, piece.rows, kept, kept_tail)
    return Piece(grams, contexts, rows, seen)


def add_in_groups(numbers: Ids, starts: Ids) -> Integers:
    """The sum of the numbers of each group, from starts[g] to starts[g+1].

    >>> add_in_groups(np.array([1, 2, 3], np.int32), np.array([0, 2, 3], np.int32)).tolist()
    [3, 3]
    """
    if not numbers.size:
        return np.empty(0, np.int64)
    sums: Integers = np.add.reduceat(numbers, starts[:-1], dtype=np.int64)
    return sums


def _appended(pattern: Pattern, distance: int) -> Pattern:
    return Pattern(pattern.mask << distance | 1 << (distance - 1))
