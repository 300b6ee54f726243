"""The decorator of every kernel, and word of when one is compiled.

A kernel is compiled when it is first called with arguments of some kinds (`gapgram.native`), and kept on disk for all
processes after that. No fast-math, so that results never vary. Other threads run while a kernel does.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cached_property, partial, update_wrapper
from pathlib import Path
from typing import Any

import numpy as np

from gapgram.errors import CacheWarning
from gapgram.native import TARGET_NAME, on_first_compilation
from gapgram.native.kinds import Kind, Mismatch, kind_of, text_of

# Machine code is kept and called without Numba where that was tried; elsewhere Numba compiles, keeps and calls kernels
# itself, with the same results, and starts slowly.
_ONE_AT_A_TIME = getattr(sys, "_is_gil_enabled", lambda: True)()  # threads run Python one at a time
_WAS_TRIED = sys.platform == "linux" and sys.maxsize > 1 << 32 and _ONE_AT_A_TIME
AS_MACHINE_CODE = os.environ.get("GAPGRAM_NATIVE", str(int(_WAS_TRIED))) == "1"
AS_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")  # kernels are left as they are written

compiled: list[str] = []  # the kernels that this process compiled
loaded: list[str] = []  # those and the ones it found compiled

_OTHER_INSIDES = "this version of Numba is not one that gapgram knows: kernels start slowly, and are compiled each time"

_lock = threading.RLock()
_to_teach: list[Callable[[], None]] = []


class Kernel:
    """A function that runs as machine code; it takes numbers, arrays, bytes and named tuples of these."""

    inlining = ""  # whether kernels that call it take its code into their own: LLVM decides
    is_optimised_twice = True

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.function = function
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self._by_kinds: dict[tuple[Kind, ...], Callable[..., Any]] = {}
        self._last: Callable[..., Any] = _nothing_yet

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self._last(*arguments)
        except Mismatch:
            pass
        return self.for_arguments(arguments)(*arguments)

    def for_arguments(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The machine code for arguments of the kinds of these, from disk or compiled now."""
        kinds = tuple(kind_of(argument) for argument in arguments)
        with _lock:
            if kinds not in self._by_kinds:
                self._by_kinds[kinds] = self._from_disk(kinds)
            self._last = self._by_kinds[kinds]
            return self._last

    def _from_disk(self, kinds: tuple[Kind, ...]) -> Callable[..., Any]:
        if not AS_MACHINE_CODE:
            loaded.append(self.name)
            _prepare_compiling()
            return self._otherwise()

        from gapgram.native import store

        name = self._file_name(kinds)
        loaded.append(self.name)
        code = store.read(name)
        if code is None and on_first_compilation:
            _prepare_compiling()
            code = store.read(name)  # what is called then may have compiled it
        if code is None:
            compiled.append(self.name)
            _prepare_compiling()
            try:
                code = self._compiled(name, kinds)
            except (ImportError, AttributeError, TypeError, AssertionError, NotImplementedError) as error:
                warnings.warn(f"{_OTHER_INSIDES}: {error}", CacheWarning, stacklevel=4)
                return self._otherwise()
            store.write(name, code)
        return self._loaded(code, name)

    def _loaded(self, code: bytes, name: str) -> Callable[..., Any]:
        from gapgram.native.loading import load

        return load(code, name)

    def _file_name(self, kinds: tuple[Kind, ...]) -> str:
        """The name that the machine code is kept under: another one for other kinds and other sources."""
        import xxhash

        from gapgram.native.sources import digest_of

        of_kinds = xxhash.xxh3_64_hexdigest(",".join(map(text_of, kinds)).encode())
        return f"{self.name}.{of_kinds}.{digest_of(Path(self.function.__globals__['__file__']))}"

    def _compiled(self, name: str, kinds: tuple[Kind, ...]) -> bytes:
        from gapgram.native import compiling

        code: bytes = compiling.machine_code(self._for_us, name, kinds, optimised_twice=self.is_optimised_twice)
        return code

    @cached_property
    def _for_us(self) -> Any:
        """What Numba knows of the kernel where `gapgram.native` compiles it."""
        from gapgram.native.target import dispatcher_of

        return dispatcher_of(self.function, self.inlining)

    @cached_property
    def _by_numba_alone(self) -> Callable[..., Any]:
        import numba

        made: Callable[..., Any]
        try:
            made = numba.njit(nogil=True, cache=True)(self.function)
        except RuntimeError:  # Numba finds no folder to keep machine code in
            made = numba.njit(nogil=True)(self.function)
        return made

    def _otherwise(self) -> Callable[..., Any]:
        """What is called where there is no machine code of ours."""
        return self._by_numba_alone

    @property
    def _numba_type_(self) -> Any:
        """By which Numba finds out what a kernel is that another one calls."""
        from numba.core.target_extension import current_target

        known: Any = self._for_us if current_target() == TARGET_NAME else self._by_numba_alone
        return known._numba_type_


class BoundKernel(Kernel):
    """A kernel of a few hundred nanoseconds, whose first arguments are given once (`bind`).

    Other threads of Python wait until it is done. Arrays of int8 that it returns become bytes.
    """

    n_bound = 0

    def bind(self, constants: tuple[Any, ...], *examples: object) -> Callable[..., Any]:
        """What takes the other arguments, which are of the kinds of these examples."""
        assert len(constants) == self.n_bound
        if AS_PYTHON or not AS_MACHINE_CODE:
            _prepare_compiling()
            return _partly(self.function if AS_PYTHON else self._by_numba_alone, constants)
        made: Callable[..., Any] = self.for_arguments((*constants, *examples))(constants)
        return made

    def _loaded(self, code: bytes, name: str) -> Callable[..., Any]:
        from gapgram.native.loading import load_bound

        return load_bound(code, name).bind

    def _compiled(self, name: str, kinds: tuple[Kind, ...]) -> bytes:
        from gapgram.native import compiling

        code: bytes = compiling.machine_code(self._for_us, name, kinds, n_bound=self.n_bound, is_brief=True)
        return code

    def _otherwise(self) -> Callable[..., Any]:
        return partial(_partly, self._by_numba_alone)


def _partly(function: Callable[..., Any], constants: tuple[Any, ...]) -> Callable[..., Any]:
    """What `BoundKernel.bind` gives where there is no machine code."""

    def call(*arguments: object) -> Any:
        found = function(*constants, *(_as_bytes(each) for each in arguments))
        if not isinstance(found, tuple):
            return found
        return tuple(each.tobytes() if getattr(each, "dtype", None) == np.int8 else each for each in found)

    return call


def _as_bytes(argument: Any) -> Any:
    """A string as the line that machine code would make of it."""
    if not isinstance(argument, str):
        return argument
    if "\n" in argument:
        raise Mismatch("a line of text has no newline")
    return f"{argument}\n".encode()


def _prepare_compiling() -> None:
    while on_first_compilation:
        on_first_compilation.pop()()
    while _to_teach:
        _to_teach.pop()()


def _nothing_yet(*_: Any) -> Any:
    raise Mismatch


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function run as machine code."""
    if AS_PYTHON:
        return np.errstate(over="ignore")(function)  # hashes overflow on purpose
    return Kernel(function)


class _Training(Kernel):
    is_optimised_twice = False


def training_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of training: it is compiled in three quarters of the time, and trains as fast."""
    return kernel(function) if AS_PYTHON else _Training(function)


def bound_first(n_bound: int) -> Callable[[Callable[..., Any]], BoundKernel]:
    """Let a function run as machine code that is given its first arguments once."""

    def make(function: Callable[..., Any]) -> BoundKernel:
        made = BoundKernel(function)
        made.n_bound = n_bound
        return made

    return make


class _Inlined(Kernel):
    inlining = "alwaysinline"


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose code those that call it always take into their own."""
    return kernel(function) if AS_PYTHON else _Inlined(function)


class _Apart(Kernel):
    inlining = "noinline"


def apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose code stays apart from that of those that call it: one of the large steps, or seldom called."""
    return kernel(function) if AS_PYTHON else _Apart(function)


class _Shared(_Inlined):
    """A small function of kernels that Python calls as it is written."""

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels use a small function that Python uses, too: there nothing is compiled."""
    return kernel(function) if AS_PYTHON else _Shared(function)


class _Replaced:
    """A kernel in whose place another one is called where a field of the first argument is not None.

    What a kernel is compiled for says which, so that the other one is not compiled at all.
    """

    is_compiling = False  # neither calls itself

    def __init__(self, function: Callable[..., Any], by: Callable[..., Any], where: str) -> None:
        update_wrapper(self, function)
        self._kernel, self._by, self._where = kernel(function), by, where

    def __call__(self, bundle: Any, *arguments: Any) -> Any:
        chosen = self._kernel if getattr(bundle, self._where) is None else self._by
        return chosen(bundle, *arguments)

    def _dispatcher(self, bundle: Any) -> Any:
        """What Numba knows of the kernel that is called with a first argument of this type."""
        of_us = isinstance(bundle.fields, dict)  # not one of Numba's own types
        field = bundle.fields[self._where][2] if of_us else bundle.types[bundle.fields.index(self._where)]
        chosen: Any = self._kernel if str(field) == "none" else self._by
        return chosen._numba_type_.dispatcher

    def get_call_template(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        """Numba asks for this when it finds out the types of a call,"""
        return self._dispatcher(args[0]).get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """and for this when it translates it."""
        return self._dispatcher(sig[0]).get_overload(sig)

    @property
    def _numba_type_(self) -> Any:
        from numba.core.types import Dispatcher

        return Dispatcher(self)


def replaced(*, by: Callable[..., Any], where: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A kernel in whose place another one is called where a field of the first argument is not None."""
    return lambda function: _Replaced(function, by, where)


def entry(wanted: Callable[..., Any], *arguments: object) -> Callable[..., Any]:
    """A kernel for arguments of the kinds of these alone, which spares each call a little."""
    return wanted.for_arguments(arguments) if isinstance(wanted, Kernel) else wanted


def bound_kernel(wanted: Callable[..., Any], examples: Callable[[Any], tuple[object, ...]]) -> Any:
    """An attribute of a class: the `entry` of a kernel for arguments like the examples that each object gives."""
    if AS_PYTHON:
        return staticmethod(wanted)
    return cached_property(lambda owner: entry(wanted, *examples(owner)))


def before_compiling(teach: Callable[[], None]) -> Callable[[], None]:
    """Let `teach` be called before anything is compiled: it tells Numba of functions that are not kernels."""
    _to_teach.append(teach)
    return teach
