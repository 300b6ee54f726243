"""Word classes found in text: words with the same neighbours share a class.

Exchange (`kernels.classes.exchange`): at first the k most frequent words have a class each and all others are with the
last of them; then every word, the most frequent first, moves to the class that it fits best, several times over. The
first k words stay where they are the first time, when too little is known of their neighbours. What a word fits is
judged by the classes of its neighbours one and two words away, on both sides. Batches of words are judged against the
same counts, side by side on all cores; then all that raise the objective, equation (26) of docs/ideas/mathematics.md,
where the others stay, move at once; of those that are a large part of the same class, only one
(`kernels.classes.moving`). So nothing depends on the number of threads or the order of lines, and nothing is random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.errors import UsageError
from gapgram.kernels.barrier import APART
from gapgram.kernels.classes import exchange as kernels
from gapgram.kernels.classes import moving
from gapgram.kernels.classes.exchange import ClassCounts, Pairs
from gapgram.kernels.classes.judging import JudgedWords, costs_and_offsets
from gapgram.kernels.classes.moving import Moves
from gapgram.kernels.classes.pairs import pairs_at, positions_of_pairs, turned
from gapgram.kernels.counting.sorting import count_words
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.system.parallel import SharedCores, checked_threads, parallel_map, run_together
from gapgram.system.progress import progress_bar

NOTHING = np.empty(0, np.int32)
DISTANCES: tuple[int, ...] = (1, 2)
PRIOR, CLASS_PRIOR = 0.2, 100.0  # pairs that a cell, and at most a whole class, is believed to hold before any is seen
SWEEPS = 4
BATCH = 40_000  # neighbours, about and at most, of the words that are judged against the same counts and move at once
BATCHES = 256  # of a sweep, about: a smaller text has smaller ones
_BATCHES_AT_ONCE = 64  # that threads work through before Python hears of it
_BLOCK_BITS = 7, 9  # at least and at most, of the classes that a word is judged for at a time; few take longer each
_LEAST_WORDS = 1 << 18  # of a text, whose pairs one thread counts: to start another would take as long


def count_pairs(
    texts: Sequence[Ids], n_words: int, *, distances: tuple[int, ...] = DISTANCES, threads: int = 1
) -> list[Pairs]:
    """Count the pairs of some texts at some distances; two sides each."""
    # Two at a time: what one thread does alone of the one, the others do something of the other meanwhile.
    ranges_of = [_ranges(counts_of_words(ids, n_words, threads), _useful(threads, ids)) for ids in texts]
    wanted = [(ids, ranges, distance) for ids, ranges in zip(texts, ranges_of, strict=True) for distance in distances]
    counted = list(parallel_map(lambda each: _both_ways(*each, threads), wanted, min(threads, 2)))
    n = len(distances)
    return [side_by_side(counted[i : i + n], threads=threads) for i in range(0, len(wanted), n)]


Side = tuple[Integers, Ids, Ids]  # where the neighbours of each word begin, these, and how often each is one


def counts_of_words(ids: Ids, n_words: int, threads: int) -> Integers:
    """How often each word is in a text; each thread counts a part.

    >>> counts_of_words(np.array([1, 3, 1], np.int32), 4, threads=2).tolist()
    [0, 2, 0, 1]
    """
    threads = _useful(threads, ids)
    counts = np.zeros((threads, n_words), np.int64)
    spans = [(ids.size * i // threads, ids.size * (i + 1) // threads) for i in range(threads)]
    list(parallel_map(lambda i: count_words(ids, *spans[i], counts[i]), range(threads), threads))
    whole: Integers = counts.sum(axis=0)
    return whole


def _useful(threads: int, ids: Ids) -> int:
    """How many of some threads are of use for a text."""
    return min(threads, max(1, ids.size // _LEAST_WORDS))


def _both_ways(ids: Ids, ranges: list[tuple[int, int]], distance: int, threads: int) -> tuple[Side, Side, Ids]:
    """The pairs of a text at one distance by the first word, by the second, and how often each word is its own.

    Each thread looks for pairs in a part of the text, then counts those of a range of words.
    """
    threads = _useful(threads, ids)
    range_of = np.repeat(np.arange(len(ranges), dtype=np.int32), [last - first for first, last in ranges])
    spans = [(ids.size * i // threads, ids.size * (i + 1) // threads) for i in range(threads)]

    firsts: list[tuple[Ids, Integers]] = list(
        parallel_map(lambda span: positions_of_pairs(ids, *span, distance, range_of, len(ranges)), spans, threads)
    )
    of_ranges = [[first[starts[r] : starts[r + 1]] for first, starts in firsts] for r in range(len(ranges))]
    parts: list[tuple[Integers, Ids, Ids, Ids]] = list(
        parallel_map(
            lambda r: pairs_at(ids, np.concatenate(of_ranges[r]), *ranges[r], distance), range(len(ranges)), threads
        )
    )
    forward = _joined([part[:3] for part in parts], threads)
    backward: list[Side] = list(parallel_map(lambda words: turned(*forward, *words), ranges, threads))
    return forward, _joined(backward, threads), np.concatenate([itself for *_, itself in parts])


def _ranges(word_counts: Integers, n: int) -> list[tuple[int, int]]:
    """At most n ranges of words that are met about equally often."""
    return list(pairwise(cut_by_size(word_counts, max(1, -(-int(word_counts.sum()) // n)))))


def _joined(parts: list[Side], threads: int) -> Side:
    """The neighbours of all words, from those of ranges of words in order."""
    base = np.cumsum([0] + [len(others) for _, others, _ in parts])
    starts = np.concatenate([*(part[0][:-1] + at for part, at in zip(parts, base[:-1], strict=True)), base[-1:]])
    return starts, *_side_by_side(parts, threads)


def _side_by_side(parts: list[Side], threads: int) -> tuple[Ids, Ids]:
    """The neighbours of several parts in one array, and how often each is one."""
    others, times = [others for _, others, _ in parts], [times for *_, times in parts]
    return _concatenated(others, threads), _concatenated(times, threads)


def _concatenated(arrays: Sequence[Ids], threads: int) -> Ids:
    """The same arrays in one, each copied by a thread."""
    ends = np.cumsum([len(each) for each in arrays]).tolist()
    out = np.empty(ends[-1], np.int32)

    def copy(i: int) -> None:
        out[ends[i] - len(arrays[i]) : ends[i]] = arrays[i]

    list(parallel_map(copy, range(len(arrays)), threads))
    return out


def side_by_side(counted: list[tuple[Side, Side, Ids]], *, threads: int = 1) -> Pairs:
    """The sides of all distances of one text, in one array each."""
    sides = [side for forward, backward, _ in counted for side in (forward, backward)]
    base = np.cumsum([0] + [len(others) for _, others, _ in sides])
    starts = np.array([starts + at for (starts, _, _), at in zip(sides, base[:-1], strict=True)])
    others, times = _side_by_side(sides, min(threads, max(1, int(base[-1]) // _LEAST_WORDS)))
    return Pairs(starts, others, times, np.repeat(np.array([itself for _, _, itself in counted]), 2, axis=0))


class Exchange:
    """Classes on their way: `class_of` and the counts that belong to it.

    threads: that will move words; for several of them classes are cut into blocks (`kernels.classes.exchange`).
    """

    def __init__(
        self, pairs: Pairs, class_of: Ids, k: int, *, threads: int = 1, cores: SharedCores | None = None
    ) -> None:
        """cores: that other work takes some of meanwhile."""
        self.class_of, self.wish, self.pairs = class_of, class_of.copy(), pairs
        self.threads, self.cores = threads, cores
        sides, width = len(pairs.starts), k + len(SPECIAL)
        self.costs, self.offsets = costs_and_offsets(pairs.starts, width)
        self.batch = max(1, min(BATCH, int(self.costs.sum()) // BATCHES))
        cells = np.zeros((sides // 2, width, width), np.int32)
        # A block for every two threads: who judges for fewer classes at a time looks at each word more often.
        bits = int(np.clip((-(-2 * width // threads) - 1).bit_length(), *_BLOCK_BITS))
        self.n_blocks = (width - 1 >> bits) + 1
        rows = self.n_blocks * sides * width, 1 << bits
        prior = min(PRIOR, CLASS_PRIOR / k)
        priors = np.array([prior, prior * k])  # of a cell and of a class

        def count(d: int) -> None:
            s = 2 * d
            kernels.fill_cells(class_of, pairs.starts[s], pairs.others, pairs.times, pairs.itself[s], cells[d])

        at_once = cores.kept if cores is not None else threads
        list(parallel_map(count, range(sides // 2), at_once))
        sums = np.array([side.sum(axis=axis, dtype=np.int32) for side in cells for axis in (0, 1)])
        tables = kernels.f_tables(priors, min(kernels.TABLE, int(sums.max()) + 1))
        self.counts = ClassCounts(np.zeros(rows, np.int32), np.zeros(rows, np.float32), sums, tables, priors, bits)
        list(parallel_map(lambda d: kernels.fill_rows(2 * d, cells[d], self.counts), range(sides // 2), at_once))

    @property
    def objective(self) -> float:
        """What the exchanges raise: equation (26) of docs/ideas/mathematics.md."""
        return float(kernels.objective(self.counts))

    def sweep(self, words: Ids, advance: Callable[[int], object] = lambda n: None) -> None:
        """Let each of some words, in order, move to where it fits best, a batch at a time."""
        cuts = np.array(cut_by_size(self.costs[words], self.batch))
        judged, moves = self.empty_judgements(words, cuts), self.no_moves(words, cuts)
        state = self.class_of, self.pairs, self.counts, judged, moves
        for first in range(0, cuts.size - 1, _BATCHES_AT_ONCE):
            some = cuts[first : first + _BATCHES_AT_ONCE + 1]
            threads = min(self.threads, self.cores.rest) if self.cores is not None else self.threads
            moves.claims[:] = 0
            run_together(moving.sweep, threads, words, some, *state)
            advance(int(some[-1] - some[0]))

    def empty_judgements(self, words: Ids, cuts: Integers) -> JudgedWords:
        """Room for what is judged of the largest of some batches."""
        sides, n_blocks = len(self.counts.sums), self.n_blocks
        firsts, lasts = words[cuts[:-1]], words[cuts[1:] - 1]
        spans = self.offsets[lasts, -1] - self.offsets[firsts, 0]
        most_neighbours = int(spans.max(initial=0)) + self.counts.sums.shape[1]
        most_words = int(np.diff(cuts).max(initial=0))
        return JudgedWords(
            self.offsets, np.empty(most_neighbours, np.int32), np.empty(most_neighbours, np.int32),
            np.empty((most_words, sides), np.int32), np.empty((most_words, sides), np.int32),
            np.empty((most_words, sides), np.int32), np.empty((n_blocks, most_words), np.int32),
            np.empty((n_blocks, most_words), np.float32), np.empty(most_words, np.float32),
            np.zeros(n_blocks * APART, np.int64),
        )  # fmt: skip

    def no_moves(self, words: Ids, cuts: Integers) -> Moves:
        """Room for what moves of the largest of some batches."""
        most_words = int(np.diff(cuts).max(initial=0))
        neighbours = np.add.reduceat(self.costs[words], cuts[:-1]) if words.size else np.zeros(1, np.int64)
        return Moves(
            self.wish, np.zeros(self.counts.sums.shape[1], np.int64), np.zeros(self.class_of.size, np.int64),
            np.empty(most_words, np.int32), np.empty(most_words, np.int32),
            np.empty((int(neighbours.max()), 6), np.int32), np.zeros(1, np.int64),
        )  # fmt: skip


def cut_by_size(sizes: Integers, most: int) -> list[int]:
    """Where to cut a list so that the sizes of each part are about `most` together; no part is empty."""
    if not len(sizes):
        return [0]
    ends = np.cumsum(sizes)
    inner = np.searchsorted(ends, np.arange(most, int(ends[-1]), most), side="left") + 1
    return [int(cut) for cut in np.unique(np.concatenate([[0], inner, [len(sizes)]]))]


def automatic_k(n_positions: int, share: float = 1.0) -> int:
    """How many classes to allow for a text of so many positions: 300 for a million, never more than 500.

    share: of these, for another clustering of the same words; two at least. Equation (28) of docs/ideas/mathematics.md.
    """
    return max(2, round(share * min(500, max(2, round(0.3 * math.sqrt(n_positions))))))


def find_classes(
    ids: Ids,
    n_words: int,
    k: int | None = None,
    *,
    later: Ids = NOTHING,
    sweeps: int = SWEEPS,
    threads: int | None = None,
    cores: SharedCores | None = None,
    progress: bool = False,
) -> Classes:
    """Find classes of the words of an encoded text (`Corpus.ids`), whose vocabulary has `n_words` words.

    k: the most classes to make, those of the special words not counted; by default `automatic_k`. Fewer are made where
    the text has fewer words or does not bear out so many.
    later: more text, in which words that the first does not have are put into the classes they fit best.
    cores: that other work takes some of meanwhile.
    """
    if not isinstance(ids, np.ndarray):
        raise wrong_type("find_classes", ids, "the ids of a corpus, as read_corpus gives them")
    if k is not None and k < 1:
        raise UsageError(f"{k} classes: expected 1 or more")
    if sweeps < 1:
        raise UsageError(f"{sweeps} sweeps: expected 1 or more")
    threads = checked_threads(threads)
    n_ordinary = n_words - len(SPECIAL)
    k = min(automatic_k(ids.size) if k is None else k, n_ordinary)
    at_once = threads if cores is None else cores.kept
    before = counts_of_words(ids, n_words, at_once)
    counts = before + counts_of_words(later, n_words, at_once)
    if k < 2:
        return Classes.numbered(np.zeros(n_ordinary, np.int64), counts[len(SPECIAL) :])
    class_of = np.minimum(np.arange(n_words), k + len(SPECIAL) - 1).astype(np.int32)
    texts = [ids, later] if later.size else [ids]
    pairs, *pairs_later = count_pairs(texts, n_words, threads=at_once)
    _sweep(Exchange(pairs, class_of, k, threads=threads, cores=cores), class_of.size, k, sweeps, progress)
    if later.size:
        new = np.flatnonzero((before == 0) & (counts > 0))
        exchange = Exchange(pairs_later[0], class_of, k, threads=threads, cores=cores)
        exchange.sweep(new[new >= len(SPECIAL)].astype(np.int32))
    return Classes.numbered(class_of[len(SPECIAL) :], counts[len(SPECIAL) :])


def _sweep(exchange: Exchange, n_words: int, k: int, sweeps: int, progress: bool) -> None:
    words = np.arange(len(SPECIAL), n_words, dtype=np.int32)
    total = len(words) * sweeps - k
    with progress_bar("finding classes", total=total, unit="word", progress=progress) as advance:
        for i in range(sweeps):
            exchange.sweep(words[k:] if i == 0 else words, advance)
