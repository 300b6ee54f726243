"""Connections that are watched: headers must arrive in time, answers be taken in time, and idle ones make room.

uvicorn limits how long a connection may be kept after an answer, and nothing else: without this, connections that say
nothing, or a letter a minute, would keep everybody else out.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from gapgram.web import limits


class WatchedConnection(H11Protocol):
    """One connection of the service."""

    _deadline: asyncio.TimerHandle | None = None
    _speaks = _begun = False

    @property
    def waiting(self) -> dict[WatchedConnection, None]:
        """All connections of the service without a whole request, body and all, the one that waits longest first."""
        found: dict[WatchedConnection, None] = vars(self.server_state).setdefault("waiting", {})
        return found

    def connection_made(self, transport: Any) -> None:
        """Give a new connection time for the headers of its first request."""
        super().connection_made(transport)
        self._wait()
        self._make_room(limits.CONNECTIONS_KEPT)
        self._limit(limits.HEADER_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Read, and see whether a request has begun, or its headers are still under way."""
        super().data_received(data)
        if self._answers():
            self._begin()
        elif not self._speaks and not self.transport.is_closing():
            self._speaks = True
            self._limit(limits.HEADER_SECONDS)  # from their first byte on: what follows gains no time

    def on_response_complete(self) -> None:
        """Wait for another request, which may be there already."""
        self._wait()
        self._limit(None)  # how long it is kept now is uvicorn's own limit
        super().on_response_complete()
        if self._answers():
            self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        self._limit(None)
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def close_now(self) -> None:
        """End the connection, whatever is under way."""
        self._limit(None)
        self.waiting.pop(self, None)
        if not self.transport.is_closing():
            self.transport.abort()

    def _answers(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _begin(self) -> None:
        """The headers of a request are there, perhaps its body: its answer must be made, and taken, in time."""
        if not self._begun:
            self._begun, self._speaks = True, False
            self._limit(limits.ANSWER_SECONDS)
        if not self.cycle.more_body:
            self.waiting.pop(self, None)

    def _wait(self) -> None:
        self.waiting.pop(self, None)
        self.waiting[self] = None  # as the last
        self._speaks = self._begun = False

    def _make_room(self, most: int) -> None:
        """Where there are too many connections, close another that has waited longest without a whole request."""
        oldest = next(iter(self.waiting))
        if len(self.connections) > most and oldest is not self:
            self.connections.discard(oldest)
            oldest.close_now()

    def _limit(self, seconds: float | None) -> None:
        """Close the connection after so many seconds, unless told otherwise before."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.close_now)
