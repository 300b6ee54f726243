"""Objects that change, used from several threads: a method waits until no other runs on the same object."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

_Self = TypeVar("_Self", bound="OneAtATime")
_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


class OneAtATime:
    """An object with a lock of its own, which copies, and what is pickled, do not share."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        OneAtATime.__init__(self)
        self.__dict__.update(state)


def one_at_a_time(
    method: Callable[Concatenate[_Self, _Arguments], _Answer],
) -> Callable[Concatenate[_Self, _Arguments], _Answer]:
    """A method that waits for others of its object to end; it may call them itself."""

    @wraps(method)
    def waiting(self: _Self, /, *arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Answer:
        with self._lock:
            return method(self, *arguments, **named)

    return waiting
