"""Numbers at any byte of a file that is mapped, or of other memory.

Compiled kernels read at an address: an array that is handed on is counted, which takes longer than the read. The
places must be known to lie inside. As plain Python, kernels read an array, and a place outside is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapgram.arrays import Bytes
from gapgram.kernels.compiled import AS_PYTHON, kernel
from gapgram.kernels.intrinsics import read_8


def memory_of(data: Bytes) -> Any:
    """What kernels take for bytes, which must be kept as long as kernels read them."""
    return data if AS_PYTHON else int(data.ctypes.data)


@kernel
def read_bits(memory, at, width):
    """The number of so many bits, at most 57, that starts at a bit; eight bytes from there on must lie inside."""
    value = read_8(memory, at >> 3) >> np.uint64(at & 7)
    return np.int64(value & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))
