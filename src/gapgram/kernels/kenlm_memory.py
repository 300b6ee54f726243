"""Numbers at any byte of a file that is mapped.

Compiled kernels read at an address: an array that is handed on is counted, which takes longer than the read. The
places must be known to lie inside. As plain Python, kernels read an array, and a place outside is an error.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from gapgram.arrays import Bytes
from gapgram.kernels.jit import kernel


def memory_of(data: Bytes) -> Any:
    """What kernels take for bytes, which must be kept as long as kernels read them."""
    return data if numba.config.DISABLE_JIT else int(data.ctypes.data)


def _checked(kind):
    """A function that reads a number of this kind from an array of bytes."""

    def read(data, at):
        at, size = int(at), np.dtype(kind).itemsize
        if not 0 <= at <= data.size - size:
            raise IndexError(f"bytes {at} to {at + size} of {data.size}")
        return data[at : at + size].view(kind)[0]

    return read


def _at_address(kind, code):
    """As `_checked`, compiled: from an address, and not checked."""

    @intrinsic
    def read(typing, memory, at):
        def generate(context, builder, signature, arguments):
            place = builder.inttoptr(builder.add(arguments[0], arguments[1]), code.as_pointer())
            value = builder.load(place)
            value.align = 1
            return value

        return kind(types.int64, types.int64), generate

    return read


# read_8(memory, at): the eight bytes from a byte on as a number; read_signed, one that may be negative; read_4, four
# bytes; read_single, a float of four bytes.
if numba.config.DISABLE_JIT:
    read_8, read_signed, read_4, read_single = map(_checked, (np.uint64, np.int64, np.uint32, np.float32))
else:
    read_8 = _at_address(types.uint64, ir.IntType(64))
    read_signed = _at_address(types.int64, ir.IntType(64))
    read_4 = _at_address(types.uint32, ir.IntType(32))
    read_single = _at_address(types.float32, ir.FloatType())


@kernel
def read_bits(memory, at, width):
    """The number of so many bits, at most 57, that starts at a bit; eight bytes from there on must lie inside."""
    value = read_8(memory, at >> 3) >> np.uint64(at & 7)
    return np.int64(value & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))
