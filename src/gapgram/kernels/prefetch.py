"""Asking for memory before it is read, so that reads do not wait for each other."""

from __future__ import annotations

from gapgram.kernels.jit import before_compiling


def prefetch(array, index):
    """Begin to bring array[index], of one dimension and without gaps, near.

    Nothing is read: the index may lie outside. Nothing is done where kernels run as plain Python.
    """


@before_compiling
def _teach() -> None:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import lower_builtin, type_callable

    @type_callable(prefetch)
    def type_of_prefetch(context):
        return lambda array, index: types.void

    @lower_builtin(prefetch, types.Array, types.Integer)
    def code_of_prefetch(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        bytes_at = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [bytes_at.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [bytes_at.type], kind)
        builder.call(ask, [bytes_at, number(0), number(3), number(1)])  # to read, to keep, data
        return context.get_dummy_value()
