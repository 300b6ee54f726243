"""What every request passes first: the host it asks for, the size of its body, the time it takes to send it.

Bodies are read whole before the application sees them; they are small. All answers leave with headers that keep
browsers from loading, framing or guessing anything.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from gapgram.web import limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]

SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_HEADERS = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]


class Refused(Exception):
    """A request that goes no further: a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class _Gone(Exception):
    """The other side has closed the connection before its request was whole: nobody waits for an answer."""


class Guard:
    """Wraps an application. `hosts` are the names it may be asked by; None allows all.

    A page of another site can make a browser ask a name of that site which resolves to this machine; the names
    keep such requests out.
    """

    def __init__(self, application: Application, *, hosts: frozenset[str] | None, seconds: float) -> None:
        self._application, self._hosts, self._seconds = application, hosts, seconds

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one request; what is none of HTTP is closed or left alone."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Any, receive: Receive, send: Send) -> None:
        try:
            self._check_host(scope)
            _check_headers(scope)
            _check_length(scope)
            body = await self._body(scope, receive)
        except Refused as refused:
            await _refuse(refused, _guarded(send))
            return
        except _Gone:
            return
        await self._application(scope, _replayed(body, receive), _guarded(send))

    def _check_host(self, scope: Any) -> None:
        host = _header(scope, b"host").decode("latin-1")
        if not host and scope["http_version"] == "1.0":
            return  # an old proxy that asks how the service is; no page can make a browser leave the host out
        if self._hosts is not None and _name(host) not in self._hosts:
            raise Refused(421, f"This service is not called {_name(host)[:80]!r}; ask for it by localhost.")

    async def _body(self, scope: Any, receive: Receive) -> bytes:
        announced = _header(scope, b"content-length")
        if announced.isdigit() and int(announced[:20]) > limits.BODY_BYTES:
            raise _too_large()
        try:
            return await asyncio.wait_for(_read(receive), self._seconds)
        except asyncio.TimeoutError:
            sentence = f"The request did not arrive within {self._seconds:g} seconds."
            raise Refused(408, sentence) from None


def _check_headers(scope: Any) -> None:
    """Refuse long headers that came in one piece; of others no more is read."""
    size = len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"")
    size += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if size > limits.HEADER_BYTES:
        raise Refused(431, f"The headers are too large: at most {limits.HEADER_BYTES:,} bytes are read.")


def _check_length(scope: Any) -> None:
    """Refuse a request that says twice how long it is: others on its way may believe the other."""
    names = [name for name, _ in scope["headers"]]
    if b"transfer-encoding" in names and b"content-length" in names:
        raise Refused(400, "The request has both a content-length and a transfer-encoding; send one of the two.")


def _header(scope: Any, wanted: bytes) -> bytes:
    return next((bytes(value) for name, value in scope["headers"] if name == wanted), b"")


def _name(host: str) -> str:
    """A host without its port.

    >>> _name("localhost:8000"), _name("[::1]:8000"), _name("127.0.0.1")
    ('localhost', '[::1]', '127.0.0.1')
    """
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


async def _read(receive: Receive) -> bytes:
    chunks, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise _Gone
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limits.BODY_BYTES:
            raise _too_large()
        more = message.get("more_body", False)
    return b"".join(chunks)


def _too_large() -> Refused:
    return Refused(413, f"The request is too large: at most {limits.BODY_BYTES:,} bytes are read.")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the whole body once, and then whatever comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _guarded(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        await send(message)

    return guarded


async def _refuse(refused: Refused, send: Send) -> None:
    body = json.dumps({"error": refused.sentence}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # the rest of the body is not read
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
