"""Word classes found in text: words with the same neighbours share a class.

Exchange (`kernels.exchange`): at first the k most frequent words have a class each and all others are with the last
of them; then every word, the most frequent first, moves to the class that it fits best, several times over. The first k
words stay where they are the first time, when too little is known of their neighbours. What a word fits is judged by
the classes of its neighbours one and two words away, on both sides. Batches of words are judged against the same
counts, side by side on all cores; then each moves in turn if its move really raises the objective. So nothing depends
on the number of threads or the order of lines, nothing is random, and the objective, equation (26) of
docs/ideas/mathematics.md, never falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.errors import UsageError
from gapgram.kernels import exchange as kernels
from gapgram.kernels.special_words import SPECIAL
from gapgram.system.parallel import checked_threads
from gapgram.system.progress import NO_BAR, progress_bar

NOTHING = np.empty(0, np.int32)
DISTANCES: tuple[int, ...] = (1, 2)
PRIOR, CLASS_PRIOR = 0.2, 100.0  # pairs that a cell, and at most a whole class, is believed to hold before any is seen
SWEEPS = 4
BATCH = 40_000  # neighbours, about, of the words that are judged against the same counts


class Exchange:
    """Classes on their way: `class_of` and the counts that belong to it.

    starts, others, times, itself: the neighbours of every word on every side, as the kernels take them.
    """

    def __init__(self, ids: Ids, class_of: Ids, k: int, distances: tuple[int, ...] = DISTANCES) -> None:
        self.class_of, self.best = class_of, class_of.copy()
        self._count_pairs(ids, distances)
        # What it costs to judge each word: its neighbours, and a little for itself.
        self.costs: Integers = np.diff(self.starts, axis=1).sum(axis=0) + len(self.starts)
        prior = min(PRIOR, CLASS_PRIOR / k)
        sides, width = len(self.starts), k + len(SPECIAL)
        self.priors = np.array([prior, prior * k])
        self.tables = kernels.f_tables(self.priors)
        self.cells = np.zeros((sides, width, width), np.int32)
        self.gain = np.zeros((sides, width, width), np.float32)
        self.sums = np.zeros((sides, width), np.int32)
        for s in range(sides):
            kernels.fill_cells(
                class_of, self.starts[s], self.others, self.times, self.itself[s], self.cells[s], self.sums[s]
            )
            kernels.fill_gain(self.cells[s], self.gain[s], prior)

    def _count_pairs(self, ids: Ids, distances: tuple[int, ...]) -> None:
        """Count the pairs of a text at some distances; two sides each."""
        sides, itself = [], []
        for distance in distances:
            starts, others, times = kernels.pairs_at(ids, self.class_of.size, distance)
            itself += [kernels.take_out_itself(starts, others, times)] * 2
            forward = starts, others[: starts[-1]], times[: starts[-1]]
            sides += [forward, kernels.turned(*forward)]
        base = np.cumsum([0] + [len(others) for _, others, _ in sides])
        self.starts = np.array([starts + at for (starts, _, _), at in zip(sides, base[:-1], strict=True)])
        self.others = np.concatenate([others for _, others, _ in sides])
        self.times = np.concatenate([times for _, _, times in sides])
        self.itself = np.array(itself)

    @property
    def objective(self) -> float:
        """What the exchanges raise: equation (26) of docs/ideas/mathematics.md."""
        return float(kernels.objective(self.cells, self.sums, self.tables, self.priors))

    def sweep(
        self, words: Ids, pool: ThreadPoolExecutor, threads: int, advance: Callable[[int], object] = lambda n: None
    ) -> float:
        """Let each of some words move to where it fits best; returns by how much the objective rose."""
        rise = 0.0
        for begin, end in pairwise(_cuts(self.costs[words], BATCH)):
            rise += self._batch(words[begin:end], pool, threads)
            advance(end - begin)
        return rise

    def _batch(self, words: Ids, pool: ThreadPoolExecutor, threads: int) -> float:
        state = (
            self.best, self.class_of, self.starts, self.others, self.times, self.itself,
            self.cells, self.gain, self.sums, self.tables, self.priors,
        )  # fmt: skip
        costs = self.costs[words]
        shares = pairwise(_cuts(costs, -(-int(costs.sum()) // threads)))
        for future in [pool.submit(kernels.propose, words[begin:end], *state) for begin, end in shares]:
            future.result()
        return float(kernels.exchange(words, *state))


def _cuts(sizes: Integers, most: int) -> list[int]:
    """Where to cut a list so that the sizes of each part are about `most` together; no part is empty."""
    if not len(sizes):
        return [0]
    ends = np.cumsum(sizes)
    inner = np.searchsorted(ends, np.arange(most, int(ends[-1]), most), side="left") + 1
    return [int(cut) for cut in np.unique(np.concatenate([[0], inner, [len(sizes)]]))]


def automatic_k(n_positions: int) -> int:
    """How many classes to allow for a text of so many positions: 300 for a million, never more than 500.

    Equation (28) of docs/ideas/mathematics.md.
    """
    return min(500, max(2, round(0.3 * math.sqrt(n_positions))))


def find_classes(
    ids: Ids,
    n_words: int,
    k: int | None = None,
    *,
    later: Ids = NOTHING,
    sweeps: int = SWEEPS,
    threads: int | None = None,
    progress: bool = False,
) -> Classes:
    """Find classes of the words of an encoded text (`Corpus.ids`), whose vocabulary has `n_words` words.

    k: the most classes to make, those of the special words not counted; by default `automatic_k`. Fewer are made where
    the text has fewer words or does not bear out so many.
    later: more text, in which words that the first does not have are put into the classes they fit best.
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
    before = np.bincount(ids, minlength=n_words)
    counts = before + np.bincount(later, minlength=n_words)
    if k < 2:
        return Classes.numbered(np.zeros(n_ordinary, np.int64), counts[len(SPECIAL) :])
    class_of = np.minimum(np.arange(n_words), k + len(SPECIAL) - 1).astype(np.int32)
    exchange = Exchange(ids, class_of, k)
    _sweep(exchange, k, sweeps, threads, progress)
    if later.size:
        new = np.flatnonzero((before == 0) & (counts > 0))
        exchange = Exchange(later, class_of, k)
        with ThreadPoolExecutor(threads) as pool:
            exchange.sweep(new[new >= len(SPECIAL)].astype(np.int32), pool, threads)
    return Classes.numbered(class_of[len(SPECIAL) :], counts[len(SPECIAL) :])


def _sweep(exchange: Exchange, k: int, sweeps: int, threads: int, progress: bool) -> None:
    words = np.arange(len(SPECIAL), len(exchange.class_of), dtype=np.int32)
    pool = ThreadPoolExecutor(threads)
    try:
        total = len(words) * sweeps - k
        bar = progress_bar("finding classes", total=total, unit="word", progress=True) if progress else NO_BAR
        with bar as advance:
            for i in range(sweeps):
                exchange.sweep(words[k:] if i == 0 else words, pool, threads, advance)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
