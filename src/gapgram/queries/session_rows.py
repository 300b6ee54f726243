"""States of a search under a session: those of the model, and for each the last words before it."""

from __future__ import annotations

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.kernels.sessions.history import MOST_SAME
from gapgram.kernels.text.special_words import START_ID, UNKNOWN_ID
from gapgram.queries.history import ReadSentences
from gapgram.queries.session import Session
from gapgram.queries.state_rows import StateRows

_NONE = -1  # before the first word


class SessionRows(StateRows):
    """Rows of a session's model; what was read is mixed into each score, and nothing is learned.

    A key is one of the model: a text that goes on from it has no words of the session's own before it.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._of_model = session, session.model._stepper.rows()
        self._n_known = len(session.model.vocabulary)
        self._words = np.full((1, MOST_SAME + 1), _NONE, np.int32)

    def begin(self, key: bytes) -> None:
        """Let the first row hold the state of a key."""
        self._of_model.begin(key)
        self._words[0] = _NONE
        if key == self._session.model._stepper.beginning:
            self._words[0, -1] = START_ID

    def make_room(self, n: int) -> None:
        """Let there be n rows."""
        self._of_model.make_room(n)
        if n > len(self._words):
            more = np.full((n - len(self._words), self._words.shape[1]), _NONE, np.int32)
            self._words = np.concatenate([self._words, more])

    def extend(self, asked: Ids, n: int, answers: Floats) -> None:
        """Step from row to row (`StateRows.extend`): the model first, then the session in one call."""
        if n == 0:
            return
        known, words = asked[:n].copy(), asked[:n, 1]
        known[:, 1] = np.where(words < self._n_known, words, UNKNOWN_ID)
        self._of_model.extend(known, n, answers)
        # Each sequence is what stands before, as far as views look back, and the word.
        longer = np.column_stack([self._words[asked[:n, 0]], words])
        kept = longer != _NONE
        begins = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        log10_probs = np.zeros(int(begins[-1]))
        log10_probs[begins[1:] - 1] = answers[:n]
        with self._session._lock:
            scores = self._session._history.score(ReadSentences(longer[kept], begins), log10_probs, learn=False)
        answers[:n] = scores[begins[1:] - 1]
        after = asked[:n, 2]
        self._words[after[after >= 0]] = longer[after >= 0, 1:]

    def key(self, row: int) -> bytes:
        """What the model's state of a row holds."""
        return self._of_model.key(row)

    def keep(self, rows: Integers) -> None:
        """Let these be the first rows, in this order."""
        self._of_model.keep(rows)
        self._words[: rows.size] = self._words[rows]
