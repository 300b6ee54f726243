"""What the arguments of a kernel are; a kernel is compiled once for each combination of kinds.

A kind is a plain value that can be compared and written: `bool`, `int`, `unsigned`, `float`, `none`, `bytes` or
`line`, an `Array`, or the `Bundle` of a tuple with names. Numbers have 64 bits. A line of text comes as bytes, with its
newline, or as a string without one; kernels see the bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np


class Array(NamedTuple):
    """An array: NumPy's letter for what it holds, its dimensions, and whether it has no gaps and lies in C's order."""

    letter: str
    dimensions: int
    whole: bool


class Bundle(NamedTuple):
    """A tuple with names: the kinds of its fields."""

    name: str
    fields: tuple[str, ...]
    kinds: tuple[Kind, ...]


class Mismatch(TypeError):
    """The arguments are not of the kinds that a kernel was compiled for."""


Kind: TypeAlias = str | Array | Bundle

_PLAIN = {
    bool: "bool", int: "int", np.uint64: "unsigned", float: "float", bytes: "bytes", str: "line", type(None): "none",
}  # fmt: skip


def kind_of(value: Any) -> Kind:
    """The kind of an argument.

    >>> kind_of(3), kind_of(np.zeros((2, 2), np.int32))
    ('int', Array(letter='i', dimensions=2, whole=True))
    """
    if isinstance(value, np.ndarray):
        return _array_kind(value)
    if type(value) in _PLAIN:
        return _PLAIN[type(value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return Bundle(type(value).__name__, value._fields, tuple(kind_of(field) for field in value))
    if isinstance(value, np.integer):
        return "int"
    if isinstance(value, np.floating):
        return "float"
    found = type(value).__name__
    raise TypeError(f"kernels take numbers, arrays, bytes, strings and named tuples of these: found {found}")


def _array_kind(array: np.ndarray[Any, Any]) -> Array:
    if array.dtype.char not in "?bBhHiIlLqQfd" or not array.dtype.isnative or not array.flags.aligned:
        raise TypeError(f"kernels take arrays of this machine's own numbers, aligned: found {array.dtype!r}")
    return Array(array.dtype.char, array.ndim, array.flags.c_contiguous)


def text_of(kind: Kind) -> str:
    """A kind as a word, the same for equal kinds.

    >>> text_of(kind_of(np.zeros((4, 4))[:, 1]))
    'd1gaps'
    """
    if isinstance(kind, Array):
        return f"{kind.letter}{kind.dimensions}{'' if kind.whole else 'gaps'}"
    if isinstance(kind, Bundle):
        fields = (f"{name}:{text_of(field)}" for name, field in zip(kind.fields, kind.kinds, strict=True))
        return f"{kind.name}({','.join(fields)})"
    return kind
