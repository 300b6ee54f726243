"""Connections that say nothing, or say it slowly, are closed and keep nobody out. No test waits: time is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the extra web is not installed")

import uvicorn
from uvicorn.server import ServerState

from gapgram.web import limits
from gapgram.web.connections import WatchedConnection

HEALTH = b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n"


class MadeTimer:
    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self.seconds, self.call, self.cancelled = seconds, call, False

    def cancel(self) -> None:
        self.cancelled = True


class MadeLoop:
    """A loop whose clock only goes on when it is told to."""

    def __init__(self) -> None:
        self.now, self.timers = 0.0, list[MadeTimer]()

    def time(self) -> float:
        self.now += 1.0
        return self.now

    def call_later(self, seconds: float, call: Callable[[], None]) -> MadeTimer:
        self.timers.append(MadeTimer(seconds, call))
        return self.timers[-1]

    def create_task(self, work: Any, **_: Any) -> Any:
        work.close()  # no request is answered here

        class Task:
            def add_done_callback(self, _: Any) -> None:
                pass

        return Task()

    def running(self) -> list[float]:
        """How long the timers run that were not cancelled."""
        return [timer.seconds for timer in self.timers if not timer.cancelled]


class MadeTransport:
    def __init__(self) -> None:
        self.closed = False

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close

    def write(self, data: bytes) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class Connections:
    """Connections of one service that answers nothing."""

    def __init__(self) -> None:
        self.loop, self.state = MadeLoop(), ServerState()
        self.config = uvicorn.Config(lambda *_: None, http=WatchedConnection, log_level="critical", ws="none")
        self.config.load()

    def new(self) -> tuple[WatchedConnection, MadeTransport]:
        connection = WatchedConnection(self.config, self.state, {}, _loop=self.loop)  # type: ignore[arg-type]
        transport = MadeTransport()
        connection.connection_made(transport)
        return connection, transport


@pytest.fixture
def made() -> Connections:
    return Connections()


def test_a_silent_connection_is_closed(made: Connections) -> None:
    _, transport = made.new()
    assert made.loop.running() == [limits.HEADER_SECONDS]
    made.loop.timers[-1].call()
    assert transport.closed


def test_headers_that_come_letter_by_letter_gain_no_time(made: Connections) -> None:
    connection, transport = made.new()
    for i in range(len(HEALTH) - 1):
        connection.data_received(HEALTH[i : i + 1])
    assert len(made.loop.timers) == 2  # one from the connection on, one from the first byte on
    assert made.loop.running() == [limits.HEADER_SECONDS]
    made.loop.timers[-1].call()
    assert transport.closed


def test_a_request_has_time_for_its_answer(made: Connections) -> None:
    connection, transport = made.new()
    connection.data_received(HEALTH)
    assert made.loop.running() == [limits.ANSWER_SECONDS]
    assert connection not in connection.waiting
    connection.cycle.response_complete = True
    connection.on_response_complete()
    assert made.loop.running() == [connection.timeout_keep_alive]
    assert connection in connection.waiting
    assert not transport.closed


HALF = b"POST /api/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\n{"


def test_half_a_body_makes_room_as_an_idle_connection_does(made: Connections) -> None:
    connection, transport = made.new()
    connection.data_received(HALF)
    assert made.loop.running() == [limits.ANSWER_SECONDS]
    others = [made.new() for _ in range(2 * limits.CONNECTIONS)]
    for other, _ in others:
        if not other.transport.is_closing():
            other.data_received(HALF)
    assert transport.closed
    last, last_transport = made.new()
    last.data_received(HEALTH)
    assert not last_transport.closed
    assert len(made.state.connections) == limits.CONNECTIONS_KEPT


def test_a_whole_body_is_no_longer_waited_for(made: Connections) -> None:
    connection, _ = made.new()
    connection.data_received(HALF)
    assert connection in connection.waiting
    connection.data_received(b"}}")
    assert connection not in connection.waiting
    assert made.loop.running() == [limits.ANSWER_SECONDS]


def test_the_newest_connection_is_not_the_one_that_makes_room(made: Connections) -> None:
    for _ in range(limits.CONNECTIONS_KEPT):
        made.new()[0].data_received(HEALTH)
    newest, transport = made.new()
    newest.data_received(HEALTH)
    assert not transport.closed


def test_a_lost_connection_is_watched_no_longer(made: Connections) -> None:
    connection, _ = made.new()
    connection.connection_lost(None)
    assert made.loop.running() == []


def test_connections_without_a_request_make_room(made: Connections) -> None:
    asking = made.new()
    asking[0].data_received(HEALTH)
    silent = [made.new() for _ in range(2 * limits.CONNECTIONS)]
    assert len(made.state.connections) == limits.CONNECTIONS_KEPT < limits.CONNECTIONS
    assert not asking[1].closed
    assert [transport.closed for _, transport in silent].index(False) == len(silent) - limits.CONNECTIONS_KEPT + 1
