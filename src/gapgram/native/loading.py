"""Machine code made into functions of Python."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from llvmlite import binding as llvm

from gapgram.native.kinds import Mismatch

OBJECTS = ("ndarray", "uint64", "numpy", "none", "true", "false", "failed", "mismatch")  # that machine code is given
MOST_CLASSES = 8  # that it may be given beside them

_OF_PYTHON = frozenset((
    "PyBool_FromLong", "PyBytes_AsStringAndSize", "PyCapsule_GetPointer", "PyCapsule_New", "PyErr_Clear",
    "PyErr_Occurred", "PyErr_SetString", "PyEval_RestoreThread", "PyEval_SaveThread", "PyFloat_AsDouble",
    "PyFloat_FromDouble", "PyLong_AsLongLong", "PyLong_AsUnsignedLongLong", "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong", "PyNumber_Index", "PyObject_CallObject", "PyTuple_GetItem", "PyTuple_New",
    "PyTuple_SetItem", "PyTuple_Size", "PyType_IsSubtype", "Py_DecRef", "Py_IncRef",
))  # fmt: skip
_OF_C = frozenset((
    "malloc", "realloc", "free", "memcpy", "memmove", "memset", "memcmp", "bcmp",
    "exp", "exp2", "log", "log2", "log10", "pow", "frexp", "ldexp", "lgamma", "sqrt",
    "floor", "ceil", "fmod", "round", "trunc",
))  # fmt: skip
FUNCTIONS = _OF_PYTHON | _OF_C  # that machine code may call

_TAKES_AN_ARRAY_OF_OBJECTS = 0x80  # METH_FASTCALL


class _Method(ctypes.Structure):
    """What Python wants to know of a built-in function."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


_kept: list[_Method] = []  # Python reads them as long as the functions are there


def load(code: bytes, name: str) -> Callable[..., Any]:
    """The function of this name in what `compiling.machine_code` made; the process keeps it."""
    classes, _, object_file = code.partition(b"\n")
    objects: list[Any] = [*_objects(), *(id(_class(each)) for each in classes.decode().split())]
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(object_file))
    engine.finalize_object()
    table = (ctypes.c_void_p * len(objects)).from_address(engine.get_global_value_address(f"{name}.objects"))
    table[:] = objects
    method = _Method(name.encode(), engine.get_function_address(name), _TAKES_AN_ARRAY_OF_OBJECTS, None)
    _kept.append(method)
    made: Callable[..., Any] = _python("PyCFunction_NewEx", ctypes.py_object, 3)(ctypes.addressof(method), None, None)
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
    found: type = getattr(import_module(module), within)
    return found


@cache
def _objects() -> tuple[int, ...]:
    """The addresses of OBJECTS, all of which live as long as the process."""
    core = sys.modules.get("numpy._core._multiarray_umath") or sys.modules["numpy.core._multiarray_umath"]
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    functions = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(core._ARRAY_API, None)
    return (id(np.ndarray), id(np.uint64), functions, id(None), id(True), id(False), id(RuntimeError), id(Mismatch))


def _python(name: str, result: Any, n_pointers: int) -> Any:
    kind = ctypes.PYFUNCTYPE(result, *[ctypes.c_void_p] * n_pointers)
    return kind((name, ctypes.pythonapi))
