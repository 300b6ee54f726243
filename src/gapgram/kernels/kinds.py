"""The kinds of arguments that kernels are called with, as `compiler/signatures.py`, the table of them, names them."""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64",
)  # fmt: skip


def array_kind(dtype: str, dimensions: int, gaps: bool) -> str:
    """The name of arrays of a type of numbers, with so many dimensions, that may have gaps or not."""
    return f"{dtype}[{','.join(':' * dimensions) if gaps else ',' * (dimensions - 1)}]"


def found_kinds(arguments: tuple[Any, ...]) -> str:
    """The kinds of some arguments, as the table names them.

    >>> found_kinds((3, np.zeros((2, 2), np.int32), None))
    'int, int32[,], none'
    """
    return ", ".join(map(_found, arguments))


def _found(value: Any) -> str:
    if isinstance(value, np.ndarray):
        kind = array_kind(value.dtype.name, value.ndim, not value.flags.c_contiguous)
        return kind if value.dtype.isnative and value.flags.aligned else f"{kind} of another order of bytes"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{type(value).__name__}({' '.join(map(_found, value))})"
    names = {bool: "bool", int: "int", np.uint64: "unsigned", float: "float", str: "line", type(None): "none"}
    if isinstance(value, np.integer | np.floating) and type(value) not in names:
        return "int" if isinstance(value, np.integer) else "float"
    return names.get(type(value), type(value).__name__)
