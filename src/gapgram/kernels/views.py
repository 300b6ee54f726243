"""Parts of arrays, made in two instructions.

Numba looks at all bounds, and counts who uses the memory of an array: that takes longer than a short loop. Here all of
a part must be there, and the array must stay: it is an argument of the kernel, or is used again after the part.
"""

from __future__ import annotations

from typing import Any

from gapgram.kernels.compiled import intrinsic


def part_of_row(array: Any, row: int, begin: int, n: int) -> Any:
    """array[row, begin : begin + n]."""
    return array[row, begin : begin + n]


def part_of(array: Any, begin: int, n: int) -> Any:
    """array[begin : begin + n]."""
    return array[begin : begin + n]


@intrinsic
def _teach() -> None:
    from numba.core import types
    from numba.extending import lower_builtin, type_callable
    from numba.np import arrayobj

    @type_callable(part_of_row)
    def type_of_row(context):
        return lambda array, row, begin, n: types.Array(array.dtype, 1, "C")

    @type_callable(part_of)
    def type_of_part(context):
        return lambda array, begin, n: types.Array(array.dtype, 1, "C")

    def view(context, builder, signature, array, first, n):
        made = context.make_array(signature.return_type)(context, builder)
        data, step = builder.gep(array.data, [first]), array.itemsize
        arrayobj.populate_array(made, data, [n], [step], step, None)
        return made._getvalue()

    def numbers(context, builder, signature, arguments):
        pairs = zip(arguments[1:], signature.args[1:], strict=True)
        return [context.cast(builder, value, kind, types.int64) for value, kind in pairs]

    number = types.Integer

    @lower_builtin(part_of_row, types.Array, number, number, number)
    def code_of_row(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        row, begin, n = numbers(context, builder, signature, arguments)
        width = builder.extract_value(array.shape, 1)
        return view(context, builder, signature, array, builder.add(builder.mul(row, width), begin), n)

    @lower_builtin(part_of, types.Array, number, number)
    def code_of_part(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        begin, n = numbers(context, builder, signature, arguments)
        return view(context, builder, signature, array, begin, n)
