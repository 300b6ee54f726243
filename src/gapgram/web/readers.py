"""Readers of a model: sessions that have read the text before a question, the latest of them kept.

A question brings its history with it, so that nothing is lost when a reader is dropped, and nobody's text is known to
anybody else. Who writes on is answered by a copy of the reader that has read the beginning of it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from gapgram.queries.language_model import LanguageModel
from gapgram.queries.session import Session
from gapgram.web import limits


class Readers:
    """The readers of one model; at most so many are kept. Safe to share between threads."""

    def __init__(self, model: LanguageModel, *, most: int = limits.READERS) -> None:
        self._model, self._most = model, most
        self._kept: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    @contextmanager
    def after(self, history: str) -> Iterator[Session]:
        """A session that has read a text, one sentence a line, for one question at a time: it remembers what it was
        asked."""
        with self._lock:
            session = self._kept.get(history)
            begun = max((text for text in self._kept if history.startswith(text)), key=len, default="")
            start = self._kept.get(begun)
        if session is None:
            session = self._model.session(max_words=limits.READER_WORDS) if start is None else start.copy()
            session.read(history[len(begun) :])
        with self._lock:
            self._kept[history] = session
            self._kept.move_to_end(history)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        with session._lock:
            yield session
