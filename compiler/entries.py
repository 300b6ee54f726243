"""A function that C can call for each kernel of the table: words in, words out.

    int32 kernel(const int64 *arguments, int64 *results)

It returns 0, or another number where the kernel failed. What the results are, `module.c` is told in letters:

    n           None
    b i u f     a truth, a whole number, one without a sign, a float: a word each
    A dtype n   an array of n dimensions: the memory that it counts on, or null; where it begins; its shape
    Y           bytes, made of an array of int8 of a brief kernel
    ( n …       a tuple of n
    [ class;n … a tuple of n with names, of this class; the table has its number in the place of the name
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.types.containers import BaseTuple
from numba.np import numpy_support

from compiler.groups import dtype_letter
from compiler.kinds import DOUBLE, WORD, WORDS, n_words, read, type_of
from compiler.signatures import Kind
from compiler.target import TARGET, KernelDispatcher, Library

STATUS = ir.IntType(32)


class Entry:
    """The library with the function of a kernel for arguments of some kinds, its symbol, and what it returns."""

    def __init__(self, kernel: KernelDispatcher, symbol: str, kinds: Sequence[Kind], *, is_brief: bool) -> None:
        self.symbol, self.is_brief = symbol, is_brief
        signature = tuple(type_of(kind) for kind in kinds)
        kernel.compile(signature)
        compiled, self._context = kernel.overloads[signature], TARGET.target_context
        self.library: Library = self._context.codegen().create_library(symbol)
        self.library.add_linking_library(compiled.library)
        module = self.library.create_ir_module(symbol)
        self.results, self.n_results = self._write(module, compiled.fndesc, kinds)
        self.library.add_ir_module(module)

    def _write(self, module: Any, kernel: Any, kinds: Sequence[Kind]) -> tuple[str, int]:
        function = ir.Function(module, ir.FunctionType(STATUS, [WORDS, WORDS]), self.symbol)
        self._builder = builder = ir.IRBuilder(function.append_basic_block())
        at, self._results = function.args
        arguments = []
        for kind, numba_type in zip(kinds, kernel.argtypes, strict=True):
            arguments.append(read(self._context, builder, kind, numba_type, at))
            at = builder.gep(at, [WORD(n_words(kind))], inbounds=True)
        callee = self._context.declare_function(module, kernel)
        call = self._context.call_conv.call_function
        status, value = call(builder, callee, kernel.restype, kernel.argtypes, arguments)
        with builder.if_then(status.is_error, likely=False):
            builder.ret(STATUS(1))
        self._n = 0
        letters = self._give(kernel.restype, value)
        builder.ret(STATUS(0))
        return letters, self._n

    def _give(self, numba_type: Any, value: Any) -> str:
        """Write the words of a result; returns its letters."""
        if numba_type == types.none:
            return "n"
        if isinstance(numba_type, types.Boolean):
            return self._put("b", self._builder.zext(value, WORD))
        if isinstance(numba_type, types.Integer):
            letter, wide = ("u", types.uint64) if numba_type in types.unsigned_domain else ("i", types.int64)
            return self._put(letter, self._context.cast(self._builder, value, numba_type, wide))
        if isinstance(numba_type, types.Float):
            double = self._context.cast(self._builder, value, numba_type, types.float64)
            return self._put("f", self._builder.bitcast(double, WORD))
        if isinstance(numba_type, types.Array):
            return self._give_array(numba_type, value)
        if isinstance(numba_type, BaseTuple):
            fields = [self._give(field, self._builder.extract_value(value, i)) for i, field in enumerate(numba_type)]
            if not hasattr(numba_type, "instance_class"):
                return f"({_digit(len(fields))}{''.join(fields)}"
            kind = numba_type.instance_class
            return f"[{kind.__module__}:{kind.__qualname__};{_digit(len(fields))}{''.join(fields)}"
        raise TypeError(f"{self.symbol}: kernels return numbers, arrays and tuples of these: found {numba_type}")

    def _put(self, letter: str, word: Any) -> str:
        assert word.type == WORD or word.type == DOUBLE
        self._builder.store(word, self._builder.gep(self._results, [WORD(self._n)], inbounds=True))
        self._n += 1
        return letter

    def _give_array(self, numba_type: Any, value: Any) -> str:
        array = self._context.make_array(numba_type)(self._context, self._builder, value)
        if numba_type.layout != "C":
            raise TypeError(f"{self.symbol}: kernels return arrays without gaps: found {numba_type}")
        for pointer in (array.meminfo, array.data):
            self._put("", self._builder.ptrtoint(pointer, WORD))
        for i in range(numba_type.ndim):
            self._put("", self._builder.extract_value(array.shape, i))
        if self.is_brief:  # its memory goes when it returns
            if numba_type.dtype != types.int8 or numba_type.ndim != 1:
                raise TypeError(f"{self.symbol}: brief kernels return no arrays but of int8: found {numba_type}")
            return "Y"
        dtype = np.dtype(numpy_support.as_dtype(numba_type.dtype)).name
        return f"A{dtype_letter(dtype)}{numba_type.ndim}"


def _digit(n: int) -> str:
    """A number below 75 as one letter."""
    return chr(ord("0") + n)
