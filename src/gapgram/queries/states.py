"""States between words: what a decoder keeps of a hypothesis, to score one more word after it.

Two states are equal where the model knows that every continuation has the same probabilities: words that no context
of the model can see any more leave nothing behind. Equal states give the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.errors import UsageError
from gapgram.kernels.compiled import bind
from gapgram.kernels.probability import stepping as kernels
from gapgram.kernels.probability.plan import is_quick, plan_of
from gapgram.kernels.probability.stepping import extend_chain, extend_rows
from gapgram.kernels.probability.successors import distributions
from gapgram.kernels.tables.arrays import N_GRAMS
from gapgram.kernels.tables.model_arrays import ModelArrays
from gapgram.kernels.text.special_words import START_ID
from gapgram.queries.state_rows import ArrayRows, KeyRows, StateRows
from gapgram.system.parallel import parallel_map

BEAM = 256  # states that one call of the kernel takes
_ROWS = 16  # states whose next words one call of the kernel finds
MANY = 4 * BEAM  # states from which on threads are worth their while


class State(NamedTuple):
    """What is known before the next word. Immutable, some hundred bytes, compared and hashed by what it holds.

    Made by a model's `begin_sentence`, `null_context` and `extend`, and of use to that model alone.
    """

    key: bytes

    def __repr__(self) -> str:
        return f"<State {hash(self.key) & 0xFFFFFFFF:08x}>"


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

    def all_words(self, keys: Sequence[bytes], n_words: int, threads: int) -> Floats:
        """[key, word]: log10 of the probability of every next word."""
        words, many = np.arange(n_words, dtype=np.int32), list(keys)
        scores = np.empty((len(many), n_words))
        for own, key in zip(scores, many, strict=True):
            own[START_ID + 1 :] = self.many([key] * (n_words - START_ID - 1), words[START_ID + 1 :], threads)[0]
            own[:START_ID] = self.many([key] * START_ID, words[:START_ID], threads)[0]
        scores[:, START_ID] = -np.inf
        return scores

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
        self.arrays = arrays
        plan, self._at = plan_of(arrays)
        self.plan = plan._replace(gated=bool(plan.gated), forgetful=bool(plan.forgetful))
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
            return bind(extend_chain, (self.plan, self._at, *rest))
        return bind(kernels.extend_one, (self.plan, *rest))

    def _is_quick(self) -> bool:
        """Whether `kernels.probability.stepping` can do it."""
        return bool(is_quick(self.arrays))

    def rows(self) -> StateRows:
        if not self._is_quick():
            return KeyRows(self.many)
        step = partial(extend_rows, self.plan, self._at, self.arrays)
        return ArrayRows(step, self.width, self.kind, of_any_length=False)

    def start_score(self, key: bytes) -> float:
        """What falling back from all that is known takes: lmplz, too, has log10 P(<s>) = 0 where nothing is known."""
        return self.checked(key, START_ID)[0] - self.one(self.null, START_ID)[0]

    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        n, size = words.size, self._bytes
        if any(len(key) != size for key in keys):
            raise other_model()
        rows = np.frombuffer(b"".join(keys), self.kind).reshape(n, self.width)
        out, scores, lengths = np.empty_like(rows), np.empty(n), np.empty(n, np.int64)

        def work(a: int) -> None:
            b = min(a + BEAM, n)
            kernels.extend(
                rows[a:b], words[a:b], self.plan, self.arrays, out[a:b], scores[a:b], lengths[a:b]
            )

        for _ in parallel_map(work, range(0, n, BEAM), threads if n > MANY else 1):
            pass
        data = out.tobytes()
        return scores, [data[a : a + size] for a in range(0, n * size, size)]

    def all_words(self, keys: Sequence[bytes], n_words: int, threads: int) -> Floats:
        if any(len(key) != self._bytes for key in keys):
            raise other_model()
        rows = np.frombuffer(b"".join(keys), self.kind).reshape(len(keys), self.width)
        out = np.empty((len(keys), n_words))

        def work(a: int) -> None:
            distributions(rows[a : a + _ROWS], self.plan, self.arrays, out[a : a + _ROWS])

        for _ in parallel_map(work, range(0, len(keys), _ROWS), threads if len(keys) > _ROWS else 1):
            pass
        with np.errstate(divide="ignore"):
            return np.log10(out, out=out)


def other_model() -> UsageError:
    """What is said of a key that a model cannot have made."""
    return UsageError("the state is that of another model: states are made by the model that they are for")
