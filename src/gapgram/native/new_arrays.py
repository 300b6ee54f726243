"""np.empty and np.zeros, written where they are called: Numba would compile a function for each kind of array."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numba.core import cgutils, types
from numba.core.imputils import Registry, impl_ret_new_ref
from numba.core.typing import signature
from numba.core.typing.npydecl import parse_dtype, parse_shape
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.np import arrayobj

from gapgram.native import TARGET_NAME

registry = Registry("gapgram")


class _NewArray(AbstractTemplate):  # type: ignore[misc]
    metadata: ClassVar[dict[str, str]] = {"target": TARGET_NAME}

    def generic(self, args: Any, kws: Any) -> Any:
        """The array of a shape and of numbers of a kind, if it is said by position; else Numba is asked."""
        if kws or not 1 <= len(args) <= 2:
            return None
        dimensions, numbers = parse_shape(args[0]), parse_dtype(args[1]) if len(args) > 1 else types.float64
        return None if None in (dimensions, numbers) else signature(types.Array(numbers, dimensions, "C"), *args)


infer_global(np.empty)(_NewArray)
infer_global(np.zeros)(_NewArray)


def _new_array(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    sizes = arrayobj._parse_shape(context, builder, signature.args[0], arguments[0])
    return arrayobj._empty_nd_impl(context, builder, signature.return_type, sizes)


@registry.lower(np.empty, types.Any)  # type: ignore[untyped-decorator]
@registry.lower(np.empty, types.Any, types.Any)  # type: ignore[untyped-decorator]
def _empty(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = _new_array(context, builder, signature, arguments)
    return impl_ret_new_ref(context, builder, signature.return_type, array._getvalue())


@registry.lower(np.zeros, types.Any)  # type: ignore[untyped-decorator]
@registry.lower(np.zeros, types.Any, types.Any)  # type: ignore[untyped-decorator]
def _zeros(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = _new_array(context, builder, signature, arguments)
    cgutils.memset(builder, array.data, builder.mul(array.itemsize, array.nitems), 0)
    return impl_ret_new_ref(context, builder, signature.return_type, array._getvalue())
