"""Connections that say half of something, again and again: is everybody else answered?

    python -m fuzz.connections --seconds 300

An attacker, a process of its own, opens connections that send half a body, half a header, a letter a second, or
nothing, and opens them anew when their time is over. Beside it a question is asked ten times a second, each on a new
connection. Fails where fewer than 99 of a hundred are answered within a second.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import socket
import tempfile
import time
from collections import Counter
from pathlib import Path

import click
from tests.support.running_service import Service

from fuzz.seeds import made_files

HALVES = {
    "body": b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
    "header": b"GET /api/health HTTP/1.1\r\nHost: loc",
    "header, dripping": b"GET /api/health HTTP/1.1\r\nHost: d",
    "nothing": b"",
}
ROUND_SECONDS = 5.0  # after which all are opened anew: the time that a body has
WANTED_SHARE, WANTED_SECONDS = 0.99, 1.0
_WHOLE = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def ask(port: int) -> str:
    """Ask one question; `in time`, `late`, or what went wrong."""
    begun = time.monotonic()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(_WHOLE)
            answer = connection.recv(4096)
    except OSError as error:
        return type(error).__name__
    if b" 200" not in answer[:20]:
        return answer[9:12].decode(errors="replace") or "closed"
    return "in time" if time.monotonic() - begun < WANTED_SECONDS else "late"


def hold(port: int, half: bytes, connections: int, *, drips: bool) -> None:
    """Open so many connections, again and again, until the process is ended."""
    while True:
        begun, held = time.monotonic(), []
        for _ in range(connections):
            with contextlib.suppress(OSError):
                held.append(socket.create_connection(("127.0.0.1", port), timeout=3))
                held[-1].sendall(half)
        while (left := begun + ROUND_SECONDS - time.monotonic()) > 0:
            time.sleep(min(left, 1.0))
            for connection in held if drips else ():
                with contextlib.suppress(OSError):
                    connection.sendall(b"a")
        for connection in held:
            connection.close()


def attack(port: int, name: str, connections: int, seconds: float) -> Counter[str]:
    """What became of questions while so many connections were held, and opened again and again."""
    outcome, end = Counter[str](), time.monotonic() + seconds
    drips = name.endswith("dripping")
    attacker = multiprocessing.Process(target=hold, args=(port, HALVES[name], connections), kwargs={"drips": drips})
    attacker.start()
    try:
        while time.monotonic() < end:
            outcome[ask(port)] += 1
            time.sleep(0.1)
    finally:
        attacker.kill()
        attacker.join()
    return outcome


@click.command()
@click.option("--connections", default=2000, show_default=True)
@click.option("--seconds", default=300.0, show_default=True, help="For each kind of half request.")
def main(connections: int, seconds: float) -> None:
    """Hold many connections with half a request; is everybody else answered?"""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        service = Service([made_files(Path(folder))["mkn"]])  # which keeps the limit of files that it was started with
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, connections + 200), most))
        try:
            for name in HALVES:
                outcome = attack(service.port, name, connections, seconds)
                n = sum(outcome.values())
                failed = failed or outcome["in time"] < WANTED_SHARE * n
                print(f"{connections} with half a {name}: of {n} others {outcome['in time']} answered in time, "
                      f"{dict(outcome)}", flush=True)  # fmt: skip
        finally:
            service.stop()
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
