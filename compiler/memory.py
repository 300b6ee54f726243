"""The functions that code compiled by Numba calls for memory, as far as they are taken into that code.

A kernel and what it calls run in one thread, and hand on what they made only when they return: references are counted
without atomic instructions. What takes memory and gives it back is in `runtime.c`, with the layout of the head that
memory which arrays share begins with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from compiler.kinds import WORD, WORDS

REFCOUNT, DATA = 0, 3  # words of the head
_ADDRESS, _VOID = ir.IntType(8).as_pointer(), ir.VoidType()
OF_C = "gapgram_"  # how the functions of `runtime.c` begin


@cache
def memory_module() -> str:
    """A module with the functions, as LLVM reads it."""
    module = ir.Module("memory")
    _define(module, "NRT_incref", _VOID, _incref)
    _define(module, "NRT_decref", _VOID, _decref)
    _define(module, "NRT_MemInfo_data_fast", _ADDRESS, _data)
    return str(module)


def _define(module: Any, name: str, result: Any, body: Callable[[Any, Any], None]) -> None:
    function = ir.Function(module, ir.FunctionType(result, [_ADDRESS]), name)
    function.attributes.add("alwaysinline")
    body(ir.IRBuilder(function.append_basic_block()), function.args[0])


def _incref(builder: Any, head: Any) -> None:
    with builder.if_then(cgutils.is_not_null(builder, head)):
        count = _word(builder, head, REFCOUNT)
        builder.store(builder.add(builder.load(count), WORD(1)), count)
    builder.ret_void()


def _decref(builder: Any, head: Any) -> None:
    with builder.if_then(cgutils.is_not_null(builder, head)):
        count = _word(builder, head, REFCOUNT)
        left = builder.sub(builder.load(count), WORD(1))
        builder.store(left, count)
        with builder.if_then(builder.icmp_signed("==", left, WORD(0)), likely=False):
            kind = ir.FunctionType(_VOID, [_ADDRESS])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "NRT_MemInfo_call_dtor"), [head])
    builder.ret_void()


def _data(builder: Any, head: Any) -> None:
    builder.ret(builder.inttoptr(builder.load(_word(builder, head, DATA)), _ADDRESS))


def _word(builder: Any, head: Any, i: int) -> Any:
    return builder.gep(builder.bitcast(head, WORDS), [WORD(i)])
