"""States between words: what a decoder keeps of a hypothesis, to score one more word after it.

Two states are equal where the model knows that every continuation has the same probabilities: words that no context
of the model can see any more leave nothing behind. Equal states give the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.errors import UsageError
from gapgram.kernels.compiled import bind
from gapgram.kernels.probability import stepping as kernels
from gapgram.kernels.probability.chains import only_chains
from gapgram.kernels.probability.one_step import extend_chain, extend_rows
from gapgram.kernels.tables.arrays import FIRST_ROW, N_GRAMS, NEAREST, OF_CLASSES, REACH, TAIL
from gapgram.kernels.tables.model_arrays import BACKOFF, ModelArrays
from gapgram.kernels.text.special_words import START_ID
from gapgram.queries.state_rows import ArrayRows, KeyRows, StateRows
from gapgram.system.parallel import parallel_map

BEAM = 256  # states that one call of the kernel takes
MANY = 4 * BEAM  # states from which on threads are worth their while


class State(NamedTuple):
    """What is known before the next word. Immutable, some hundred bytes, compared and hashed by what it holds.

    Made by a model's `begin_sentence`, `null_context` and `extend`, and of use to that model alone.
    """

    key: bytes


class Stepper(ABC):
    """Steps of one model, from key to key: a key is what a state holds. Safe to share between threads.

    null, beginning: the key where nothing is known, and the key after `<s>`.
    one: (log10 of the probability, length of the longest contiguous gram that was found, the key after it) of a key and
        the id of a word, which may be that of `<s>`. A length below 1 says that something is wrong (`fault`).
    """

    null: bytes
    beginning: bytes
    one: Callable[[bytes, int], tuple[float, int, bytes]]

    @abstractmethod
    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        """(log10 of the probabilities, keys after the words), a word for each key."""

    def rows(self) -> StateRows:
        """States for a search, a row each."""
        return KeyRows(self.many)

    def checked(self, key: bytes, word: int) -> tuple[float, int, bytes]:
        """As `one`; what is wrong is an error."""
        extended = self.one(key, word)
        if extended[1] < 1:
            raise self.fault(extended[1])
        return extended

    def fault(self, length: int) -> Exception:
        """What a length below 1 says."""
        return other_model()

    def start_score(self, key: bytes) -> float:
        """What `<s>` scores where it is met as a word, which KenLM allows; the sentence begins anew after it."""
        return self.checked(key, START_ID)[0]


class TableStepper(Stepper):
    """Steps of a model of gapgram's own."""

    def __init__(self, arrays: ModelArrays) -> None:
        order = arrays.order
        self.arrays, self.plan = arrays, plan_of(arrays, order)
        most = int(self.arrays.tables.places[:, N_GRAMS].max())
        self.kind = np.dtype(np.int32 if most < 1 << 31 else np.int64)
        self.width = int(kernels.width_of(self.plan, order))
        self._bytes = self.width * self.kind.itemsize
        key = np.full(self.width, -1, self.kind)
        key[: self.width - len(self.plan.slots)] = 0
        self.null = key.tobytes()
        self.one = self._bound()
        self.beginning = self.one(self.null, START_ID)[2]

    def _bound(self) -> Callable[[bytes, int], tuple[float, int, bytes]]:
        """The kernel of one step, with what it needs of this model."""
        rest = self.arrays, np.empty(0, self.kind), self.width
        if self._is_quick():
            return bind(extend_chain, (self.plan, _slots_of_patterns(self.arrays, self.plan), *rest))
        return bind(kernels.extend_one, (self.plan, *rest))

    def _is_quick(self) -> bool:
        """Whether `kernels.probability.one_step` can do it."""
        return bool(only_chains(self.arrays.edge_base)) and _starts_rise(self.arrays)

    def rows(self) -> StateRows:
        """States for a search, a row each."""
        if not self._is_quick():
            return KeyRows(self.many)
        step = partial(extend_rows, self.plan, _slots_of_patterns(self.arrays, self.plan), self.arrays)
        return ArrayRows(step, self.width, self.kind, of_any_length=False)

    def start_score(self, key: bytes) -> float:
        """What falling back from all that is known takes: lmplz, too, has log10 P(<s>) = 0 where nothing is known."""
        return self.checked(key, START_ID)[0] - self.one(self.null, START_ID)[0]

    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        """(log10 of the probabilities, keys after the words), BEAM keys in a call of the kernel."""
        n, size = words.size, self._bytes
        if any(len(key) != size for key in keys):
            raise other_model()
        rows = np.frombuffer(b"".join(keys), self.kind).reshape(n, self.width)
        out, scores, lengths = np.empty_like(rows), np.empty(n), np.empty(n, np.int64)

        def work(a: int) -> None:
            b = min(a + BEAM, n)
            kernels.extend(
                rows[a:b], words[a:b], BEAM, self.plan, self._spread_arrays, out[a:b], scores[a:b], lengths[a:b]
            )

        for _ in parallel_map(work, range(0, n, BEAM), threads if n > MANY else 1):
            pass
        data = out.tobytes()
        return scores, [data[a : a + size] for a in range(0, n * size, size)]

    @cached_property
    def _spread_arrays(self) -> ModelArrays:
        """The arrays for BEAM states side by side: what was d words ago lies d * BEAM columns back."""
        places = self.arrays.tables.places.copy()
        places[:, NEAREST] *= BEAM
        places.flags.writeable = self.arrays.tables.places.flags.writeable
        return self.arrays._replace(tables=self.arrays.tables._replace(places=places))


def plan_of(arrays: ModelArrays, order: int) -> kernels.Plan:
    """What states of a model hold: for each context the place it is found at, and where that will be looked for."""
    places = arrays.tables.places
    readers: dict[tuple[int, int], list[int]] = {}
    for pattern in np.flatnonzero(places[:, REACH]).tolist():
        tail, nearest = places[pattern, [TAIL, NEAREST]].tolist()
        for distance in range(1, nearest + 1):
            readers.setdefault((tail, distance), []).append(pattern)
    slots = sorted(readers)
    number = {slot: i for i, slot in enumerate(slots)}
    columns = [(tail, distance, number.get((tail, distance - 1), -1)) for tail, distance in slots]
    spans = np.zeros(len(places), np.int64)
    spans[0] = 1
    for pattern in np.flatnonzero((places[:, NEAREST] == 1) & (places[:, OF_CLASSES] == 0)).tolist():
        if places[pattern, REACH] and spans[places[pattern, TAIL]]:
            spans[pattern] = places[pattern, REACH] + 1
    starts = np.diff(arrays.start_base)
    return kernels.Plan(
        slots=np.array(columns, np.int64).reshape(-1, 3),
        reader_base=np.cumsum([0, *(len(readers[slot]) for slot in slots)]),
        readers=np.array([p for slot in slots for p in readers[slot]], np.int64),
        spans=spans,
        gated=arrays.gate_table.size > 0 and bool((starts > 1).any()) and order > 1,
        forgetful=is_forgetful(arrays),
    )


def _slots_of_patterns(arrays: ModelArrays, plan: kernels.Plan) -> Integers:
    """For each pattern the slot of a key in which its context lies; 0 for those of no context."""
    places, number = arrays.tables.places, {(tail, near): i for i, (tail, near, _) in enumerate(plan.slots.tolist())}
    return np.array([number.get((tail, near), 0) for tail, near in places[:, [TAIL, NEAREST]].tolist()], np.int64)


def _starts_rise(arrays: ModelArrays) -> bool:
    """Whether the patterns that predictions start from are listed in their order."""
    rises = np.diff(arrays.starts) > 0
    rises[arrays.start_base[1:-1] - 1] = True  # from one list to the next
    return bool(rises.all())


def is_forgetful(arrays: ModelArrays) -> bool:
    """Whether a longer context that was never seen gives the bits of the shorter one: a chain, each value times 1.

    So it is for modified Kneser-Ney. With gaps, or several patterns to start from, it matters that a word was there.
    """
    places, sizes = arrays.tables.places, np.diff(arrays.start_base)
    if (sizes != 1).any() or not only_chains(arrays.edge_base) or (places[1:, NEAREST] != 1).any():
        return False
    unseen = arrays.row_values[places[:, FIRST_ROW], BACKOFF]
    below: Any = [arrays.edge_to[arrays.edge_base[p]] for p in arrays.starts[1:]]
    return bool((unseen[1:] == 1.0).all() and (np.array(below) == arrays.starts[:-1]).all())


def other_model() -> UsageError:
    """What is said of a key that a model cannot have made."""
    return UsageError("the state is that of another model: states are made by the model that they are for")
