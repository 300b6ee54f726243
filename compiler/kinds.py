"""Kinds of arguments, of the table of signatures, and how their values lie in memory before a kernel is called.

They lie in words of 64 bits, one after the other. A number is a word; an array its address and its shape, and its
strides where it may have gaps; a bundle, a tuple with names, the words of its fields. Kernels get numbers and arrays by
value, as Numba passes them, but bundles by their address: all arrays of a model would be hundreds of values in every
call, which takes long to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.np import arrayobj, numpy_support

from compiler.signatures import Array, Bundle, Kind

WORD, DOUBLE, BIT = ir.IntType(64), ir.DoubleType(), ir.IntType(1)
WORDS = WORD.as_pointer()

_NUMBERS = {
    "bool": types.boolean, "int": types.int64, "unsigned": types.uint64, "float": types.float64, "none": types.none,
}  # fmt: skip
_BYTES = "bytes", "line"  # kernels see them as an array of bytes


def type_of(kind: Kind) -> Any:
    """What Numba calls a kind."""
    if isinstance(kind, Array):
        numbers = numpy_support.from_dtype(np.dtype(kind.dtype))
        return types.Array(numbers, kind.dimensions, "A" if kind.gaps else "C")
    if isinstance(kind, Bundle):
        return Reference(kind)
    return types.Array(types.uint8, 1, "C") if kind in _BYTES else _NUMBERS[kind]


def n_words(kind: Kind) -> int:
    """How many words a value takes."""
    if isinstance(kind, Bundle):
        return sum(n_words(field) for field in kind.kinds)
    if isinstance(kind, Array):
        return 1 + kind.dimensions * (2 if kind.gaps else 1)
    return 2 if kind in _BYTES else 1


class Reference(types.Type):
    """A bundle by its address."""

    def __init__(self, kind: Bundle) -> None:
        self.fields: dict[str, tuple[int, Kind, Any]] = {}  # of each the first word, its kind and its type
        first = 0
        for name, field in zip(kind.fields, kind.kinds, strict=True):
            self.fields[name] = first, field, type_of(field)
            first += n_words(field)
        super().__init__(name=f"reference to {kind.text}")


@register_default(Reference)
class _ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, WORDS)


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        return reference.fields[name][2] if name in reference.fields else None


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def _field(context: Any, builder: Any, reference: Reference, address: Any, name: str) -> Any:
    first, kind, numba_type = reference.fields[name]
    return read(context, builder, kind, numba_type, builder.gep(address, [WORD(first)], inbounds=True))


def read(context: Any, builder: Any, kind: Kind, numba_type: Any, at: Any) -> Any:
    """The value whose words are at an address."""
    if isinstance(kind, Bundle):
        return at
    if isinstance(kind, Array) or kind in _BYTES:
        return _read_array(context, builder, numba_type, at)
    word = builder.load(at)
    if kind == "float":
        return builder.bitcast(word, DOUBLE)
    if kind == "bool":
        return builder.trunc(word, BIT)
    return context.get_dummy_value() if kind == "none" else word


def _read_array(context: Any, builder: Any, numba_type: Any, at: Any) -> Any:
    array, n = context.make_array(numba_type)(context, builder), numba_type.ndim
    words = [builder.load(builder.gep(at, [WORD(i)], inbounds=True)) for i in range(1 + n)]
    item_bytes = context.get_abi_sizeof(context.get_data_type(numba_type.dtype))
    if numba_type.layout == "C":
        strides = [WORD(item_bytes)]
        for size in words[:1:-1]:
            strides.insert(0, builder.mul(strides[0], size))
    else:
        strides = [builder.load(builder.gep(at, [WORD(1 + n + i)], inbounds=True)) for i in range(n)]
    data = builder.inttoptr(words[0], array.data.type)
    arrayobj.populate_array(array, data, words[1:], strides[:n], item_bytes, None)
    return array._getvalue()
