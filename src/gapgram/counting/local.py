"""Counting by sorting, on this machine.

The grams of a pattern are those of its tail with one more word, so the patterns form a tree: its root is
the empty pattern, and appending a word at distance d to pattern S gives (S shifted by d) with offset d.
Each node sorts the positions of the text inside the groups of the node above (`kernels.sorting`). Grams
whose oldest word differs never meet, so the text is cut into bands of oldest words that are worked on
side by side, and put together in order: the result does not depend on the number of bands or threads.

Continuation counts need no sets. The first position of every contiguous gram {1 … m} is marked; the
fillings of a gram's gaps are then the marked positions among its occurrences, m being its reach, and the
different words to the left of a contiguous gram {1 … k} those marked for m = k+1.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gapgram.corpus import Corpus, Ids
from gapgram.counting.assemble import Piece, assemble
from gapgram.counts import Counts, TextInfo
from gapgram.errors import TextError, UsageError
from gapgram.kernels import sorting, tables
from gapgram.kernels.words import START
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.progress import Progress

Bytes = npt.NDArray[np.uint8]
NOWHERE = 255  # a reach that no position has
NO_MARKS = np.empty(0, np.uint8)
SMALL_TEXT = 200_000

Band = TypeVar("Band")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Counted:
    """Counts, and for each position of the text the length m of the shortest gram {1 … m} that occurs
    nowhere else (255: none up to the order): what leaving a position out would change."""

    counts: Counts
    unique_from: Bytes


@dataclass(frozen=True)
class _Node:
    """The sorted positions of one pattern in one band; see `kernels.sorting`."""

    pattern: Pattern
    positions: Ids
    starts: Ids
    begins: Ids


@dataclass(frozen=True)
class _Text:
    order: int
    ids: Ids
    reach: Bytes
    marks: list[Bytes]  # marks[m]: first positions of the grams {1 … m}
    word_bits: int

    def extend(self, node: _Node, distance: int, *, only: Bytes = NO_MARKS, marks: Bytes = NO_MARKS) -> _Node:
        """The node whose grams have one word more, `distance` places later."""
        mask = node.pattern.mask << distance | 1 << (distance - 1)
        pattern = Pattern(mask)
        arrays = sorting.refine(
            node.positions, node.starts, distance, pattern.reach, self.ids, self.reach, only, marks, self.word_bits
        )
        return _Node(pattern, *arrays)

    def piece(self, node: _Node) -> Piece:
        """The tables of a node."""
        counts = self.gram_counts(node)
        words = self.ids[node.positions[node.starts[:-1]]]
        return Piece(*tables.build_tables(words, counts, node.begins))

    def gram_counts(self, node: _Node) -> npt.NDArray[np.int64]:
        """The count that is smoothed, for each gram of a node (DESIGN, section 2)."""
        pattern = node.pattern
        if pattern == Pattern.contiguous(self.order - 1):
            weight, free_at = NO_MARKS, NOWHERE
        elif pattern.is_contiguous:
            weight, free_at = self.marks[pattern.reach + 1], pattern.reach or NOWHERE
        else:
            weight, free_at = self.marks[pattern.reach], NOWHERE
        counts: npt.NDArray[np.int64] = tables.weigh(node.positions, node.starts, weight, self.reach, free_at)
        return counts


def count(corpus: Corpus, lattice: Lattice, *, threads: int | None = None, shown: bool = False) -> Counted:
    """Count all patterns of a lattice in a corpus."""
    threads = checked_threads(threads)
    _check_length(corpus, lattice.order)
    text = _text(corpus, lattice.order)
    positions, starts = sorting.positions_by_word(corpus.ids, len(corpus.vocabulary))
    bands = list(_bands(positions, starts, 1 if positions.size < SMALL_TEXT else 4 * threads))
    with Progress("counting", total=2 * len(bands), unit="band", shown=shown) as bar:
        chains = in_threads(lambda band: _chain(text, band), bands, threads, bar)
        unique_from = _unique_from(text)
        results = in_threads(lambda chain: _pieces(text, chain, lattice), chains, threads, bar)
    pieces = {Pattern(0): [_unigrams(text, positions, starts)]}
    for band_pieces in results:
        for pattern, piece in band_pieces.items():
            pieces.setdefault(pattern, []).append(piece)
    info = TextInfo(corpus.sentences, corpus.words, corpus.digest, corpus.rule)
    return Counted(Counts(lattice, corpus.vocabulary, info, assemble(lattice.stored, pieces)), unique_from)


def checked_threads(threads: int | None) -> int:
    """The number of threads to use: all cores unless said otherwise."""
    if threads is not None and threads < 1:
        raise UsageError(f"threads {threads}: expected 1 or more")
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return threads


def _check_length(corpus: Corpus, order: int) -> None:
    starts = np.flatnonzero(corpus.ids == START)
    longest = int(np.max(np.diff(np.append(starts, corpus.ids.size)))) - 2
    if longest + 1 < order - 1:
        raise TextError(
            f"order {order} is larger than any sentence: the longest has {longest} words, which allow "
            f"order {longest + 2} at most"
        )


def _text(corpus: Corpus, order: int) -> _Text:
    if corpus.ids.size >= 1 << 31:
        raise TextError(f"{corpus.ids.size:,} words at once: this engine counts up to {1 << 31:,}")
    reach = sorting.distances(corpus.ids, START, order)
    marks = [np.zeros(corpus.ids.size if m else 0, np.uint8) for m in range(order)]
    return _Text(order, corpus.ids, reach, marks, max(1, (len(corpus.vocabulary) - 1).bit_length()))


def _bands(positions: Ids, starts: npt.NDArray[np.int64], n: int) -> Iterator[_Node]:
    """The root of the tree, cut into n bands of words with about as many positions each."""
    goals = positions.size * np.arange(1, n) // n
    cuts = [0, *np.unique(np.searchsorted(starts[1:-1], goals) + 1).tolist(), len(starts) - 1]
    for first, last in pairwise(cuts):
        begin, end = starts[first], starts[last]
        band_starts = (starts[first : last + 1] - begin).astype(np.int32)
        yield _Node(Pattern(0), positions[begin:end], band_starts, np.empty(0, np.int32))


def _unigrams(text: _Text, positions: Ids, starts: npt.NDArray[np.int64]) -> Piece:
    root = _Node(Pattern(0), positions, starts.astype(np.int32), np.empty(0, np.int32))
    counts = text.gram_counts(root)
    counts[START] = 0
    words = np.arange(counts.size, dtype=np.int32)
    return Piece(*tables.build_tables(words, counts, np.array([0, counts.size], np.int32)))


def _chain(text: _Text, band: _Node) -> list[_Node]:
    """The nodes of the contiguous patterns in one band; marks the first position of each gram."""
    nodes = [band]
    for m in range(1, text.order):
        nodes.append(text.extend(nodes[-1], 1, marks=text.marks[m]))
    return nodes


def _pieces(text: _Text, chain: list[_Node], lattice: Lattice) -> dict[Pattern, Piece]:
    """The tables of all stored patterns but the empty one in one band."""
    pieces = {node.pattern: text.piece(node) for node in chain[1:] if node.pattern in lattice.stored}
    while chain:
        for node in _gapped(text, chain.pop(), lattice):
            pieces[node.pattern] = text.piece(node)
    return pieces


def _gapped(text: _Text, node: _Node, lattice: Lattice) -> Iterator[_Node]:
    """The stored nodes with gaps in the tree below a node, each before those below it."""
    farthest = text.order - 1
    for distance in range(1, farthest - node.pattern.reach + 1):
        pattern = Pattern(node.pattern.mask << distance | 1 << (distance - 1))
        if pattern.is_contiguous or pattern not in lattice.stored:
            continue
        only = text.marks[farthest] if pattern.reach == farthest else NO_MARKS
        below = text.extend(node, distance, only=only)
        yield below
        yield from _gapped(text, below, lattice)


def _unique_from(text: _Text) -> Bytes:
    unique = np.full(text.ids.size, NOWHERE, np.uint8)
    for m in range(text.order - 1, 0, -1):
        unique[text.marks[m] == sorting.ONCE] = m
    return unique


def in_threads(
    work: Callable[[Band], Result], items: Iterable[Band], threads: int, bar: Progress
) -> list[Result]:
    """The results in the order of the items; the first error, or Ctrl-C, cancels what has not begun."""
    pool = ThreadPoolExecutor(threads)
    try:
        futures = [pool.submit(work, item) for item in items]
        for future in futures:
            future.add_done_callback(lambda _: bar.advance())
        wait(futures, return_when=FIRST_EXCEPTION)
        return [future.result() for future in futures]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
