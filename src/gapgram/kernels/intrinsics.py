"""What is a few instructions of the processor, written by hand for LLVM, each function beside what it is in Python.

    prefetch, prefetch_to_write             memory asked for before it is read or written
    part_of, part_of_row                    parts of arrays without bounds checks and reference counts: all of a part
                                            must be there, and the array must stay, as an argument of the kernel does
    read_8 … read_single, copy_bytes        numbers at any byte of memory; compiled, the memory is an address, and
                                            places must be known to lie inside; as plain Python it is an array, and a
                                            place outside is an error
    atomic_add, atomic_max, atomic_load     numbers that several threads change
    yield_thread, cpu_pause                 another thread may run; the core's other thread gets on
    bits_between                            the bytes of a chunk that lie in a range, a bit for each
    sum_rows, add_row                       rows of a table added up, eight numbers side by side

Compiled code comes from the function after each, which tells Numba what to write; it runs where kernels are built
alone.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np

from gapgram.kernels.compiled import intrinsic

CHUNK = 64  # bytes that `bits_between` takes at a time
MOST_SIDE_BY_SIDE = 32  # numbers that `sum_rows` and `add_row` take


def prefetch(array, index):
    """Begin to bring array[index], of one dimension and without gaps, near.

    Nothing is read: the index may lie outside. Nothing is done where kernels run as plain Python.
    """


def prefetch_to_write(array, index):
    """The same for a number that will be written: other processors give it up meanwhile."""


@intrinsic
def _lower_prefetch() -> None:
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


def part_of_row(array: Any, row: int, begin: int, n: int) -> Any:
    """array[row, begin : begin + n]."""
    return array[row, begin : begin + n]


def part_of(array: Any, begin: int, n: int) -> Any:
    """array[begin : begin + n]."""
    return array[begin : begin + n]


@intrinsic
def _lower_views() -> None:
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


def _read(kind, data, at):
    """A number of this kind from an array of bytes."""
    at, size = int(at), np.dtype(kind).itemsize
    if not 0 <= at <= data.size - size:
        raise IndexError(f"bytes {at} to {at + size} of {data.size}")
    return data[at : at + size].view(kind)[0]


def read_8(memory, at):
    """The eight bytes from a byte on as a number."""
    return _read(np.uint64, memory, at)


def read_signed(memory, at):
    """The eight bytes from a byte on as a number that may be negative."""
    return _read(np.int64, memory, at)


def read_4(memory, at):
    """The four bytes from a byte on as a number."""
    return _read(np.uint32, memory, at)


def read_2(memory, at):
    """The two bytes from a byte on as a number."""
    return _read(np.uint16, memory, at)


def read_1(memory, at):
    """A byte."""
    return _read(np.uint8, memory, at)


def copy_bytes(memory, at, n, out, begin):
    """Copy the n bytes from a byte on to out[begin : begin + n]."""
    out[begin : begin + n] = memory[at : at + n]


def read_single(memory, at):
    """The four bytes from a byte on as a float."""
    return _read(np.float32, memory, at)


@intrinsic
def _lower_reads() -> None:
    """Compiled, they read from an address, and nothing is checked."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import lower_builtin, type_callable

    def teach(function, kind, code):
        @type_callable(function)
        def type_of_read(context):
            return lambda memory, at: kind

        @lower_builtin(function, types.Integer, types.Integer)
        def code_of_read(context, builder, signature, arguments):
            address, at = (
                context.cast(builder, value, own, types.int64)
                for value, own in zip(arguments, signature.args, strict=True)
            )
            value = builder.load(builder.inttoptr(builder.add(address, at), code.as_pointer()))
            value.align = 1
            return value

    teach(read_8, types.uint64, ir.IntType(64))
    teach(read_signed, types.int64, ir.IntType(64))
    teach(read_4, types.uint32, ir.IntType(32))
    teach(read_2, types.uint16, ir.IntType(16))
    teach(read_1, types.uint8, ir.IntType(8))
    teach(read_single, types.float32, ir.FloatType())

    @type_callable(copy_bytes)
    def type_of_copy(context):
        return lambda memory, at, n, out, begin: types.void

    whole = types.Integer

    @lower_builtin(copy_bytes, whole, whole, whole, types.Array, whole)
    def code_of_copy(context, builder, signature, arguments):
        memory, at, n, begin = (
            context.cast(builder, arguments[i], signature.args[i], types.int64) for i in (0, 1, 2, 4)
        )
        source = builder.inttoptr(builder.add(memory, at), ir.IntType(8).as_pointer())
        out = context.make_array(signature.args[3])(context, builder, arguments[3])
        cgutils.raw_memcpy(builder, builder.gep(out.data, [begin]), source, n, ir.Constant(ir.IntType(64), 1))
        return context.get_dummy_value()


def atomic_add(array, index, n):
    """Add to a number that other threads add to; returns what it was."""
    old = array[index]
    array[index] = old + n
    return old


def atomic_max(array, index, n):
    """Let a number that other threads raise, too, be n at least."""
    array[index] = max(array[index], n)


def atomic_load(array, index):
    """A number as other threads left it."""
    return array[index]


def yield_thread():
    """Let another thread of the machine have the processor."""


def cpu_pause():
    """Let the processor rest for some cycles: what runs on the same core besides gets on faster."""


@intrinsic
def _lower_atomics() -> None:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import lower_builtin, type_callable

    @type_callable(atomic_add)
    def type_of_add(context):
        return lambda array, index, n: types.int64

    @type_callable(atomic_max)
    def type_of_raise(context):
        return lambda array, index, n: types.void

    @type_callable(atomic_load)
    def type_of_read(context):
        return lambda array, index: types.int64

    @type_callable(yield_thread)
    def type_of_let(context):
        return lambda: types.void

    @type_callable(cpu_pause)
    def type_of_rest(context):
        return lambda: types.void

    def address(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.gep(data, [arguments[1]])

    @lower_builtin(atomic_add, types.Array, types.Integer, types.Integer)
    def code_of_add(context, builder, signature, arguments):
        n = context.cast(builder, arguments[2], signature.args[2], types.int64)
        return builder.atomic_rmw("add", address(context, builder, signature, arguments), n, "seq_cst")

    @lower_builtin(atomic_max, types.Array, types.Integer, types.Integer)
    def code_of_raise(context, builder, signature, arguments):
        n = context.cast(builder, arguments[2], signature.args[2], types.int64)
        builder.atomic_rmw("max", address(context, builder, signature, arguments), n, "seq_cst")
        return context.get_dummy_value()

    @lower_builtin(atomic_load, types.Array, types.Integer)
    def code_of_read(context, builder, signature, arguments):
        return builder.load_atomic(address(context, builder, signature, arguments), "seq_cst", 8)

    @lower_builtin(yield_thread)
    def code_of_let(context, builder, signature, arguments):
        from numba.core import cgutils

        name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    @lower_builtin(cpu_pause)
    def code_of_rest(context, builder, signature, arguments):
        from numba.core import cgutils

        if "compiler.target" in sys.modules:  # its `runtime.c` knows how
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "gapgram_rest"), [])
        return context.get_dummy_value()


def bits_between(text, at, low, high):
    """Which of the CHUNK bytes from text[at] on are from low to high: a bit for each.

    So where kernels run as plain Python. Compiled, the bytes are one number of the processor.
    """
    some = text[at : at + CHUNK]
    return np.uint64(int.from_bytes(np.packbits((some >= low) & (some <= high), bitorder="little").tobytes(), "little"))


@intrinsic
def _lower_bits() -> None:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import lower_builtin, type_callable

    byte, word = ir.IntType(8), ir.IntType(64)
    chunk, nowhere = ir.VectorType(byte, CHUNK), ir.VectorType(ir.IntType(32), CHUNK)(None)

    @type_callable(bits_between)
    def type_of_bits(context):
        return lambda text, at, low, high: types.uint64

    @lower_builtin(bits_between, types.Array, types.Integer, types.Integer, types.Integer)
    def code_of_bits(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        low, high = (builder.trunc(each, byte) for each in arguments[2:])

        def everywhere(value):
            nothing = chunk(ir.Undefined)
            return builder.shuffle_vector(builder.insert_element(nothing, value, ir.IntType(32)(0)), nothing, nowhere)

        some = builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), chunk.as_pointer()), align=1)
        above = builder.sub(some, everywhere(low))
        return builder.bitcast(builder.icmp_unsigned("<=", above, everywhere(builder.sub(high, low))), word)


def sum_rows(table, features, step, n_features, first, n, logits):
    """logits[q] = the sum of table[features[k * step] + q], in the order of k, for q = first … first + n - 1.

    n: from 8 to MOST_SIDE_BY_SIDE. So where kernels run as plain Python. Compiled, eight sums are one number of the
    processor, which LLVM does not find out by itself, and all of them grow side by side: none waits for another.
    """
    for q in range(first, first + n):
        logits[q] = 0.0
        for k in range(n_features):
            logits[q] += table[features[k * step] + q]


def add_row(sums, at, values, begin, n):
    """sums[at + q] += values[begin + q], for q = 0 … n - 1; n: from 8 to MOST_SIDE_BY_SIDE."""
    sums[at : at + n] += values[begin : begin + n]


@intrinsic
def _lower_sums() -> None:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import lower_builtin, type_callable

    eight, word = ir.VectorType(ir.DoubleType(), 8), ir.IntType(64)

    @type_callable(sum_rows)
    def type_of_sums(context):
        return lambda table, features, step, n_features, first, n, logits: types.void

    whole = types.Integer

    @lower_builtin(sum_rows, types.Array, types.Array, whole, whole, whole, whole, types.Array)
    def code_of_sums(context, builder, signature, arguments):
        step, n_features, first, n = arguments[2:6]
        table, features, logits = (
            context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 1, 6)
        )

        def eights(data, begins):
            return [builder.bitcast(builder.gep(data, [begin]), eight.as_pointer()) for begin in begins]

        wanted = builder.udiv(builder.add(n, word(7)), word(8))
        for n_eights in range(1, MOST_SIDE_BY_SIDE // 8 + 1):  # a loop for each number of them
            with builder.if_then(builder.icmp_unsigned("==", wanted, word(n_eights))):
                begins = [builder.add(first, word(8 * i)) for i in range(n_eights - 1)]
                begins.append(builder.add(first, builder.sub(n, word(8))))  # the last eight may begin before
                totals = [cgutils.alloca_once_value(builder, eight(None)) for _ in begins]
                with cgutils.for_range(builder, n_features) as loop:
                    at = builder.gep(features, [builder.mul(loop.index, step)])
                    row = builder.gep(table, [builder.load(at)])
                    for total, some in zip(totals, eights(row, begins), strict=True):
                        builder.store(builder.fadd(builder.load(total), builder.load(some, align=8)), total)
                for total, some in zip(totals, eights(logits, begins), strict=True):
                    builder.store(builder.load(total), some, align=8)
        return context.get_dummy_value()

    @type_callable(add_row)
    def type_of_added(context):
        return lambda sums, at, values, begin, n: types.void

    @lower_builtin(add_row, types.Array, whole, types.Array, whole, whole)
    def code_of_added(context, builder, signature, arguments):
        at, begin, n = (arguments[i] for i in (1, 3, 4))
        sums, values = (context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 2))

        def eights(data, first, begins):
            places = [builder.gep(data, [builder.add(first, each)]) for each in begins]
            return [builder.bitcast(place, eight.as_pointer()) for place in places]

        wanted = builder.udiv(builder.add(n, word(7)), word(8))
        for n_eights in range(1, MOST_SIDE_BY_SIDE // 8 + 1):
            with builder.if_then(builder.icmp_unsigned("==", wanted, word(n_eights))):
                begins = [word(8 * i) for i in range(n_eights - 1)]
                begins.append(builder.sub(n, word(8)))  # the last eight may begin before: all are read, then written
                places = eights(sums, at, begins)
                added = [
                    builder.fadd(builder.load(place, align=8), builder.load(some, align=8))
                    for place, some in zip(places, eights(values, begin, begins), strict=True)
                ]
                for place, total in zip(places, added, strict=True):
                    builder.store(total, place, align=8)
        return context.get_dummy_value()
