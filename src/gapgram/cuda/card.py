"""Finding a card, copying to it, and the kernels of `gapgram.kernels` compiled for it.

The extra `cuda` brings numba-cuda, which compiles Python functions for the card.
"""

from __future__ import annotations

import dis
import inspect
import os
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from gapgram.arrays import Bytes
from gapgram.errors import DeviceError, to_install
from gapgram.kernels.compiled import AS_PYTHON, function_of

THREADS = 16 if AS_PYTHON else 128  # of a block; few where Python plays the card


def find_card() -> Any:
    """The module `numba.cuda`, where there is a card that it can use; a `DeviceError` says what is missing.

    NUMBA_ENABLE_CUDASIM=1 lets Python play the card, slowly: for tests.
    """
    is_real = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") in ("", "0")
    if is_real and find_spec("numba_cuda") is None:
        raise DeviceError(f"device cuda: the package numba-cuda is missing: {to_install('cuda')}")
    try:
        with warnings.catch_warnings():  # what numba-cuda uses of NumPy that is to go is no matter of who scores
            warnings.simplefilter("ignore")
            from numba import cuda

            if is_real:
                _import_implementations()
        available = cuda.is_available()
    except Exception as error:  # whatever a broken driver, or a NumPy that numba-cuda does not know, raises
        raise DeviceError(f"device cuda: numba-cuda or the driver of the card does not work ({error})") from None
    if not available:
        raise DeviceError("device cuda: no card was found, or its driver is missing; leave it out to use the CPU")
    return cuda


def _import_implementations() -> None:
    """Import now what numba-cuda imports when it first compiles, while NumPy has a name that it asks for.

    numba-cuda 0.30 names `np.row_stack`, which NumPy 2.5 has no longer; it is what `np.vstack` is.
    """
    is_gone = not hasattr(np, "row_stack")
    if is_gone:
        np.row_stack = np.vstack  # type: ignore[attr-defined, unused-ignore]
    try:
        import_module("numba.cuda.cudaimpl")
    finally:
        if is_gone:
            del np.row_stack  # type: ignore[attr-defined, unused-ignore]


def find_sorter() -> tuple[ModuleType, int]:
    """The module `cupy`, which sorts on a card, and the bytes that are free there.

    CuPy has the sorts and running sums that counting consists of; numba-cuda has none.
    """
    if find_spec("cupy") is None:
        raise DeviceError(f"device cuda: training needs the package CuPy, which is missing: {to_install('cuda')}")
    try:
        import cupy

        free_bytes, _ = cupy.cuda.runtime.memGetInfo()
    except Exception as error:  # whatever a missing card or a broken driver raises
        raise DeviceError(f"device cuda: no card that CuPy can use was found ({error}); train on the CPU") from None
    return cupy, int(free_bytes)


_CARD_OF_DLPACK = 2  # the kind of device that DLPack calls kDLCUDA


def held_on_card(cuda: Any, array: Any) -> Any:
    """An array of the card as kernels take it, without a copy; one of the CPU is copied.

    Of the card is what has `__cuda_array_interface__`, as tensors of PyTorch and arrays of CuPy do, or what gives its
    memory by DLPack, as arrays of JAX do. cuda: the module, as `find_card` gives it.
    """
    if cuda.cudadrv.devicearray.is_cuda_ndarray(array):
        return array
    if hasattr(array, "__cuda_array_interface__"):
        return cuda.as_cuda_array(array)
    if hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] == _CARD_OF_DLPACK:
        return cuda.as_cuda_array(find_sorter()[0].from_dlpack(array))
    return cuda.to_device(array)


_PIECE_BYTES = 1 << 22  # that a thread copies at a time
_COPIERS = 8  # threads: one alone takes longer to find room in memory than the card takes to send


def on_cpu(array: Any) -> Any:
    """The same array of NumPy; a large one is copied in pieces, by several threads."""
    if not hasattr(array, "get"):
        return array
    if array.nbytes < 4 * _PIECE_BYTES:
        return array.get()
    from cupy.cuda import get_current_stream

    out = np.empty(array.shape, array.dtype)
    to, source = out.reshape(-1).view(np.uint8), array.ravel().view(np.uint8)
    get_current_stream().synchronize()
    pieces = [slice(at, at + _PIECE_BYTES) for at in range(0, to.size, _PIECE_BYTES)]
    list(_copiers().map(lambda piece: _copy_piece(source[piece], to[piece]), pieces))
    return out


@cache
def _copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_COPIERS)


_own = threading.local()  # of a thread that copies: its stream, and memory that the card writes into


def _copy_piece(source: Any, to: Bytes) -> None:
    from cupy.cuda import Stream, alloc_pinned_memory

    if not hasattr(_own, "stream"):
        _own.stream, _own.memory = Stream(non_blocking=True), alloc_pinned_memory(_PIECE_BYTES)
    held = np.frombuffer(_own.memory, np.uint8, to.size)
    source.get(stream=_own.stream, out=held)
    to[:] = held


@cache
def for_card(kernel: Callable[..., Any]) -> Any:
    """A kernel, and all that it calls, compiled for the card from the same source."""
    cuda = find_card()
    function = function_of(kernel) or inspect.unwrap(kernel)
    used = {each.argval for each in dis.get_instructions(function) if each.opname == "LOAD_GLOBAL"}
    names = {name: value for name, value in function.__globals__.items() if name in used}
    called = {name: for_card(value) for name, value in names.items() if function_of(value)}
    copy = FunctionType(
        function.__code__, {**function.__globals__, **called}, function.__name__, function.__defaults__
    )
    copy.__module__ = function.__module__
    return cuda.jit(device=True)(np.errstate(over="ignore")(copy) if AS_PYTHON else copy)  # hashes overflow on purpose

