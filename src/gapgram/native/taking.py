"""Code that takes the words of a kernel's arguments out of Python's objects.

Where an object is not of the kind that the kernel was compiled for, the code goes elsewhere: the kernel is then
compiled for what it was given. Arrays are read as NumPy lays them out for extensions in C, the same in all versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from gapgram.native.kinds import Array, Bundle, Kind
from gapgram.native.loading import MOST_CLASSES, OBJECTS
from gapgram.native.words import BIT, DOUBLE, WORD, WORDS, n_words

OBJECT = ir.IntType(8).as_pointer()
INT, BYTE = ir.IntType(32), ir.IntType(8)
VOID = ir.VoidType()

_HEAD_BYTES = object.__basicsize__  # that every object begins with
_TYPE = _HEAD_BYTES - 8  # where it has its type
# Where an array has its address, dimensions, shape, strides, description and flags, in bytes after the head; and
# where a description has its letter and its order of bytes.
_ADDRESS, _DIMENSIONS, _SHAPE, _STRIDES, _DESCRIPTION, _FLAGS = 0, 8, 16, 24, 40, 48
_LETTER, _BYTE_ORDER = 9, 10
_WHOLE, _ALIGNED = 0x1, 0x100  # flags
_LONGEST_LINE = 1 << 14  # bytes of a string that are copied to the stack


class Code:
    """The code of one function as it is written, in a module that Python's functions and some objects are known to."""

    def __init__(self, context: Any, module: Any, name: str, is_brief: bool) -> None:
        self.context, self.module, self.name, self.is_brief = context, module, name, is_brief
        self.classes: list[str] = []  # of tuples with names that are results
        table = ir.ArrayType(OBJECT, len(OBJECTS) + MOST_CLASSES)
        self._objects = ir.GlobalVariable(module, table, f"{name}.objects")
        self._objects.initializer = table(None)
        self.builder: Any = None
        self.elsewhere: Any = None

    @contextmanager
    def function(self, name: str, result: Any, *arguments: Any, inside: bool = True) -> Iterator[Any]:
        """Write a function of its own; inside: the module alone sees it."""
        made = ir.Function(self.module, ir.FunctionType(result, arguments), f"{self.name}{name}")
        if inside:
            made.linkage = "internal"
        before = self.builder, self.elsewhere
        self.builder = ir.IRBuilder(made.append_basic_block("begin"))
        yield made
        self.builder, self.elsewhere = before

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call a function of Python's."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.module, kind, name), arguments)

    def object(self, name: str) -> Any:
        """One of the objects that the code is given when it is loaded: one of OBJECTS or of `classes`."""
        indices = [INT(0), INT((*OBJECTS, *self.classes).index(name))]
        return self.builder.load(self.builder.gep(self._objects, indices, inbounds=True))

    def need(self, condition: Any) -> None:
        """Go on where the condition holds."""
        on = self.builder.append_basic_block()
        self.builder.cbranch(condition, on, self.elsewhere)
        self.builder.position_at_end(on)

    def no_error(self) -> None:
        """Go on where Python's last function did not fail."""
        self.need(cgutils.is_null(self.builder, self.call("PyErr_Occurred", OBJECT)))


def take(code: Code, thing: Any, kind: Kind, words: Any) -> None:
    """Write the words of an object of this kind."""
    builder = code.builder
    if isinstance(kind, Bundle):
        _take_bundle(code, thing, kind, words)
    elif isinstance(kind, Array):
        wanted = INT(ord(kind.letter)), INT(kind.dimensions), INT(_WHOLE if kind.whole else 0)
        code.need(builder.call(_array_taker(code), [thing, *wanted, words]))
    elif kind == "int":
        code.need(builder.not_(_is_unsigned(code, thing)))
        builder.store(code.call("PyLong_AsLongLong", WORD, thing), words)
        code.no_error()
    elif kind == "unsigned":
        code.need(_is_unsigned(code, thing))
        number = code.call("PyNumber_Index", OBJECT, thing)
        builder.store(code.call("PyLong_AsUnsignedLongLong", WORD, number), words)
        code.call("Py_DecRef", VOID, number)
    elif kind == "float":
        builder.store(builder.bitcast(code.call("PyFloat_AsDouble", DOUBLE, thing), WORD), words)
        code.no_error()
    elif kind == "bool":
        true, false = (builder.icmp_unsigned("==", thing, code.object(name)) for name in ("true", "false"))
        code.need(builder.or_(true, false))
        builder.store(builder.zext(true, WORD), words)
    elif kind == "bytes":
        _take_bytes(code, thing, words)
    elif kind == "line":
        _take_line(code, thing, words)
    else:
        code.need(builder.icmp_unsigned("==", thing, code.object("none")))


def _take_bytes(code: Code, thing: Any, words: Any) -> None:
    size = code.builder.gep(words, [WORD(1)])
    code.need(code.builder.icmp_signed("==", code.call("PyBytes_AsStringAndSize", INT, thing, words, size), INT(0)))


def _take_line(code: Code, thing: Any, words: Any) -> None:
    """Bytes as they lie, or a copy of a string's with a newline; not of a string that has one, or a very long one."""
    builder, size = code.builder, code.builder.gep(words, [WORD(1)])
    is_string = builder.icmp_unsigned("==", _field(builder, thing, _TYPE, OBJECT), code.object("str"))
    with builder.if_else(is_string) as (string, other):
        with string:
            data = code.call("PyUnicode_AsUTF8AndSize", OBJECT, thing, size)
            code.need(cgutils.is_not_null(builder, data))
            n = builder.load(size)
            code.need(builder.icmp_unsigned("<=", n, WORD(_LONGEST_LINE)))
            code.need(cgutils.is_null(builder, code.call("memchr", OBJECT, data, INT(ord("\n")), n)))
            line = builder.alloca(BYTE, builder.add(n, WORD(1)))
            code.call("memcpy", OBJECT, line, data, n)
            builder.store(BYTE(ord("\n")), builder.gep(line, [n]))
            builder.store(builder.ptrtoint(line, WORD), words)
            builder.store(builder.add(n, WORD(1)), size)
        with other:
            _take_bytes(code, thing, words)


def _is_unsigned(code: Code, thing: Any) -> Any:
    """Whether an object is one of NumPy's unsigned numbers."""
    return code.builder.icmp_unsigned("==", _field(code.builder, thing, _TYPE, OBJECT), code.object("uint64"))


def _field(builder: Any, pointer: Any, offset: int, kind: Any) -> Any:
    """What lies so many bytes after an address."""
    return builder.load(builder.bitcast(builder.gep(pointer, [WORD(offset)]), kind.as_pointer()))


def _take_bundle(code: Code, thing: Any, kind: Bundle, words: Any) -> None:
    size = code.call("PyTuple_Size", WORD, thing)
    code.need(code.builder.icmp_signed("==", size, WORD(len(kind.kinds))))
    for i, field in enumerate(kind.kinds):
        take(code, code.call("PyTuple_GetItem", OBJECT, thing, WORD(i)), field, words)
        words = code.builder.gep(words, [WORD(n_words(field))])


def _array_taker(code: Code) -> Any:
    """A function (object, letter, dimensions, flags, words): whether it is such an array; writes its words."""
    if f"{code.name}.take_array" in code.module.globals:
        return code.module.globals[f"{code.name}.take_array"]
    with code.function(".take_array", BIT, OBJECT, INT, INT, INT, WORDS) as taker:
        thing, letter, dimensions, whole, words = taker.args
        builder, code.elsewhere = code.builder, taker.append_basic_block("elsewhere")

        def of_array(offset: int, kind: Any) -> Any:
            return _field(builder, thing, _HEAD_BYTES + offset, kind)

        code.need(_is_array(code, _field(builder, thing, _TYPE, OBJECT)))
        code.need(builder.icmp_signed("==", of_array(_DIMENSIONS, INT), dimensions))
        description = of_array(_DESCRIPTION, OBJECT)
        own_letter = builder.zext(_field(builder, description, _HEAD_BYTES + _LETTER, BYTE), INT)
        code.need(builder.icmp_signed("==", own_letter, letter))
        for swapped in b"<>":  # an order that is the machine's own is written otherwise
            own_order = _field(builder, description, _HEAD_BYTES + _BYTE_ORDER, BYTE)
            code.need(builder.icmp_signed("!=", own_order, BYTE(swapped)))
        flags = builder.or_(whole, INT(_ALIGNED))
        code.need(builder.icmp_signed("==", builder.and_(of_array(_FLAGS, INT), flags), flags))
        builder.store(of_array(_ADDRESS, WORD), words)
        n = builder.zext(dimensions, WORD)
        _copy_words(builder, of_array(_SHAPE, WORDS), n, words, WORD(1))
        with builder.if_then(builder.icmp_signed("==", whole, INT(0))):
            _copy_words(builder, of_array(_STRIDES, WORDS), n, words, builder.add(n, WORD(1)))
        builder.ret(BIT(1))
        builder.position_at_end(code.elsewhere)
        builder.ret(BIT(0))
    return taker


def _is_array(code: Code, own_type: Any) -> Any:
    """Whether a type is that of arrays or derived from it."""
    builder, arrays = code.builder, code.object("ndarray")
    exactly = builder.icmp_unsigned("==", own_type, arrays)
    is_array = cgutils.alloca_once_value(builder, exactly)
    with builder.if_then(builder.not_(exactly), likely=False):
        derived = code.call("PyType_IsSubtype", INT, own_type, arrays)
        builder.store(builder.icmp_signed("!=", derived, INT(0)), is_array)
    return builder.load(is_array)


def _copy_words(builder: Any, source: Any, n: Any, target: Any, first: Any) -> None:
    with cgutils.for_range(builder, n) as loop:
        word = builder.load(builder.gep(source, [loop.index]))
        builder.store(word, builder.gep(target, [builder.add(loop.index, first)]))
