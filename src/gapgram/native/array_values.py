"""Arrays as Numba's functions handle them while they write code, kept as values.

Numba puts an array into memory whenever a function takes one apart or makes one, some thirty instructions for one item,
and leaves it to LLVM to see through that. Here fields are taken out of the value and put into it.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import Any

from numba.core import cgutils, types
from numba.core.cgutils import ValueStructProxy
from numba.core.imputils import Registry, impl_ret_borrowed
from numba.np import arrayobj

_usual = arrayobj.make_array
registry = Registry("gapgram")  # of code that is written in the place of Numba's


class _ArrayValue(ValueStructProxy):  # type: ignore[misc]
    """An array as a value, as long as nobody asks for its address, or changes it elsewhere than where it came up.

    A value that is changed on one of two ways would not be known where they meet.
    """

    def __init__(self, context: Any, builder: Any, value: Any = None, ref: Any = None) -> None:
        self._held = None
        if ref is not None:
            super().__init__(context, builder, value, ref)
            return
        self._context, self._builder, self._block = context, builder, builder.block
        self._datamodel = context.data_model_manager[self._fe_type]
        self._be_type = self._get_be_type(self._datamodel)
        self._held = self._be_type(None) if value is None else value

    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index) if self._held is None else self._builder.extract_value(self._held, index)

    def __setitem__(self, index: int, value: Any) -> None:
        if self._held is not None and self._builder.block is self._block:
            self._held = self._builder.insert_value(self._held, value, index)
        else:
            super().__setitem__(index, value)

    def _getvalue(self) -> Any:
        return super()._getvalue() if self._held is None else self._held

    def _get_ptr_by_index(self, index: int) -> Any:
        self._getpointer()
        return super()._get_ptr_by_index(index)

    def _getpointer(self) -> Any:
        """Its address: from where it came up on it lies in memory."""
        if self._held is not None:
            self._value = self._outer_ref = cgutils.alloca_once(self._builder, self._be_type)
            with nullcontext() if self._builder.block is self._block else self._builder.goto_block(self._block):
                self._builder.store(self._held, self._value)
            self._held = None
        return self._outer_ref


@cache
def _class_of(array_type: Any) -> type:
    return type(f"ArrayValue_{array_type}", (_ArrayValue,), {"_fe_type": array_type})


def make_array(array_type: Any) -> Any:
    """What takes arrays of a type apart, and makes them."""
    return _class_of(array_type) if type(array_type) is types.Array else _usual(array_type)


@registry.lower("array.view", types.Array, types.DTypeSpec)  # type: ignore[untyped-decorator]
def _view(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """An array as one of numbers as large or smaller: Numba would compile functions that ask whether that can be."""
    old, new = signature.args[0], signature.return_type
    old_bytes, new_bytes = arrayobj.get_itemsize(context, old), arrayobj.get_itemsize(context, new)
    if old.ndim != 1 or old.layout != "C" or old_bytes % new_bytes:
        return arrayobj.array_view(context, builder, signature, arguments)
    array, made = make_array(old)(context, builder, arguments[0]), make_array(new)(context, builder)
    step, times = (context.get_constant(types.intp, n) for n in (new_bytes, old_bytes // new_bytes))
    size = builder.mul(array.nitems, times)
    data = builder.bitcast(array.data, made.data.type)
    arrayobj.populate_array(made, data, [size], [step], step, array.meminfo, array.parent)
    return impl_ret_borrowed(context, builder, new, made._getvalue())
