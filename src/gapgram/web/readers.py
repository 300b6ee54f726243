"""Readers of a model: sessions that have read the text before a question, the latest of them kept.

A question brings its history with it, so that nothing is lost when a reader is dropped, and nobody's text is known to
anybody else. Who writes on is answered by a copy of the reader that has read the beginning of it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gapgram.queries.language_model import LanguageModel
from gapgram.queries.session import Session
from gapgram.web import limits


@dataclass
class _Reader:
    """A session, and the lock of who asks it: it remembers what it was asked."""

    session: Session
    lock: threading.Lock = field(default_factory=threading.Lock)


class Readers:
    """The readers of one model; at most so many are kept. Safe to share between threads."""

    def __init__(self, model: LanguageModel, *, most: int = limits.READERS) -> None:
        self._model, self._most = model, most
        self._kept: OrderedDict[str, _Reader] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    @contextmanager
    def after(self, history: str) -> Iterator[Session]:
        """A session that has read a text, one sentence a line, for one question at a time."""
        with self._lock:
            reader = self._kept.get(history)
            begun = max((text for text in self._kept if history.startswith(text)), key=len, default=None)
            start = self._kept[begun] if begun is not None else None
        if reader is None:
            reader = _Reader(self._read(history, begun or "", start))
        with self._lock:
            self._kept[history] = reader
            self._kept.move_to_end(history)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        with reader.lock:
            yield reader.session

    def _read(self, history: str, begun: str, start: _Reader | None) -> Session:
        """A new session that has read a text, of which another has read the beginning."""
        if start is None:
            session = self._model.session(max_words=limits.READER_WORDS)
        else:
            with start.lock:
                session = start.session.copy()
        session.read(history[len(begun) :])
        return session
