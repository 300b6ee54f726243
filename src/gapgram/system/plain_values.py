"""Plain values of a file of strangers: texts, counts, lists of them, each checked to be what it is taken for."""

from __future__ import annotations

from typing import Any, TypeVar

Plain = TypeVar("Plain", str, int, float, bool, list[Any], dict[str, Any])

MOST_COUNT = 1 << 53  # beyond which a float does not hold every count
MOST_NUMBER = 1e300
_EXPECTED = {
    str: "a text",
    int: "a count",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table of names and values",
}


def plain(value: Any, kind: type[Plain]) -> Plain:
    """A value that must be of a kind: a text, a count (`int`), a finite number (`float`), a truth, a list, a table.

    >>> plain("cat", str), plain(3, int), plain(3, float)
    ('cat', 3, 3.0)
    """
    if kind is float:
        fits = type(value) in (int, float) and -MOST_NUMBER <= value <= MOST_NUMBER
    elif kind is int:
        fits = type(value) is int and 0 <= value <= MOST_COUNT
    else:
        fits = isinstance(value, kind)
    if not fits:
        raise ValueError(f"{value!r:.100} where {_EXPECTED[kind]} was expected")
    return kind(value)
