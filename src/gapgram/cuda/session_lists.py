"""What streams have read, in the memory of a card: `Session` of the kernel `next_words.cu`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from gapgram.cuda.next_words import address
from gapgram.errors import DeviceError
from gapgram.queries.stream_sessions import StreamSessions, lists_of

MOST_VIEWS = 16  # that the kernel has room for


class SessionsOnCard:
    """The lists of each stream, one buffer a stream, and their addresses, int64 [stream], which graphs may record."""

    def __init__(self, xp: ModuleType, sessions: StreamSessions) -> None:
        self._xp, self._sessions = xp, sessions
        history = sessions.histories[0]
        n_views = len(history.weights.views)
        if n_views > MOST_VIEWS:
            raise DeviceError(f"device cuda: sessions with {n_views} views: a card has room for {MOST_VIEWS}")
        views = np.zeros((MOST_VIEWS, 4), np.int32)
        views[:n_views, :3], views[:n_views, 3] = history.views.offsets, history.views.of_classes
        self._views, self._n_views = views.view(np.int64).reshape(-1), n_views
        self._classes = xp.asarray(history.views.class_of)
        self._held: list[Any] = [None] * len(sessions)
        self.of_streams = [0] * len(sessions)
        for stream in range(len(sessions)):
            self.update(stream)

    def update(self, stream: int) -> int:
        """Lay out anew what a stream has read; returns its address. What kernels under way still read stays."""
        lists = lists_of(self._sessions.histories[stream])
        parts = [np.ascontiguousarray(part).view(np.int64).reshape(-1) for part in lists[:3]]
        places = 8 + self._views.size + np.cumsum([0, *(part.size for part in parts)])
        buffer = self._xp.empty(int(places[-1]), np.int64)
        slots, following, logits = (address(buffer) + 8 * int(place) for place in places[:-1])
        head = (
            len(lists.slots) - 1, slots, following, logits, self._n_views, lists.age_row, address(self._classes),
            self._classes.size,
        )  # fmt: skip
        parts = [np.array(head, np.int64), self._views, *parts]
        buffer[:] = self._xp.asarray(np.concatenate(parts))
        self._held[stream] = buffer, self._held[stream] and self._held[stream][0]
        self.of_streams[stream] = address(buffer)
        return self.of_streams[stream]
