"""Commands and processes for tests: what they did, and how long a test waits for one that hangs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

HANGING_SECONDS = 600  # after which a process is taken to hang; no test depends on how long one takes


class Ran(NamedTuple):
    """What a command printed and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.out)


Cli = Callable[..., Ran]


def assert_refused(ran: Ran, expected: str) -> None:
    """A mistake of the user's: one to three lines on stderr, nothing on stdout, exit code 2."""
    assert ran.code == 2, ran
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert 1 <= len(lines) <= 3
    assert lines[0].startswith("gapgram: ")
    assert expected in ran.err
