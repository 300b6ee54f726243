"""Machine code made into functions of Python."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding as llvm

from gapgram.native.kinds import Mismatch

# That machine code is given
OBJECTS = "ndarray", "uint64", "numpy", "none", "true", "false", "str", "failed", "mismatch"
MOST_CLASSES = 8  # that it may be given beside them

_OF_PYTHON = frozenset((
    "PyBool_FromLong", "PyBytes_AsStringAndSize", "PyBytes_FromStringAndSize", "PyCapsule_GetPointer", "PyCapsule_New",
    "PyErr_Clear", "PyErr_Occurred", "PyErr_SetString", "PyEval_RestoreThread", "PyEval_SaveThread", "PyFloat_AsDouble",
    "PyFloat_FromDouble", "PyLong_AsLongLong", "PyLong_AsUnsignedLongLong", "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong", "PyNumber_Index", "PyObject_CallObject", "PyTuple_GetItem", "PyTuple_New",
    "PyTuple_SetItem", "PyTuple_Size", "PyType_IsSubtype", "PyUnicode_AsUTF8AndSize", "Py_DecRef", "Py_IncRef",
))  # fmt: skip
_OF_C = frozenset((
    "malloc", "realloc", "free", "memcpy", "memmove", "memset", "memcmp", "memchr", "bcmp",
    "exp", "exp2", "log", "log2", "log10", "pow", "frexp", "ldexp", "lgamma", "sqrt",
    "floor", "ceil", "fmod", "round", "trunc", "sched_yield",
))  # fmt: skip
FUNCTIONS = _OF_PYTHON | _OF_C  # that machine code may call

_TAKES_AN_ARRAY_OF_OBJECTS = 0x80  # METH_FASTCALL


class _Method(ctypes.Structure):
    """What Python wants to know of a built-in function."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


class BoundCode(NamedTuple):
    """A function whose first arguments are given once, and one that lays these out in memory (`compiling`)."""

    lay_out: Callable[..., bytes]
    method: _Method

    def bind(self, constants: tuple[Any, ...]) -> Callable[..., Any]:
        """The function that takes the other arguments; it keeps the constants."""
        return _function(self.method, self.lay_out(*constants), constants)


def load(code: bytes, name: str) -> Callable[..., Any]:
    """The function of this name in what `compiling.machine_code` made; the process keeps it."""
    _add(code, name)
    return _function(_method(name))


def load_bound(code: bytes, name: str) -> BoundCode:
    """As `load`, where the first arguments of the function are given once."""
    _add(code, name)
    return BoundCode(_function(_method(f"{name}.lay_out")), _method(name))


def _add(code: bytes, name: str) -> None:
    """Put machine code into memory, and tell it of the objects that it needs."""
    classes, _, object_file = code.partition(b"\n")
    objects: list[Any] = [*_objects(), *(id(_class(each)) for each in classes.decode().split())]
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(object_file))
    engine.finalize_object()
    table = (ctypes.c_void_p * len(objects)).from_address(engine.get_global_value_address(f"{name}.objects"))
    table[:] = objects


def _method(name: str) -> _Method:
    method = _Method(name.encode(), _engine().get_function_address(name), _TAKES_AN_ARRAY_OF_OBJECTS, None)
    # Python reads it as long as the function is there, which at the end of a process may be longer than this module.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
    return method


def _function(method: _Method, words: bytes | None = None, kept: tuple[Any, ...] | None = None) -> Callable[..., Any]:
    """A built-in function of Python; its machine code is given `words`, and it keeps some objects alive."""
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    made: Callable[..., Any] = new(("PyCFunction_NewEx", ctypes.pythonapi))(ctypes.addressof(method), words, kept)
    return made


@cache
def _engine() -> Any:
    """What puts machine code into memory and binds it to the functions it calls."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in _OF_PYTHON:
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(codemodel="jitdefault", jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def _class(name: str) -> type:
    """A class by its module and name."""
    module, _, within = name.partition(":")
    named: type = getattr(import_module(module), within)
    return named


@cache
def _objects() -> tuple[int, ...]:
    """The addresses of OBJECTS, all of which live as long as the process."""
    core = sys.modules.get("numpy._core._multiarray_umath") or sys.modules["numpy.core._multiarray_umath"]
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    functions = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(core._ARRAY_API, None)
    of_python = id(None), id(True), id(False), id(str), id(MemoryError), id(Mismatch)
    return id(np.ndarray), id(np.uint64), functions, *of_python
