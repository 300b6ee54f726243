"""Finding a card, copying to it, and the kernels of `gapgram.kernels` compiled for it.

The extra `cuda` brings numba-cuda, which compiles Python functions for the card.
"""

from __future__ import annotations

import dis
import inspect
import os
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

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
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # small launches are meant
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


def find_cupy() -> tuple[ModuleType, int]:
    """The module `cupy`, which holds arrays on a card and launches C++, and the bytes that are free there."""
    if find_spec("cupy") is None:
        raise DeviceError(f"device cuda: the package CuPy is missing: {to_install('cuda')}")
    try:
        import cupy

        free_bytes, _ = cupy.cuda.runtime.memGetInfo()
    except Exception as error:  # whatever a missing card or a broken driver raises
        raise DeviceError(f"device cuda: CuPy found no card ({error}); leave it out to use the CPU") from None
    return cupy, int(free_bytes)


_CARD_OF_DLPACK = 2  # the kind of device that DLPack calls kDLCUDA


def held_on_card(xp: ModuleType, array: Any) -> Any:
    """An array of the card as CuPy has it, without a copy; one of the CPU is copied.

    Of the card is what has `__cuda_array_interface__`, as tensors of PyTorch and arrays of CuPy and numba-cuda do, or
    what gives its memory by DLPack, as arrays of JAX do. xp: CuPy.
    """
    if isinstance(array, xp.ndarray):
        return array
    is_far = not hasattr(array, "__cuda_array_interface__") and hasattr(array, "__dlpack_device__")
    if is_far and array.__dlpack_device__()[0] == _CARD_OF_DLPACK:
        return xp.from_dlpack(array)
    return xp.asarray(array)


def stream_of(xp: ModuleType, *arrays: Any) -> Any:
    """The caller's stream: PyTorch's current one where an array is its tensor, else CuPy's."""
    for array in arrays:
        if type(array).__module__.partition(".")[0] == "torch" and array.is_cuda:
            from gapgram.cuda.torch_streams import current_stream

            return current_stream(array.device)
    return xp.cuda.get_current_stream()


def on_cpu(array: Any) -> Any:
    """The same array of NumPy."""
    return array.get() if hasattr(array, "get") else array


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

