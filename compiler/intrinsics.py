"""What `gapgram.kernels.intrinsics` has in plain Python, as code: a few instructions for each function.

A place is taken as it is: that it lies inside is known where the function is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature as signature_of
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, overload
from numba.np import arrayobj

from gapgram.kernels import intrinsics as twins

_BYTE, _NUMBER, _WORD, _NOTHING = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.VoidType()
_EIGHT = ir.VectorType(ir.DoubleType(), 8)
_ARRAY, _WHOLE = types.Array, types.Integer
_SIZES = range(1, twins.MOST_SIDE_BY_SIDE // 8 + 1)  # of what is added up side by side, in eights


class Site(NamedTuple):
    """Where code is written: what Numba knows, what writes, and the type of the result."""

    context: Any
    builder: Any
    result: Any


Code = Callable[..., Any]  # of a site, and of the arrays and numbers that the function is called with


def _code_of(function: Callable[..., Any], result: Any, *kinds: Any) -> Callable[[Code], Code]:
    """Let kernels that call a function have the code that is decorated; result: its type, or what gives that."""

    class Template(AbstractTemplate):  # type: ignore[misc]
        key = function

        def generic(self, args: Any, kws: Any) -> Any:
            """What it gives for these types."""
            return signature_of(result if isinstance(result, types.Type) else result(*args), *args)

    infer_global(function, types.Function(Template))

    def taught(code: Code) -> Code:
        @lower_builtin(function, *kinds)  # type: ignore[untyped-decorator]
        def lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = [
                context.make_array(kind)(context, builder, value)
                if isinstance(kind, types.Array)
                else context.cast(builder, value, kind, types.int64)
                for kind, value in zip(signature.args, arguments, strict=True)
            ]
            made = code(Site(context, builder, signature.return_type), *given)
            return context.get_dummy_value() if made is None else made

        return code

    return taught


def _prefetching(to_write: int) -> Code:
    def code(site: Site, array: Any, index: Any) -> None:
        builder = site.builder
        bytes_at = builder.bitcast(builder.gep(array.data, [index]), _BYTE.as_pointer())
        kind = ir.FunctionType(_NOTHING, [bytes_at.type, _NUMBER, _NUMBER, _NUMBER])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [bytes_at.type], kind)
        builder.call(ask, [bytes_at, _NUMBER(to_write), _NUMBER(3), _NUMBER(1)])  # to read or write, to keep, data

    return code


_code_of(twins.prefetch, types.void, _ARRAY, _WHOLE)(_prefetching(0))
_code_of(twins.prefetch_to_write, types.void, _ARRAY, _WHOLE)(_prefetching(1))


def _part_type(array: Any, *_: Any) -> Any:
    return types.Array(array.dtype, 1, "C")


@_code_of(twins.part_of_row, _part_type, _ARRAY, _WHOLE, _WHOLE, _WHOLE)
def _part_of_row(site: Site, array: Any, row: Any, begin: Any, n: Any) -> Any:
    width = site.builder.extract_value(array.shape, 1)
    return _part_of(site, array, site.builder.add(site.builder.mul(row, width), begin), n)


@_code_of(twins.part_of, _part_type, _ARRAY, _WHOLE, _WHOLE)
def _part_of(site: Site, array: Any, begin: Any, n: Any) -> Any:
    part, step = site.context.make_array(site.result)(site.context, site.builder), array.itemsize
    arrayobj.populate_array(part, site.builder.gep(array.data, [begin]), [n], [step], step, None)
    return part._getvalue()


def _reading(code: Any) -> Code:
    def read(site: Site, memory: Any, at: Any) -> Any:
        value = site.builder.load(site.builder.inttoptr(site.builder.add(memory, at), code.as_pointer()))
        value.align = 1
        return value

    return read


for _function, _kind, _code in (
    (twins.read_8, types.uint64, _WORD), (twins.read_signed, types.int64, _WORD), (twins.read_4, types.uint32, _NUMBER),
    (twins.read_2, types.uint16, ir.IntType(16)), (twins.read_1, types.uint8, _BYTE),
    (twins.read_single, types.float32, ir.FloatType()),
):  # fmt: skip
    _code_of(_function, _kind, _WHOLE, _WHOLE)(_reading(_code))


@_code_of(twins.copy_bytes, types.void, _WHOLE, _WHOLE, _WHOLE, _ARRAY, _WHOLE)
def _copy_bytes(site: Site, memory: Any, at: Any, n: Any, out: Any, begin: Any) -> None:
    builder = site.builder
    source = builder.inttoptr(builder.add(memory, at), _BYTE.as_pointer())
    cgutils.raw_memcpy(builder, builder.gep(out.data, [begin]), source, n, _WORD(1))


@_code_of(twins.atomic_add, types.int64, _ARRAY, _WHOLE, _WHOLE)
def _atomic_add(site: Site, array: Any, index: Any, n: Any) -> Any:
    return site.builder.atomic_rmw("add", site.builder.gep(array.data, [index]), n, "seq_cst")


@_code_of(twins.atomic_max, types.void, _ARRAY, _WHOLE, _WHOLE)
def _atomic_max(site: Site, array: Any, index: Any, n: Any) -> None:
    site.builder.atomic_rmw("max", site.builder.gep(array.data, [index]), n, "seq_cst")


@_code_of(twins.atomic_load, types.int64, _ARRAY, _WHOLE)
def _atomic_load(site: Site, array: Any, index: Any) -> Any:
    return site.builder.load_atomic(site.builder.gep(array.data, [index]), "seq_cst", 8)


@_code_of(twins.yield_thread, types.void)
def _yield_thread(site: Site) -> None:
    builder = site.builder
    name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
    builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(_NUMBER, []), name), [])


@_code_of(twins.cpu_pause, types.void)
def _cpu_pause(site: Site) -> None:
    builder = site.builder
    if "compiler.target" in sys.modules:  # its `runtime.c` knows how
        kind = ir.FunctionType(_NOTHING, [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "gapgram_rest"), [])


@_code_of(twins.bits_between, types.uint64, _ARRAY, _WHOLE, _WHOLE, _WHOLE)
def _bits_between(site: Site, text: Any, at: Any, low: Any, high: Any) -> Any:
    builder = site.builder
    chunk, nowhere = ir.VectorType(_BYTE, twins.CHUNK), ir.VectorType(_NUMBER, twins.CHUNK)(None)

    def splat(value: Any) -> Any:
        nothing = chunk(ir.Undefined)
        return builder.shuffle_vector(builder.insert_element(nothing, value, _NUMBER(0)), nothing, nowhere)

    low, high = (builder.trunc(each, _BYTE) for each in (low, high))
    data = builder.bitcast(builder.gep(text.data, [at]), chunk.as_pointer())
    above = builder.sub(builder.load(data, align=1), splat(low))
    return builder.bitcast(builder.icmp_unsigned("<=", above, splat(builder.sub(high, low))), _WORD)


def _begins_of(builder: Any, first: Any, n: Any, n_eights: int) -> list[Any]:
    """Where eights begin that are n numbers from the first on; the last may begin before the one before it ends."""
    begins = [builder.add(first, _WORD(8 * i)) for i in range(n_eights - 1)]
    return [*begins, builder.add(first, builder.sub(n, _WORD(8)))]


def _eights(builder: Any, data: Any, begins: list[Any]) -> list[Any]:
    return [builder.bitcast(builder.gep(data, [begin]), _EIGHT.as_pointer()) for begin in begins]


@_code_of(twins.sum_rows, types.void, _ARRAY, _ARRAY, _WHOLE, _WHOLE, _WHOLE, _WHOLE, _ARRAY)
def _sum_rows(
    site: Site, table: Any, features: Any, step: Any, n_features: Any, first: Any, n: Any, logits: Any
) -> None:
    builder = site.builder
    wanted = builder.udiv(builder.add(n, _WORD(7)), _WORD(8))
    for n_eights in _SIZES:  # a loop for each number of them
        with builder.if_then(builder.icmp_unsigned("==", wanted, _WORD(n_eights))):
            begins = _begins_of(builder, first, n, n_eights)
            totals = [cgutils.alloca_once_value(builder, _EIGHT(None)) for _ in begins]
            with cgutils.for_range(builder, n_features) as loop:
                at = builder.gep(features.data, [builder.mul(loop.index, step)])
                row = builder.gep(table.data, [builder.load(at)])
                for total, some in zip(totals, _eights(builder, row, begins), strict=True):
                    builder.store(builder.fadd(builder.load(total), builder.load(some, align=8)), total)
            for total, some in zip(totals, _eights(builder, logits.data, begins), strict=True):
                builder.store(builder.load(total), some, align=8)


@_code_of(twins.add_row, types.void, _ARRAY, _WHOLE, _ARRAY, _WHOLE, _WHOLE)
def _add_row(site: Site, sums: Any, at: Any, values: Any, begin: Any, n: Any) -> None:
    builder = site.builder
    wanted = builder.udiv(builder.add(n, _WORD(7)), _WORD(8))
    for n_eights in _SIZES:
        with builder.if_then(builder.icmp_unsigned("==", wanted, _WORD(n_eights))):
            places = _eights(builder, sums.data, _begins_of(builder, at, n, n_eights))
            others = _eights(builder, values.data, _begins_of(builder, begin, n, n_eights))
            added = [  # all are read, then written
                builder.fadd(builder.load(place, align=8), builder.load(other, align=8))
                for place, other in zip(places, others, strict=True)
            ]
            for place, total in zip(places, added, strict=True):
                builder.store(total, place, align=8)


def teach_halves(function: Callable[..., Any], *, little_endian: bool) -> None:
    """Let the type of `packed` say whether there are halves of grams: what they are has one type."""

    @overload(function)
    def choose(grams, packed):  # type: ignore[no-untyped-def]
        if packed == types.none and little_endian:
            return lambda grams, packed: grams.view(np.uint32)
        return lambda grams, packed: None
