"""All next words after states on a card, in one launch: what decoders that fuse a language model ask for.

CuPy launches the kernel, which is C++ (`next_words.cu`): numba-cuda takes ten microseconds for each array that it hands
to one, which is longer than the kernel runs.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any, NamedTuple, no_type_check

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Ids, Integers
from gapgram.errors import DeviceError
from gapgram.kernels.tables import arrays as columns
from gapgram.kernels.tables.arrays import clustering_of, first_class
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
_SEEN_BYTES = 8 * (35 * 17 + 18) + 4 * (16 + 16 + 18 + 32)  # `Seen` of the kernel, where there are sessions
_PATTERN = np.dtype(
    [(name, np.int64) for name in ("gram_at", "first_gram", "first_context", "stride")]
    + [(name, np.int32) for name in (
        "n_grams", "code_bits", "key_bits", "odd", "inverse", "n_contexts", "first_row", "n_rows", "clustering",
        "first_class", "share_level", "unused",
    )] + [("discounts", np.float64, 4)]
)  # fmt: skip


class HeldArrays:
    """The arrays of a model in the memory of a card, each once. xp: CuPy, or what stands for it in tests."""

    def __init__(self, xp: ModuleType, arrays: ModelArrays) -> None:
        self.xp, self.arrays = xp, arrays
        self._held: dict[tuple[int, int], tuple[Any, Any]] = {}

    def address(self, array: Any) -> int:
        """Where a copy of an array lies, which is kept."""
        key = array.ctypes.data, array.nbytes
        if key not in self._held:
            self._held[key] = array, self.xp.asarray(np.ascontiguousarray(array))
        return address(self._held[key][1])


class NextWords:
    """The probabilities of all labels after states, by a card.

    words: of each label the id of the model's word, UNKNOWN_ID where the model has none, which share the probability of
    `<unk>`, or -1 where nothing may be predicted. dtype: of the probabilities, float32 or float64.
    states: how packed ones are read; without it they are rows.
    """

    def __init__(
        self, held: HeldArrays, words: Ids, states: PackedStates | None = None, dtype: npt.DTypeLike = np.float32
    ) -> None:
        xp, arrays = held.xp, held.arrays
        self.states, self._xp, self._arrays = states, xp, held
        self._dtype, self.n_columns = np.dtype(dtype), len(words)
        words = np.asarray(words, np.int32)
        self._all, self._end = (self._head(arrays, words, asked) for asked in (words, np.array([END_ID], np.int32)))
        n_patterns, n_slots = len(arrays.tables.places), len(_slots_of(arrays.tables.places).parents)
        if n_patterns > MOST_PATTERNS:
            raise DeviceError(f"device cuda: a model of {n_patterns} patterns is too large for a card; use the CPU")
        self._n_masses = int(arrays.tables.places[0, columns.N_GRAMS]) + max(arrays.member_base.size - 1, 0)
        self._bytes = 8 * (self._all.size + (8 + _PARTS) * n_patterns + arrays.order + 1)
        self._bytes += 4 * (3 * n_patterns + 1 + n_slots + arrays.order) + self._dtype.itemsize * n_patterns
        self._bytes += _most_pieces(arrays.tables.places)
        self._bytes += -self._bytes % 8
        self._spread: list[Any] = []  # all that there were: a graph that was recorded writes to its own
        self._most_bytes = int(xp.cuda.Device().attributes.get(_SHARED, USUAL_SHARED_BYTES))
        self.is_spread = 8 * self._n_masses + self._bytes + _SEEN_BYTES > self._most_bytes
        self._bytes += 0 if self.is_spread else 8 * self._n_masses
        self._kernels: dict[tuple[int, bool], Any] = {}  # by their threads, and whether there are sessions

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
            arrays.row_values, arrays.gate_table, labels, *_asked(arrays, words, self._dtype),
        )  # fmt: skip
        numbers = (
            words.size, tables.large_at.size, tables.word_counts.size, int(tables.places[0, columns.N_GRAMS]),
            max(arrays.member_base.size - 1, 0), n_clusterings, labels.size,
            max(int((labels == UNKNOWN_ID).sum()), 1), arrays.gate_table.size > 0, arrays.order,
            self.states.bits if self.states else 0,
            n_patterns, len(slots.parents), len(slots.roots), slots.task_base.size - 1, int(shares.levels.max()) + 1,
        )  # fmt: skip
        first = len(large) + len(numbers) + 1 + len(small)
        places = first + np.cumsum([0, *(array.size for array in small)])
        head = (*map(self._arrays.address, large), *map(int, numbers), places[-1], *places[:-1])
        whole = np.concatenate([np.array(head, np.int64), *(array.reshape(-1) for array in small)])
        return self._xp.asarray(whole)

    def __call__(
        self, n: int, states: Any, scores: Any, after: Any, *, rows: Any = 0, eos: int = -1, unit: float = 1.0,
        sessions: Any = 0, states_a_stream: int = 1, **options: Any,
    ) -> None:  # fmt: skip
        """Fill scores [n, label] with logarithms, and `after`, int64, with the states after labels.

        All are addresses, or arrays, of the card; nothing is checked. rows: int32 [n, order] in the place of states.
        eos: the label that ends a sentence. unit: what natural logarithms are multiplied by. sessions: int64 [stream],
        the addresses of what each has read (`StreamSessions.on_card`). options: of the launch, such as its `stream`.
        """
        arguments = self._all, self._all.size, states, rows, scores, after, eos, np.float64(unit)
        self._launch(n, arguments, (sessions, states_a_stream), options)

    def end(
        self, n: int, states: Any, scores: Any, *, rows: Any = 0, sessions: Any = 0, states_a_stream: int = 1,
        **options: Any,
    ) -> None:  # fmt: skip
        """Fill scores [n] with the natural logarithm of the probability that a sentence ends after each state."""
        arguments = self._end, self._end.size, states, rows, scores, 0, -1, np.float64(1.0)
        self._launch(n, arguments, (sessions, states_a_stream), options)

    def _launch(self, n: int, arguments: tuple[Any, ...], of_streams: tuple[Any, int], options: dict[str, Any]) -> None:
        spread: Any = 0
        if self.is_spread:
            if not self._spread or self._spread[-1].size < n * self._n_masses:
                self._spread.append(self._xp.zeros(n * self._n_masses, np.uint64))
            spread = self._spread[-1]
        threads, blocks = _FEW if n <= _FEW_STATES or self._bytes > _LARGE or self._dtype.itemsize > 4 else _MANY
        learns = not (isinstance(of_streams[0], int) and of_streams[0] == 0)
        kernel = self._kernels.get((threads, learns))
        if kernel is None:
            of_type = f"-DREAL={'float' if self._dtype.itemsize == 4 else 'double'}", f"-DSESSIONS={int(learns)}"
            kernel = self._kernels[threads, learns] = _kernel(self._xp, self._most_bytes, threads, blocks, of_type)
        if n:
            shared = self._bytes + _SEEN_BYTES * learns
            kernel((n,), (threads,), (*arguments, *of_streams, spread), shared_mem=shared, **options)


def address(array: Any) -> int:
    """Where an array lies in the memory of the card, or of the CPU that plays one."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def _asked(arrays: ModelArrays, words: Ids, dtype: Any) -> tuple[Any, ...]:
    """Of words that are asked for, and the end of a sentence after them, what the kernel looks up by column."""
    tables, words = arrays.tables, np.append(words, np.int32(END_ID))
    at, n_class_words = np.maximum(words, 0), max(tables.word_counts.size, 1)
    shape = arrays.given_class.size // n_class_words, n_class_words
    classes, given = (
        array.reshape(shape)[:, at] if array.size else np.zeros((0, 1))
        for array in (tables.class_of, arrays.given_class)
    )
    counts = unpack_grams(tables, 0, 0, int(tables.places[0, columns.N_GRAMS]))[at] & columns.COUNT_MASK
    kept = np.maximum(counts - arrays.discounts[0, np.minimum(counts, 3)], 0.0)
    return words, kept.astype(dtype), classes.astype(np.int32), given.astype(dtype)


def _most_pieces(places: Integers) -> int:
    """How many pieces of 32 grams the lists of all patterns have at most."""
    roots = {0: int(places[0, columns.N_GRAMS])}  # of each clustering how many words, or classes, may follow
    for place in places[places[:, columns.REACH] == 0].tolist():
        roots[place[columns.OF_CLASSES]] = place[columns.N_GRAMS]
    return sum(-(-min(place[columns.N_GRAMS], roots[place[columns.OF_CLASSES]]) // 32) for place in places.tolist())


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
    tails, nearest, reach = (places[:, column].tolist() for column in (columns.TAIL, columns.NEAREST, columns.REACH))
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
    places, out = arrays.tables.places, np.zeros(len(arrays.tables.places), _PATTERN)
    for name in _PATTERN.names or ():
        if hasattr(columns, name.upper()):
            out[name] = places[:, getattr(columns, name.upper())]
    odds = ((1 << places[:, columns.KEY_BITS]) * _GOLDEN).astype(np.int64) | 1
    out["odd"] = odds
    out["inverse"] = [pow(odd, -1, 1 << bits) for odd, bits in out[["odd", "key_bits"]].tolist()]
    out["gram_at"] = places[:, columns.GRAM_BIT] >> 5
    out["clustering"], out["first_class"] = clustering_of(places, slice(None)), first_class(places, slice(None))
    out["share_level"], out["discounts"] = levels, arrays.discounts
    return out


@cache
def _kernel(xp: ModuleType, most_bytes: int, threads: int, blocks: int, of_type: tuple[str, ...]) -> Any:
    """The kernel, for blocks of so many threads, of which a processor has room for so many; all models have the same.

    most_bytes: that a block may share. of_type: what else it is compiled for.
    """
    options = f"-DMOST_THREADS={threads}", f"-DLEAST_BLOCKS={blocks}", *of_type
    module: Any = xp.RawModule(code=files("gapgram.cuda").joinpath("next_words.cu").read_text(), options=options)
    kernel = module.get_function("next_words")
    kernel.max_dynamic_shared_size_bytes = most_bytes
    return kernel
