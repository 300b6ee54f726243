"""Requests written by hand, to a service in a process of its own."""

from __future__ import annotations

import contextlib
import socket

import pytest
from tests.support.running import HANGING_SECONDS
from tests.support.running_service import Service

from gapgram.web import limits

BEGIN = b"GET /api/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"


def answered(service: Service, request: bytes) -> bytes:
    """What comes back until the service closes the connection."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=HANGING_SECONDS) as connection:
        parts = []
        with contextlib.suppress(ConnectionResetError):  # where not all of the request was read
            connection.sendall(request)
            while part := connection.recv(1 << 16):
                parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("n", [300, 10_000])  # of h11 and of the guard, whichever sees them first
def test_headers_are_limited_in_one_piece_too(service: Service, n: int) -> None:
    headers = b"".join(b"x-%05d: %s\r\n" % (i, b"a" * 60) for i in range(n))
    answer = answered(service, BEGIN + headers + b"\r\n")
    assert answer[9:12] in (b"431", b"400", b"")


def test_headers_below_the_limit_are_read(service: Service) -> None:
    room = limits.HEADER_BYTES - 300
    answer = answered(service, BEGIN + b"x-long: " + b"a" * room + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_an_old_proxy_may_leave_out_the_host(service: Service) -> None:
    assert b" 200 " in answered(service, b"GET /api/health HTTP/1.0\r\n\r\n").split(b"\r\n")[0]
    assert b" 421 " in answered(service, b"GET /api/health HTTP/1.0\r\nhost: evil.example\r\n\r\n").split(b"\r\n")[0]
    assert b" 400 " in answered(service, b"GET /api/health HTTP/1.1\r\n\r\n").split(b"\r\n")[0]
