"""From the paths of models to a running service."""

from __future__ import annotations

import contextlib
import ipaddress
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import uvicorn

from gapgram.errors import UsageError
from gapgram.models.mixture import Mixture
from gapgram.models.open import load
from gapgram.models.places import located
from gapgram.text.corpus import numbered_lines
from gapgram.web import limits
from gapgram.web.app import LOOPBACK, make_app
from gapgram.web.connections import WatchedConnection
from gapgram.web.guard import Application
from gapgram.web.served import ServedModel

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def open_models(arguments: Sequence[str]) -> list[ServedModel]:
    """Models by path, each under the name of its file without the ending, or as NAME=PATH says."""
    named: dict[str, str] = {}
    for argument in arguments:
        name, path = name_and_path(argument)
        if name in named:
            raise UsageError(
                f"two models are called {name}: {named[name]} and {path}\ngive one of them a name: other={path}"
            )
        named[name] = path
    served = []
    for name, path in named.items():
        model = load(path, progress=True)
        if isinstance(model, Mixture):
            raise UsageError(f"{path}: a mixture: serve shows models by themselves: name those that it mixes")
        served.append(ServedModel(name, model))
    for one in served:
        one.warm_up()
    return served


def held_out_sentences(text: str | None, arguments: Sequence[str]) -> list[str]:
    """The lines of a text, or of NAME.examples.txt beside the first model that has such a file; the first of many."""
    models = (located(name_and_path(one)[1]) for one in arguments)
    paths = [Path(text)] if text is not None else [model.with_suffix(".examples.txt") for model in models]
    found = next((path for path in paths if text is not None or path.is_file()), None)
    if found is None:
        return []
    lines = (line for _, line in numbered_lines(found) if line.strip())
    return list(islice(lines, limits.HELD_OUT_SENTENCES))


def name_and_path(argument: str) -> tuple[str, str]:
    """The name and the path of a model.

    >>> name_and_path("models/glm.model"), name_and_path("new=models/glm.model")
    (('glm', 'models/glm.model'), ('new', 'models/glm.model'))
    """
    name, equals, path = argument.partition("=")
    if equals and name and "/" not in name and not Path(argument).exists():
        return name, path
    return Path(argument).stem, argument


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return _bound(family, address)
    except OSError as error:
        advice = "end what uses it, or take another with --port" if port else "name an address of this machine"
        raise UsageError(f"cannot listen on {host}, port {port}: {error.strerror}; {advice}") from None


def _bound(family: int, address: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # where it would let two services share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def application(served: Sequence[ServedModel], host: str, held_out: Sequence[str] = ()) -> Application:
    """The application; on a loopback address it answers to loopback names only."""
    return make_app(served, hosts=LOOPBACK | {_as_named(host)} if is_loopback(host) else None, held_out=held_out)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return _as_named(host) in LOOPBACK


def _as_named(host: str) -> str:
    """An address as requests name it."""
    return f"[{host}]" if ":" in host else host.lower()


def run(app: Application, listener: socket.socket) -> None:
    """Serve until Ctrl-C or a signal to end, and then return."""
    config = uvicorn.Config(
        app,
        http=WatchedConnection,  # reads by h11: the other parser does not limit headers
        h11_max_incomplete_event_size=limits.HEADER_BYTES,
        ws="none",
        backlog=limits.TAKEN_AT_ONCE,
        limit_concurrency=limits.CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        access_log=False,
        server_header=False,
        log_level="error",
    )
    with _signals_end_quietly():
        _Server(config).run([listener])


class _Server(uvicorn.Server):
    """Takes few connections at a time, so that those before them are read first; the system lets many wait."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(limits.QUEUE)


@contextlib.contextmanager
def _signals_end_quietly() -> Iterator[None]:
    """uvicorn sends itself the signal that ended it once more; here that is the usual end and no error."""
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
