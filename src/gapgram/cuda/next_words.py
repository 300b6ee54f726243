"""All next words after packed states on a card, in one launch: what decoders that fuse a language model ask for.

CuPy launches the kernel, which is C++ (`next_words.cu`): numba-cuda takes ten microseconds for each array that it hands
to one, which is longer than the kernel runs.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any, NamedTuple, no_type_check

import numpy as np

from gapgram.arrays import Ids, Integers
from gapgram.errors import DeviceError
from gapgram.kernels.tables.arrays import (
    CLUSTERING_BITS,
    CODE_BITS,
    COUNT_MASK,
    FIRST_CONTEXT,
    FIRST_GRAM,
    FIRST_ROW,
    GRAM_BIT,
    KEY_BITS,
    N_CONTEXTS,
    N_GRAMS,
    N_ROWS,
    NEAREST,
    OF_CLASSES,
    REACH,
    STRIDE,
    TAIL,
)
from gapgram.kernels.tables.keys import _GOLDEN
from gapgram.kernels.tables.model_arrays import ModelArrays
from gapgram.kernels.tables.read import unpack_grams
from gapgram.kernels.text.special_words import END_ID, UNKNOWN_ID
from gapgram.queries.packed_states import PackedStates

_SHARED, USUAL_SHARED_BYTES = "MaxSharedMemoryPerBlockOptin", 48 << 10  # that a block may share: CuPy's name for it
# Threads of a block, and how many blocks a processor is to have room for, where there are few states, and where many
_FEW, _MANY, _FEW_STATES = (512, 2), (128, 8), 264
_LARGE = 1 << 15  # bytes that a block shares: of fewer, larger blocks there is room for enough threads


MOST_PATTERNS = 128  # a thread has one
_PARTS = 8  # of what adds up to a logit, as in the kernel
_PATTERN = np.dtype(
    [(name, np.int64) for name in ("gram_at", "first_gram", "first_context", "stride")]
    + [(name, np.int32) for name in (
        "n_grams", "code_bits", "key_bits", "odd", "inverse", "n_contexts", "first_row", "n_rows", "clustering",
        "first_class", "share_level", "unused",
    )] + [("discounts", np.float32, 4)]
)  # fmt: skip


class NextWords:
    """The probabilities of all labels after packed states, by a card.

    xp: CuPy, or what stands for it in tests. words: of each label the id of the model's word, UNKNOWN_ID where the
    model has none, which share the probability of `<unk>`, or -1 where nothing may be predicted.
    """

    def __init__(self, xp: ModuleType, arrays: ModelArrays, words: Ids) -> None:
        self.states = PackedStates(len(words), arrays.order)
        self._xp = xp
        self._held: dict[int, tuple[Any, Any]] = {}  # what the card reads, kept from being freed
        words = np.asarray(words, np.int32)
        self._all, self._end = (self._head(arrays, words, asked) for asked in (words, np.array([END_ID], np.int32)))
        n_patterns, n_slots = len(arrays.tables.places), len(_slots_of(arrays.tables.places).parents)
        if n_patterns > MOST_PATTERNS:
            raise DeviceError(f"device cuda: a model of {n_patterns} patterns is too large for a card; use the CPU")
        self._n_masses = int(arrays.tables.places[0, N_GRAMS]) + max(arrays.member_base.size - 1, 0)
        self._bytes = 8 * (self._all.size + (8 + _PARTS) * n_patterns + arrays.order + 1)
        self._bytes += 4 * (4 * n_patterns + 1 + n_slots + arrays.order) + _most_pieces(arrays.tables.places)
        self._bytes += -self._bytes % 8
        self._spread: Any = None
        self._most_bytes = int(xp.cuda.Device().attributes.get(_SHARED, USUAL_SHARED_BYTES))
        if 8 * self._n_masses + self._bytes <= self._most_bytes:
            self._bytes += 8 * self._n_masses
        else:
            self._spread = xp.zeros(0, np.uint64)
        self._kernels: dict[int, Any] = {}  # by their threads

    def _head(self, arrays: ModelArrays, labels: Ids, words: Ids) -> Any:
        """What is small of a model, and where the rest lies on the card: `Head` of the kernel, and its tables.

        words: that are asked for.
        """
        tables, n_patterns = arrays.tables, len(arrays.tables.places)
        slots, shares = _slots_of(tables.places), _shares_of(arrays)
        n_clusterings = arrays.given_class.size // max(tables.word_counts.size, 1)
        small = (
            _patterns_of(arrays, shares.levels).view(np.int64), slots.roots.view(np.int64), slots.task_base,
            slots.tasks.view(np.int64), arrays.start_base, arrays.starts, shares.up_base, shares.up, arrays.edge_base,
            arrays.edge_to, arrays.edge_weight.view(np.int64),
        )  # fmt: skip
        large = (
            tables.grams.view(np.uint32), tables.contexts, tables.large_at, tables.large_counts, tables.class_of,
            arrays.row_values, arrays.gate_table, labels, *_asked(arrays, words),
        )  # fmt: skip
        numbers = (
            words.size, tables.large_at.size, tables.word_counts.size, int(tables.places[0, N_GRAMS]),
            max(arrays.member_base.size - 1, 0), n_clusterings, labels.size,
            max(int((labels == UNKNOWN_ID).sum()), 1), arrays.gate_table.size > 0, arrays.order, self.states.bits,
            n_patterns, len(slots.parents), len(slots.roots), slots.task_base.size - 1, int(shares.levels.max()) + 1,
        )  # fmt: skip
        first = len(large) + len(numbers) + 1 + len(small)
        places = first + np.cumsum([0, *(array.size for array in small)])
        head = (*(address(self._on_card(array)) for array in large), *map(int, numbers), places[-1], *places[:-1])
        return self._on_card(np.concatenate([np.array(head, np.int64), *(array.reshape(-1) for array in small)]))

    @property
    def is_spread(self) -> bool:
        """Whether sums lie in the card's memory, because the words are too many for what a block shares."""
        return self._spread is not None

    def _on_card(self, array: Any) -> Any:
        """A copy in the card's memory, which is kept; one of each array."""
        if id(array) not in self._held:
            self._held[id(array)] = array, self._xp.asarray(np.ascontiguousarray(array))
        return self._held[id(array)][1]

    def __call__(self, n: int, states: Any, scores: Any, after: Any, *, eos: int = -1, **options: Any) -> None:
        """Fill scores [n, label], float32, with natural logarithms, and `after`, int64, with the states after labels.

        All are int64 addresses, or arrays, of the card; nothing is checked. eos: the label that ends a sentence.
        options: of the launch, such as its `stream`.
        """
        self._launch(n, (self._all, self._all.size, states, scores, after, eos), options)

    def end(self, n: int, states: Any, scores: Any, **options: Any) -> None:
        """Fill scores [n] with the natural logarithm of the probability that a sentence ends after each state."""
        self._launch(n, (self._end, self._end.size, states, scores, 0, -1), options)

    def _launch(self, n: int, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        spread = 0
        if self._spread is not None:
            if self._spread.size < n * self._n_masses:  # kept: a graph that was recorded writes to it
                self._spread = self._on_card(np.zeros(n * self._n_masses, np.uint64))
            spread = address(self._spread)
        threads, blocks = _FEW if n <= _FEW_STATES or self._bytes > _LARGE else _MANY
        kernel = self._kernels.get(threads)
        if kernel is None:
            kernel = self._kernels[threads] = _kernel(self._xp, self._most_bytes, threads, blocks)
        if n:
            kernel((n,), (threads,), (*arguments, spread), shared_mem=self._bytes, **options)


def address(array: Any) -> int:
    """Where an array lies in the memory of the card, or of the CPU that plays one."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def _asked(arrays: ModelArrays, words: Ids) -> tuple[Any, ...]:
    """Of words that are asked for, and the end of a sentence after them, what the kernel looks up by column."""
    tables, words = arrays.tables, np.append(words, np.int32(END_ID))
    at, n_class_words = np.maximum(words, 0), max(tables.word_counts.size, 1)
    shape = arrays.given_class.size // n_class_words, n_class_words
    classes, given = (
        array.reshape(shape)[:, at] if array.size else np.zeros((0, 1))
        for array in (tables.class_of, arrays.given_class)
    )
    counts = unpack_grams(tables, 0, 0, int(tables.places[0, N_GRAMS]))[at] & COUNT_MASK
    kept = np.maximum(counts - arrays.discounts[0, np.minimum(counts, 3)], 0.0)
    return words, kept.astype(np.float32), classes.astype(np.int32), given.astype(np.float32)


def _most_pieces(places: Integers) -> int:
    """How many pieces of 32 grams the lists of all patterns have at most."""
    roots = {0: int(places[0, N_GRAMS])}  # of each clustering how many words, or classes, may follow
    for place in places[places[:, REACH] == 0].tolist():
        roots[place[OF_CLASSES]] = place[N_GRAMS]
    return sum(-(-min(place[N_GRAMS], roots[place[OF_CLASSES]]) // 32) for place in places.tolist())


class Slots(NamedTuple):
    """The grams that are contexts, and in which order they are found.

    roots       int32 [slot, 4], tasks of the first slots: words, or their classes
    task_base, tasks    of each level: int32 [task, 4], a pattern, how many words back a gram of it ends, the slot of
                its context, and its own slot; or, with slot -1, the list of the pattern's context
    parents     of each slot that of its context
    """

    roots: Any
    task_base: Integers
    tasks: Any
    parents: list[int]


@no_type_check
def _slots_of(places: Integers) -> Slots:
    tails, nearest, reach = (places[:, column].tolist() for column in (TAIL, NEAREST, REACH))
    levels: dict[tuple[int, int], int] = {}

    def level_of(p: int, distance: int) -> int:
        """That of a slot, which is listed."""
        if (p, distance) not in levels:
            levels[p, distance] = level_of(tails[p], distance + nearest[p]) + 1 if reach[p] else 0
        return levels[p, distance]

    lists = [(level_of(tails[p], nearest[p]) if reach[p] else 0, p) for p in range(len(places))]
    slots = sorted(levels, key=lambda slot: (levels[slot], slot))
    number = {slot: i for i, slot in enumerate(slots)}
    parents = [number[tails[p], d + nearest[p]] if reach[p] else -1 for p, d in slots]
    n_levels = max([0, *levels.values()]) + 1
    rows = [[] for _ in range(n_levels + 1)]  # of the roots, and of each level
    for i, (p, d) in enumerate(slots):
        rows[levels[p, d]].append((p, d, parents[i], i))
    for level, p in lists:
        rows[level + 1].append((p, 0, number[tails[p], nearest[p]] if reach[p] else -1, -1))
    roots, *tasks = (np.array(own, np.int32).reshape(-1, 4) for own in rows)
    return Slots(roots, np.cumsum([0, *map(len, tasks)]), np.concatenate(tasks), parents)


class Shares(NamedTuple):
    """Which patterns fall back on each: up[up_base[p] : up_base[p + 1]], the pattern and its edge, -1 where it has one.

    levels      of each pattern one more than those of all that fall back on it
    """

    up_base: Integers
    up: Integers
    levels: Integers


def _shares_of(arrays: ModelArrays) -> Shares:
    n_patterns = len(arrays.tables.places)
    edges: list[list[tuple[int, int]]] = [[] for _ in range(n_patterns)]
    levels = np.zeros(n_patterns, np.int64)
    for p in range(n_patterns - 1, 0, -1):
        begin, end = int(arrays.edge_base[p]), int(arrays.edge_base[p + 1])
        for e in range(begin, end):
            to = int(arrays.edge_to[e])
            edges[to].append((p, e if end - begin > 1 else -1))
            levels[to] = max(levels[to], levels[p] + 1)
    up = np.array([edge for own in edges for edge in own], np.int64).reshape(-1, 2)
    return Shares(np.cumsum([0, *map(len, edges)]), up, levels)


def _patterns_of(arrays: ModelArrays, levels: Integers) -> Any:
    """`Pattern` of the kernel, for each."""
    out = np.zeros(len(arrays.tables.places), _PATTERN)
    for p, place in enumerate(arrays.tables.places.tolist()):
        odd = int((1 << place[KEY_BITS]) * _GOLDEN) | 1
        out[p] = (
            place[GRAM_BIT] >> 5, place[FIRST_GRAM], place[FIRST_CONTEXT], place[STRIDE], place[N_GRAMS],
            place[CODE_BITS], place[KEY_BITS], odd, pow(odd, -1, 1 << place[KEY_BITS]), place[N_CONTEXTS],
            place[FIRST_ROW], place[N_ROWS], place[OF_CLASSES] & ((1 << CLUSTERING_BITS) - 1),
            place[OF_CLASSES] >> CLUSTERING_BITS, levels[p], 0, arrays.discounts[p],
        )  # fmt: skip
    return out


@cache
def _kernel(xp: ModuleType, most_bytes: int, threads: int, blocks: int) -> Any:
    """The kernel, for blocks of so many threads, of which a processor has room for so many; all models have the same.

    most_bytes: that a block may share.
    """
    options = f"-DMOST_THREADS={threads}", f"-DLEAST_BLOCKS={blocks}"
    module: Any = xp.RawModule(code=files("gapgram.cuda").joinpath("next_words.cu").read_text(), options=options)
    kernel = module.get_function("next_words")
    kernel.max_dynamic_shared_size_bytes = most_bytes
    return kernel
