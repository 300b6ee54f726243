"""The other functions that code compiled by Numba calls, and that Numba has in a library of its own."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from gapgram.native.taking import INT
from gapgram.native.words import DOUBLE, WORD, WORDS


def define_helpers(module: Any) -> None:
    """Write the functions into a module."""
    _define_frexp(module)
    _define_reshape(module)


def _define_frexp(module: Any) -> None:
    """numba_frexp(x, exponent): C's function of finite numbers."""
    kind = ir.FunctionType(DOUBLE, [DOUBLE, INT.as_pointer()])
    function = ir.Function(module, kind, "numba_frexp")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(builder.call(ir.Function(module, kind, "frexp"), function.args))


def _define_reshape(module: Any) -> None:
    """numba_attempt_nocopy_reshape(…): the strides of an array without gaps in its new shape; it never fails."""
    arguments = [WORD, WORDS, WORDS, WORD, WORDS, WORDS, WORD, INT]
    function = ir.Function(module, ir.FunctionType(INT, arguments), "numba_attempt_nocopy_reshape")
    builder = ir.IRBuilder(function.append_basic_block())
    _, _, _, n, shape, strides, item_bytes, _ = function.args
    stride = cgutils.alloca_once_value(builder, item_bytes)
    with cgutils.for_range(builder, n) as loop:
        axis = builder.sub(builder.sub(n, WORD(1)), loop.index)
        builder.store(builder.load(stride), builder.gep(strides, [axis]))
        size = builder.load(builder.gep(shape, [axis]))
        builder.store(builder.mul(builder.load(stride), size), stride)
    builder.ret(INT(1))
