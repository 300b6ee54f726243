"""Sessions by ids, for programs that go token by token: reading on inside a sequence, words taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gapgram.arguments import checked_whole
from gapgram.arrays import Floats, Ids
from gapgram.errors import UsageError
from gapgram.kernels.continuing.in_session import Heads
from gapgram.kernels.text.special_words import START_ID, UNKNOWN_ID
from gapgram.queries.continuations import Continuation, beam_of, check_beam, ids_of
from gapgram.queries.history import History, ReadSentences, SessionVocabulary, empty_heads
from gapgram.system.one_at_a_time import OneAtATime, one_at_a_time

if TYPE_CHECKING:
    from gapgram.queries.language_model import LanguageModel

MOST_SEEN = 128  # ids of a sequence that are looked at when it goes on
MOST_TAKEN_BACK = 64  # calls of `read_ids`


class ReadsIds(OneAtATime):
    """What a session does with ids."""

    model: LanguageModel
    vocabulary: SessionVocabulary
    _history: History
    _heads: Heads

    def _begin_sequence(self) -> None:
        self._sequence, self._before = np.empty(0, np.int32), list[tuple[int, History]]()

    def _mixed(self, ids: Ids) -> Floats:
        """The distribution after some ids."""
        before, n_known = self._history.after(ids[-MOST_SEEN:]), len(self.model.vocabulary)
        out = np.zeros(len(self.vocabulary))
        for view in range(before.sums.size):
            words, given = self._history.listed(before, view)
            out[words] += before.weights[view + 1] * given
        out[:n_known] += before.weights[0] * self.model.distribution_of(self._of_model_alone(ids))
        return out

    def _of_model_alone(self, ids: Ids) -> Ids:
        """The same with `<unk>` for the session's own words."""
        return np.where(ids < len(self.model.vocabulary), ids, np.int32(UNKNOWN_ID))

    @one_at_a_time
    def read_ids(self, ids: Any, *, goes_on: bool = False) -> None:
        """Learn a sequence of ids of the model's words: a list, an array or a tensor; `<s>` may be first.

        goes_on: it goes on with the sequence that was read last, as if both had been read at once.
        """
        new = ids_of(ids, len(self.model.vocabulary))
        if (new[int(not goes_on) :] == START_ID).any():
            raise UsageError(f"<s> (id {START_ID}) begins a sequence and stands nowhere else")
        if not goes_on:
            self._begin_sequence()
        self._before = [*self._before[1 - MOST_TAKEN_BACK :], (self._sequence.size, self._history.copy())]
        self._go_on(new)

    def _go_on(self, new: Ids) -> None:
        seen = self._sequence[-MOST_SEEN:]
        self._sequence = np.concatenate([self._sequence, new])
        some = np.concatenate([seen, new])
        text, begins = ReadSentences(some, np.array([0, some.size])), np.array([0, some.size])
        if new.size:
            self._history.score(text, self.model.score_checked_ids(some, begins), learn=True, skipped=seen.size)

    @one_at_a_time
    def take_back(self, n: int) -> None:
        """Forget the last n words of the sequence that `read_ids` has read, as if they had not been read."""
        left = self._sequence.size - checked_whole("n", n)
        kept = [number for number, (size, _) in enumerate(self._before) if size <= left]
        if n < 0 or not kept:
            raise UsageError(
                f"take back {n} words: expected some of those of the last {MOST_TAKEN_BACK} calls of read_ids, of one "
                f"sequence, which has {self._sequence.size}"
            )
        size, history = self._before[kept[-1]]
        again = self._sequence[size:left]
        self._before, self._sequence = self._before[: kept[-1] + 1], self._sequence[:size]
        self._history = history.copy()
        self._heads = empty_heads()
        self._go_on(again)

    @property
    def sequence(self) -> Ids:
        """The ids that `read_ids` has read of the sequence that goes on."""
        return self._sequence.copy()

    @one_at_a_time
    def distribution_of(self, ids: Any) -> Floats:
        """The distribution after some ids, such as those of `sequence`; over the ids of the session's vocabulary."""
        return self._mixed(ids_of(ids, len(self.vocabulary)))

    @one_at_a_time
    def continue_ids(self, ids: Any, n: int = 8, k: int = 1, *, ends: bool = True) -> list[Continuation]:
        """The k most probable continuations of some ids by n words, as `Model.continue_ids`; nothing is learned."""
        before = ids_of(ids, len(self.vocabulary))
        check_beam(n, k)
        return beam_of(self._mixed, before, n, k, ends=bool(ends))
