"""Arguments of another type than expected: what was found, what was expected, and what to do."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import SupportsIndex

from gapgram.errors import ArgumentTypeError

_SHOWN = 40  # characters of what was found


def wrong_type(name: str, given: object, expected: str) -> ArgumentTypeError:
    """What to raise where an argument is of another type than expected.

    >>> str(wrong_type("context", None, "a string or a list of words"))
    'context: expected a string or a list of words, found None'
    """
    return ArgumentTypeError(f"{name}: expected {expected}, found {shown(given)}")


def shown(given: object) -> str:
    """A value as a sentence names it: itself where it is short, else its type.

    >>> shown("3"), shown(2.5), shown(b"ab"), shown([1] * 99)
    ("the string '3'", 'the number 2.5', "the bytes b'ab'", 'a list')
    """
    if given is None or isinstance(given, bool):
        return repr(given)
    kinds = {str: "the string", bytes: "the bytes", int: "the number", float: "the number"}
    if type(given) in kinds and len(repr(given)) <= _SHOWN:
        return f"{kinds[type(given)]} {given!r}"
    name = type(given).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def checked_whole(name: str, given: SupportsIndex, expected: str = "a whole number") -> int:
    """A whole number, also NumPy's; text, fractions and None are refused.

    >>> checked_whole("k", 3)
    3
    """
    if isinstance(given, bool) or not isinstance(given, SupportsIndex):
        raise wrong_type(name, given, expected)
    return operator.index(given)


def checked_number(name: str, given: float, expected: str = "a number") -> float:
    """A number of any kind; text and None are refused.

    >>> checked_number("keep", 0.3)
    0.3
    """
    if isinstance(given, str | bytes | bool) or not hasattr(given, "__float__"):
        raise wrong_type(name, given, expected)
    return given


def checked_path(name: str, given: str | os.PathLike[str]) -> Path:
    """The path of a file.

    >>> checked_path("model", "glm.model").name
    'glm.model'
    """
    if not isinstance(given, str | os.PathLike) or isinstance(os.fspath(given), bytes):
        raise wrong_type(name, given, "the path of a file")
    return Path(given)


def is_text(document: str) -> bool:
    """Whether a string can be written as UTF-8: JSON may hold halves of surrogate pairs.

    >>> is_text("text"), is_text("\\ud800")
    (True, False)
    """
    if document.isascii():
        return True
    try:
        document.encode()
    except UnicodeEncodeError:
        return False
    return True
