"""The keys of a TOML table, taken one by one and checked; every error says where and what was expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gapgram.errors import UsageError


class Fields:
    """One table; see the module.

    >>> Fields("study.toml", {"seed": -1}).number("seed", 1, least=0)
    Traceback (most recent call last):
    gapgram.errors.UsageError: study.toml: seed = -1: expected a whole number, 0 or more
    """

    def __init__(self, where: str, data: dict[str, Any]) -> None:
        self.where, self.data, self.known = where, data, set[str]()

    def fail(self, key: str, value: object, expected: str) -> UsageError:
        """The error of a value that does not fit."""
        return UsageError(f"{self.where}: {key} = {value!r}: expected {expected}")

    def take(self, key: str, default: Any, expected: str, fits: Callable[[Any], bool]) -> Any:
        """The value of a key; `...` as the default means that it must be there."""
        self.known.add(key)
        if key not in self.data and default is ...:
            raise UsageError(f"{self.where}: {key} is missing: expected {expected}")
        value = self.data.get(key, default)
        if value is not default and not fits(value):
            raise self.fail(key, value, expected)
        return value

    def text(self, key: str, default: Any = ...) -> str:
        """A string."""
        return str(self.take(key, default, "a string", lambda v: isinstance(v, str) and bool(v)))

    def number(self, key: str, default: Any, least: int = 1) -> Any:
        """A whole number."""
        return self.take(key, default, f"a whole number, {least} or more", lambda v: is_whole(v) and v >= least)

    def share(self, key: str, default: float) -> float:
        """A number between 0 and 1."""
        return float(self.take(key, default, "a number between 0 and 1", lambda v: is_real(v) and 0 < v < 1))

    def choices(self, key: str, allowed: Sequence[str]) -> tuple[str, ...]:
        """Some of the allowed words; all by default."""
        expected = f"a list of some of: {', '.join(allowed)}"
        value = self.take(key, list(allowed), expected, lambda v: isinstance(v, list) and bool(v))
        if not all(v in allowed for v in value) or len(set(value)) < len(value):
            raise self.fail(key, value, expected)
        return tuple(value)

    def paths(self, key: str, folder: Path) -> tuple[Path, ...]:
        """Files beside the configuration; none by default."""
        expected = "a file or a list of files"
        value = self.take(key, [], expected, lambda v: isinstance(v, str | list) and bool(v))
        names = [value] if isinstance(value, str) else value
        if not all(isinstance(name, str) for name in names):
            raise self.fail(key, value, expected)
        return tuple(folder / name for name in names)

    def tables(self, key: str) -> list[Fields]:
        """The tables of an array of tables."""
        expected = f"[[{key}]] tables"
        value = self.take(key, [], expected, lambda v: isinstance(v, list) and all(isinstance(t, dict) for t in v))
        return [Fields(f"{self.where}: {key} {i}", table) for i, table in enumerate(value, 1)]

    def done(self) -> None:
        """Refuse keys that were never asked for."""
        unknown = sorted(set(self.data) - self.known)
        if unknown:
            raise UsageError(f"{self.where}: unknown key {unknown[0]}; known are {', '.join(sorted(self.known))}")


def is_whole(value: object) -> bool:
    """A whole number, and not true or false."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """A number, and not true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool)
