"""Word classes found on a card: the objective, the judgement and the moves of `classes.exchange`.

A word moves if that raises the objective where all others stay, and all of a batch move together. Numbers are added up
in another order than by the cores, and with other logarithms, and every word is looked at exactly, also where the
judgement is that it stays. So the classes are others than the CPU's, as good as those, and the same in every run. CuPy
launches the kernels, which are C++ (`exchange.cu`): one launch goes through all batches of a sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache, cached_property
from importlib.resources import files
from types import ModuleType
from typing import Any

import numpy as np

from gapgram.arrays import Ids
from gapgram.classes.exchange import DISTANCES, Exchange, cut_by_size, priors_of
from gapgram.cuda.card import on_cpu
from gapgram.kernels.classes.exchange import TABLE, Pairs, f_tables
from gapgram.kernels.text.special_words import END_ID, SPECIAL

Array = Any  # of NumPy, or of CuPy on the card

BATCHES = 512  # of a sweep, about: words that have as many neighbours together move at once
_GROUP = 128  # threads of a block, which judges a word, that look at one side: at four classes each at a time
_ROOM_BYTES = 256  # of shared memory for sums over a block
USUAL_SHARED_BYTES = 48 << 10  # that a block may take of it on any card
_SHARED = "MaxSharedMemoryPerBlockOptin"  # CuPy's name for what it may take on this one


class CardClasses:
    """What counts neighbours and moves words on a card: a `ClassEngine`.

    xp: CuPy, or what stands for it in tests. threads: of the CPU, which moves words between more classes than the card
    has room for. most_bytes: of the memory that a block shares; as many as the card has unless said otherwise.
    """

    def __init__(self, xp: ModuleType, threads: int = 1, *, most_bytes: int | None = None) -> None:
        self._xp, self._threads, self._most_bytes = xp, threads, most_bytes

    @cached_property
    def _beside(self) -> AbstractContextManager[Any]:
        """A stream beside that of counting, so that neither waits for what the other copies."""
        stream: AbstractContextManager[Any] = self._xp.cuda.Stream(non_blocking=True)
        return stream

    def count(self, texts: Sequence[Ids], n_words: int) -> list[Pairs]:
        """As `classes.exchange.count_pairs`; the pairs stay on the card."""
        with self._beside:
            return [pairs_on_card(self._xp, ids, n_words) for ids in texts]

    def exchange(self, pairs: Pairs, class_of: Ids, k: int) -> CardExchange | Exchange:
        """What moves words."""
        with self._beside:
            most_bytes = self._most_bytes or self._xp.cuda.Device().attributes.get(_SHARED, USUAL_SHARED_BYTES)
            if _shared_bytes(len(pairs.starts), k + len(SPECIAL)) > most_bytes:
                return Exchange(Pairs(*map(on_cpu, pairs)), class_of, k, threads=self._threads)
            return CardExchange(self._xp, pairs, class_of, k, self._beside)


class CardExchange:
    """Classes on their way, as `Exchange` has them, with the counts on a card; `class_of` is the CPU's copy."""

    def __init__(
        self, xp: ModuleType, pairs: Pairs, class_of: Ids, k: int, beside: AbstractContextManager[Any]
    ) -> None:
        self.class_of, self._xp, self._beside = class_of, xp, beside
        sides, self._n_words = len(pairs.starts), class_of.size
        width = k + len(SPECIAL)
        stride = -(-width // 4) * 4
        neighbours = xp.diff(pairs.starts, axis=1)
        # What it costs to judge each word: its neighbours, and a little for itself.
        self.costs = on_cpu(neighbours.sum(axis=0)) + sides
        ends = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(pairs.times, dtype=np.int64)])
        totals = (ends[pairs.starts[:, 1:]] - ends[pairs.starts[:, :-1]] + pairs.itself).astype(np.int32)
        self._pairs = (*pairs, totals, np.int32(self._n_words), np.int32(sides))
        held = xp.asarray(class_of)
        self.rows, self.sums = xp.zeros((sides, width, stride), np.int32), xp.zeros((sides, stride), np.int32)
        self._size, self._shared = (np.int32(width), np.int32(stride)), _shared_bytes(sides, width)
        self._threads = sides * _GROUP
        fill, self._kernel, self._blocks = _kernels(xp, self._threads, self._shared)
        fill((self._blocks,), (self._threads,), (*self._pairs, held, self.rows, self.sums, *self._size))
        priors = priors_of(k)
        tables = f_tables(priors, min(TABLE, int(self.sums.max()) + 1))
        claims, claim_of = xp.zeros(width, np.uint64), xp.zeros(self._n_words, np.uint64)
        self._classes = (
            held, held.copy(), self.rows, self.sums, claims, claim_of, xp.asarray(tables[:2]), xp.asarray(priors)
        )  # fmt: skip
        self._table_size = np.int32(tables.shape[1] - 1)

    def sweep(self, words: Ids, advance: Callable[[int], object] = lambda n: None) -> None:
        """Let each of some words move to where it fits best, a batch at a time."""
        if not words.size:
            return
        xp, most = self._xp, max(1, int(self.costs.sum()) // BATCHES)
        cuts = np.array(cut_by_size(self.costs[words], most), np.int32)
        with self._beside:
            self._classes[4][:] = 0
            self._kernel((self._blocks,), (self._threads,), (
                *self._pairs, *self._classes, self._table_size, *self._size,
                xp.asarray(words), xp.asarray(cuts), np.int32(cuts.size - 1), xp.zeros(1, np.uint32),
            ), shared_mem=self._shared)  # fmt: skip
            self.class_of[:] = on_cpu(self._classes[0])
        advance(words.size)


def _shared_bytes(sides: int, width: int) -> int:
    """Of a block: what it adds up in, and by side what scores are made of, how often a word meets each class, how many
    those are, and which."""
    return _ROOM_BYTES + sides * (16 * _GROUP + 4 * width + 4 + 2 * width)


@cache
def _kernels(xp: ModuleType, threads: int, shared_bytes: int) -> tuple[Any, Any, int]:
    """The kernels, and how many blocks of the second the card runs at the same time."""
    code = files("gapgram.cuda").joinpath("exchange.cu").read_text()
    module: Any = xp.RawModule(code=code, enable_cooperative_groups=True)
    fill, sweep = module.get_function("fill"), module.get_function("sweep")
    sweep.max_dynamic_shared_size_bytes = shared_bytes
    return fill, sweep, blocks_at_once(xp, sweep, threads, shared_bytes)


def blocks_at_once(xp: ModuleType, kernel: Any, threads: int, shared_bytes: int) -> int:
    """How many blocks of a kernel a card runs at the same time."""
    driver = xp.cuda.driver
    of_one: int = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, threads, shared_bytes)
    return of_one * int(xp.cuda.Device().attributes["MultiProcessorCount"])


def pairs_on_card(xp: ModuleType, ids: Ids, n_words: int) -> Pairs:
    """The neighbours of every word of a text on every side, on the card."""
    sides: list[tuple[Array, Array, Array]] = []
    own: list[Array] = []
    held = xp.asarray(ids)
    for distance in DISTANCES:
        firsts, seconds, times, itself = _pairs_at(xp, held, n_words, distance)
        turned = xp.argsort(seconds, kind="stable")
        sides += [(firsts, seconds, times), (seconds[turned], firsts[turned], times[turned])]
        own += [itself, itself]
    words, base, starts = xp.arange(n_words + 1, dtype=np.int32), 0, []
    for firsts, _, _ in sides:
        starts.append(xp.searchsorted(firsts, words).astype(np.int64) + base)
        base += firsts.size
    others, times = (xp.concatenate([side[i] for side in sides]) for i in (1, 2))
    return Pairs(xp.stack(starts), others, times, xp.stack(own))


def _pairs_at(xp: ModuleType, ids: Array, n_words: int, distance: int) -> tuple[Array, Array, Array, Array]:
    """Pairs of two words at one distance, by both in order: these, how often each is, and each word with itself."""
    inside = xp.ones(max(ids.size - distance, 0), bool)
    for d in range(distance):
        inside &= ids[d : ids.size - distance + d] != END_ID
    at = xp.flatnonzero(inside)
    pairs = ids[at].astype(np.int64) << 32 | ids[at + distance]
    pairs.sort()
    is_new = xp.ones(pairs.size, bool)
    is_new[1:] = pairs[1:] != pairs[:-1]
    begins = xp.flatnonzero(is_new)
    times = xp.diff(xp.concatenate([begins, xp.full(1, pairs.size, begins.dtype)])).astype(np.int32)
    firsts, seconds = (pairs[begins] >> 32).astype(np.int32), (pairs[begins] & 0xFFFFFFFF).astype(np.int32)
    own = firsts == seconds
    itself = xp.zeros(n_words, np.int32)
    itself[firsts[own]] = times[own]
    return firsts[~own], seconds[~own], times[~own], itself
