"""Numbers at any byte of a file that is mapped, or of other memory.

Compiled kernels read at an address: an array that is handed on is counted, which takes longer than the read. The
places must be known to lie inside. As plain Python, kernels read an array, and a place outside is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapgram.arrays import Bytes
from gapgram.kernels.compiled import AS_PYTHON, intrinsic, kernel


def memory_of(data: Bytes) -> Any:
    """What kernels take for bytes, which must be kept as long as kernels read them."""
    return data if AS_PYTHON else int(data.ctypes.data)


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
def _teach() -> None:
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


@kernel
def read_bits(memory, at, width):
    """The number of so many bits, at most 57, that starts at a bit; eight bytes from there on must lie inside."""
    value = read_8(memory, at >> 3) >> np.uint64(at & 7)
    return np.int64(value & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))
