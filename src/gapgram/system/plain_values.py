"""Plain values of a file of strangers: texts, counts, tables of them, each checked to be what it is taken for."""

from __future__ import annotations

from typing import Any

MOST_COUNT = 1 << 53  # beyond which a float does not hold every count


def text_of(value: Any) -> str:
    """A value that must be a text."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.100} where a text was expected")
    return value


def count_of(value: Any) -> int:
    """A value that must be a count."""
    if type(value) is not int or not 0 <= value <= MOST_COUNT:
        raise ValueError(f"{value!r:.100} where a count was expected")
    return value


def number_of(value: Any) -> float:
    """A value that must be a number, and not infinite."""
    if type(value) not in (int, float) or not -1e300 <= value <= 1e300:
        raise ValueError(f"{value!r:.100} where a number was expected")
    return float(value)


def truth_of(value: Any) -> bool:
    """A value that must be true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r:.100} where true or false was expected")
    return value


def list_of(value: Any) -> list[Any]:
    """A value that must be a list."""
    if not isinstance(value, list):
        raise ValueError(f"{value!r:.100} where a list was expected")
    return value


def entries_of(value: Any) -> dict[str, Any]:
    """A value that must be a table of names and values."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r:.100} where names and values were expected")
    return value
