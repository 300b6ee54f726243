"""Asking for memory before it is read or written, so that reads do not wait for each other."""

from __future__ import annotations

from functools import partial

from gapgram.kernels.compiled import intrinsic


def prefetch(array, index):
    """Begin to bring array[index], of one dimension and without gaps, near.

    Nothing is read: the index may lie outside. Nothing is done where kernels run as plain Python.
    """


def prefetch_to_write(array, index):
    """The same for a number that will be written: other processors give it up meanwhile."""


@intrinsic
def _teach() -> None:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import lower_builtin, type_callable

    def ask_for(context, builder, signature, arguments, to_write):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        bytes_at = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [bytes_at.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [bytes_at.type], kind)
        builder.call(ask, [bytes_at, number(to_write), number(3), number(1)])  # to read or write, to keep, data
        return context.get_dummy_value()

    for function, to_write in ((prefetch, 0), (prefetch_to_write, 1)):
        type_callable(function)(lambda context: lambda array, index: types.void)
        lower_builtin(function, types.Array, types.Integer)(partial(ask_for, to_write=to_write))
