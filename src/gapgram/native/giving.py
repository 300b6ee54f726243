"""Code that makes Python's objects of a kernel's results: numbers, arrays, and tuples of these.

An array keeps the memory that the kernel took for it; one that lies in memory of somebody else, such as an argument's,
is copied. Of brief kernels an array of int8 becomes bytes. Arrays are made by functions of NumPy, found in the table
that it has for extensions in C.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.containers import BaseTuple
from numba.np import numpy_support

from gapgram.native.taking import INT, OBJECT, VOID, Code
from gapgram.native.words import WORD

_NEW_ARRAY, _COPY_ARRAY, _SET_BASE = 93, 85, 282  # numbers in the table; no version of NumPy has moved them
_WRITEABLE, _ALIGNED, _WHOLE = 0x400, 0x100, 0x1  # flags


def give(code: Code, numba_type: Any, value: Any) -> Any:
    """The object of a value."""
    builder = code.builder
    if numba_type == types.none:
        return _give_object(code, "none")
    if isinstance(numba_type, types.Boolean):
        return code.call("PyBool_FromLong", OBJECT, builder.zext(value, WORD))
    if isinstance(numba_type, types.Integer):
        sign, wide = ("Unsigned", types.uint64) if numba_type in types.unsigned_domain else ("", types.int64)
        return code.call(f"PyLong_From{sign}LongLong", OBJECT, code.context.cast(builder, value, numba_type, wide))
    if isinstance(numba_type, types.Float):
        return code.call("PyFloat_FromDouble", OBJECT, code.context.cast(builder, value, numba_type, types.float64))
    if isinstance(numba_type, types.Array) and numba_type.dtype == types.int8 and code.is_brief:
        return _give_bytes(code, numba_type, value)
    if isinstance(numba_type, types.Array) and not code.is_brief:  # whose arrays go when it is called again
        return _give_array(code, numba_type, value)
    if isinstance(numba_type, BaseTuple):
        return _give_tuple(code, numba_type, value)
    raise TypeError(f"a kernel that Python calls returns numbers, arrays and tuples of these: found {numba_type}")


def _give_object(code: Code, name: str) -> Any:
    given = code.object(name)
    code.call("Py_IncRef", VOID, given)
    return given


def _give_tuple(code: Code, numba_type: Any, value: Any) -> Any:
    made = code.call("PyTuple_New", OBJECT, WORD(len(numba_type)))
    for i, field in enumerate(numba_type):
        code.call("PyTuple_SetItem", INT, made, WORD(i), give(code, field, code.builder.extract_value(value, i)))
    return _with_names(code, numba_type.instance_class, made) if hasattr(numba_type, "instance_class") else made


def _with_names(code: Code, kind: type, plain: Any) -> Any:
    """A tuple as one of a class with names."""
    name = f"{kind.__module__}:{kind.__qualname__}"
    if name not in code.classes:
        code.classes.append(name)
    made = code.call("PyObject_CallObject", OBJECT, code.object(name), plain)
    code.call("Py_DecRef", VOID, plain)
    return made


def _give_bytes(code: Code, numba_type: Any, value: Any) -> Any:
    array = code.context.make_array(numba_type)(code.context, code.builder, value)
    data = code.builder.bitcast(array.data, OBJECT)
    made = code.call("PyBytes_FromStringAndSize", OBJECT, data, array.nitems)
    code.call("NRT_decref", VOID, code.builder.bitcast(array.meminfo, OBJECT))
    return made


def _give_array(code: Code, numba_type: Any, value: Any) -> Any:
    builder = code.builder
    array = code.context.make_array(numba_type)(code.context, builder, value)
    made = _new_array(code, numba_type, array)
    given = cgutils.alloca_once_value(builder, made)
    owner = builder.bitcast(array.meminfo, OBJECT)
    with builder.if_else(cgutils.is_not_null(builder, owner)) as (own, of_others):
        with own:
            release = builder.bitcast(_releaser(code), OBJECT)
            keeper = code.call("PyCapsule_New", OBJECT, owner, OBJECT(None), release)
            _call_numpy(code, _SET_BASE, INT, made, keeper)
        with of_others:
            builder.store(_call_numpy(code, _COPY_ARRAY, OBJECT, made, INT(0)), given)
            code.call("Py_DecRef", VOID, made)
    return builder.load(given)


def _new_array(code: Code, numba_type: Any, array: Any) -> Any:
    """An object for an array where it lies."""
    builder = code.builder
    shape, strides = (
        builder.bitcast(cgutils.alloca_once_value(builder, each), OBJECT) for each in (array.shape, array.strides)
    )
    number = INT(np.dtype(numpy_support.as_dtype(numba_type.dtype)).num)
    data, flags = builder.bitcast(array.data, OBJECT), INT(_WRITEABLE | _ALIGNED | _WHOLE)
    about = INT(numba_type.ndim), shape, number, strides, data, INT(0), flags, OBJECT(None)
    return _call_numpy(code, _NEW_ARRAY, OBJECT, code.object("ndarray"), *about)


def _call_numpy(code: Code, number: int, result: Any, *arguments: Any) -> Any:
    """Call a function of NumPy's table."""
    table = code.builder.bitcast(code.object("numpy"), OBJECT.as_pointer())
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = code.builder.load(code.builder.gep(table, [WORD(number)]))
    return code.builder.call(code.builder.bitcast(function, kind.as_pointer()), arguments)


def _releaser(code: Code) -> Any:
    """A function (capsule) that gives up the memory of an array."""
    if f"{code.name}.release" in code.module.globals:
        return code.module.globals[f"{code.name}.release"]
    with code.function(".release", VOID, OBJECT) as releaser:
        owner = code.call("PyCapsule_GetPointer", OBJECT, releaser.args[0], OBJECT(None))
        code.call("NRT_decref", VOID, owner)
        code.builder.ret_void()
    return releaser
