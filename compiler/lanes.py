"""Eight numbers as one value of LLVM's, and a loop that goes through arrays eight at a time.

What `gapgram.kernels.lanes` says of lanes, as code is written: each step becomes an instruction for eight numbers,
which LLVM puts in terms of what the processor has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.misc import VarArg
from numba.core.typing import signature as signature_of
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, type_callable

LANES = 8
LINE = 16  # numbers of 32 bits in a line of the cache

_NUMBER, _WORD, _DOUBLE, _BIT = ir.IntType(32), ir.IntType(64), ir.DoubleType(), ir.IntType(1)
_WORDS, _DOUBLES, _BITS, _NUMBERS = (ir.VectorType(kind, LANES) for kind in (_WORD, _DOUBLE, _BIT, _NUMBER))
_LINE, _SIDE_BY_SIDE = ir.VectorType(_NUMBER, LINE), ir.VectorType(_NUMBER, 2 * LINE)(list(range(2 * LINE)))
_POINTERS = ir.VectorType(ir.PointerType(), LANES)
_COUNTED = _WORDS([_WORD(i) for i in range(LANES)])
_ALIGN = 8


class Numbers(NamedTuple):
    """Where the numbers of an array begin, and whether they are floats."""

    data: Any
    is_float: bool

    @property
    def kind(self) -> Any:
        """Of eight of them."""
        return _DOUBLES if self.is_float else _WORDS

    @property
    def name(self) -> str:
        """The same, in names of LLVM's functions."""
        return f"v{LANES}{'f64' if self.is_float else 'i64'}"


class Value:
    """Eight numbers, or eight truths."""

    def __init__(self, lanes: Lanes, value: Any) -> None:
        self.lanes, self.value = lanes, value

    @property
    def is_float(self) -> bool:
        """Whether they are floats."""
        return bool(self.value.type == _DOUBLES)

    def _with(self, other: Any, name: str) -> Value:
        instruction = getattr(self.lanes.builder, name)
        return Value(self.lanes, instruction(self.value, self.lanes.of(other, self.is_float).value))

    def __add__(self, other: Any) -> Value:
        return self._with(other, "fadd" if self.is_float else "add")

    def __sub__(self, other: Any) -> Value:
        return self._with(other, "fsub" if self.is_float else "sub")

    def __mul__(self, other: Any) -> Value:
        return self._with(other, "fmul" if self.is_float else "mul")

    def __truediv__(self, other: Any) -> Value:
        return self._with(other, "fdiv")

    def __and__(self, other: Any) -> Value:
        return self._with(other, "and_")

    def __or__(self, other: Any) -> Value:
        return self._with(other, "or_")

    def __xor__(self, other: Any) -> Value:
        return self._with(other, "xor")

    def _compared(self, how: str, other: Any) -> Value:
        builder = self.lanes.builder
        compare = builder.fcmp_ordered if self.is_float else builder.icmp_signed
        return Value(self.lanes, compare(how, self.value, self.lanes.of(other, self.is_float).value))

    def __ge__(self, other: Any) -> Value:
        return self._compared(">=", other)

    def __gt__(self, other: Any) -> Value:
        return self._compared(">", other)

    def __lt__(self, other: Any) -> Value:
        return self._compared("<", other)


class Lanes:
    """Lanes of a loop, from the first on: all, or as many as are left."""

    def __init__(self, builder: Any, first: Any, left: Any = None) -> None:
        self.builder, self.first, self.all = builder, first, left is None
        self.mask = _BITS([_BIT(1)] * LANES)
        if left is not None:
            self.mask = builder.icmp_signed("<", _COUNTED, self._everywhere(left))

    @property
    def numbers(self) -> Value:
        """Their numbers in the loop."""
        return Value(self, self.builder.add(self._everywhere(self.first), _COUNTED))

    def of(self, thing: Any, is_float: bool) -> Value:
        """A value, or one number in all lanes."""
        if isinstance(thing, Value):
            return thing
        if isinstance(thing, int | float):
            thing = _DOUBLE(thing) if is_float else _WORD(thing)
        return Value(self, self._everywhere(thing))

    def _everywhere(self, number: Any) -> Any:
        kind = ir.VectorType(number.type, LANES)
        nothing, nowhere = kind(ir.Undefined), ir.VectorType(_NUMBER, LANES)([0] * LANES)
        return self.builder.shuffle_vector(
            self.builder.insert_element(nothing, number, _NUMBER(0)), nothing, nowhere
        )

    def _call(self, name: str, result: Any, *arguments: Any) -> Any:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), arguments)

    def _place(self, array: Numbers, begin: Any) -> Any:
        first = self.builder.add(_WORD(begin) if isinstance(begin, int) else begin, self.first)
        return self.builder.bitcast(self.builder.gep(array.data, [first]), array.kind.as_pointer())

    def read(self, array: Numbers, begin: Any = 0) -> Value:
        """The numbers of the lanes in an array, which lie from a place of it on."""
        place = self._place(array, begin)
        if self.all:
            return Value(self, self.builder.load(place, align=_ALIGN))
        name, nothing = f"llvm.masked.load.{array.name}.p0", array.kind(None)
        return Value(self, self._call(name, array.kind, place, _NUMBER(_ALIGN), self.mask, nothing))

    def write(self, array: Numbers, values: Any, begin: Any = 0) -> None:
        """Put numbers into an array, where the lanes are."""
        place, value = self._place(array, begin), self.of(values, array.is_float).value
        if self.all:
            self.builder.store(value, place, align=_ALIGN)
        else:
            name = f"llvm.masked.store.{array.name}.p0"
            self._call(name, ir.VoidType(), value, place, _NUMBER(_ALIGN), self.mask)

    def _places(self, array: Numbers, indices: Value, log2_bytes: int) -> Any:
        """Where numbers of so many bytes lie."""
        offsets = self.builder.shl(indices.value, _WORDS([_WORD(log2_bytes)] * LANES))
        places = self.builder.add(self._everywhere(self.builder.ptrtoint(array.data, _WORD)), offsets)
        return self.builder.inttoptr(places, _POINTERS)

    def gather(self, array: Numbers, indices: Value) -> Value:
        """Numbers from all over an array."""
        places = self._places(array, indices, 3)
        name, nothing = f"llvm.masked.gather.{array.name}.v{LANES}p0", array.kind(None)
        return Value(self, self._call(name, array.kind, places, _NUMBER(_ALIGN), self.mask, nothing))

    def gather_u32(self, array: Numbers, indices: Value) -> Value:
        """The same for an array of uint32."""
        name, places = f"llvm.masked.gather.v{LANES}i32.v{LANES}p0", self._places(array, indices, 2)
        numbers = self._call(name, _NUMBERS, places, _NUMBER(4), self.mask, _NUMBERS(None))
        return Value(self, self.builder.zext(numbers, _WORDS))

    def gather_u64_at_bytes(self, array: Numbers, indices: Value) -> Value:
        """Eight bytes from all over an array of uint8, each time as one number, the first byte lowest."""
        name, places = f"llvm.masked.gather.v{LANES}i64.v{LANES}p0", self._places(array, indices, 0)
        numbers = self._call(name, _WORDS, places, _NUMBER(1), self.mask, _WORDS(None))
        if sys.byteorder == "big":
            numbers = self._call(f"llvm.bswap.v{LANES}i64", _WORDS, numbers)
        return Value(self, numbers)

    def compare_lines(self, array: Numbers, begins: Value, n_bits: Any, numbers: Value) -> Value:
        """`compare_line` of `gapgram.kernels.lanes` for each lane, with its own place and number."""
        builder, found = self.builder, _NUMBERS(None)
        n_bits, short = builder.trunc(n_bits, _NUMBER), builder.trunc(numbers.value, _NUMBERS)
        for lane in map(_NUMBER, range(LANES)):
            begin, number = (builder.extract_element(each, lane) for each in (begins.value, short))
            both = builder.shuffle_vector(*_compared_line(builder, array.data, begin, n_bits, number), _SIDE_BY_SIDE)
            found = builder.insert_element(found, builder.bitcast(both, _NUMBER), lane)
        return Value(self, builder.zext(found, _WORDS))

    def append(self, numbers: Numbers, condition: Value) -> None:
        """Add the numbers of the lanes where a condition holds to a list: all are written, fewer count."""
        builder, length = self.builder, self.builder.load(numbers.data)
        chosen = builder.and_(condition.value, self.mask)
        name = f"llvm.experimental.vector.compress.v{LANES}i64"
        together = self._call(name, _WORDS, self.numbers.value, chosen, _WORDS(None))
        end = builder.gep(numbers.data, [builder.add(length, _WORD(1))])
        builder.store(together, builder.bitcast(end, _WORDS.as_pointer()), align=_ALIGN)
        bits = builder.zext(builder.bitcast(chosen, ir.IntType(LANES)), _WORD)
        builder.store(builder.add(length, self._call("llvm.ctpop.i64", _WORD, bits)), numbers.data)

    def gather_rows4(self, array: Numbers, rows: Value) -> list[Value]:
        """The four columns of rows from all over an array; a row is read at once, which is faster than to gather."""
        builder, four = self.builder, ir.VectorType(_DOUBLE, 4)

        def read(lane: int) -> Any:
            first = builder.shl(builder.extract_element(rows.value, _NUMBER(lane)), _WORD(2))
            return builder.load(builder.bitcast(builder.gep(array.data, [first]), four.as_pointer()), align=_ALIGN)

        def chosen(one: Any, other: Any, *order: int) -> Any:
            return builder.shuffle_vector(one, other, ir.VectorType(_NUMBER, len(order))(list(order)))

        pairs = [chosen(read(lane), read(lane + 1), *range(8)) for lane in range(0, LANES, 2)]
        halves = [
            [chosen(one, other, j, j + 4, j + 8, j + 12) for one, other in (pairs[:2], pairs[2:])] for j in range(4)
        ]
        return [Value(self, chosen(low, high, *range(8))) for low, high in halves]

    def where(self, condition: Value, one: Any, other: Any) -> Value:
        """One where a condition holds, else the other."""
        is_float = any(isinstance(each, Value) and each.is_float for each in (one, other))
        chosen = self.builder.select(condition.value, self.of(one, is_float).value, self.of(other, is_float).value)
        return Value(self, chosen)

    def minimum(self, one: Value, other: Any) -> Value:
        """The smaller of two."""
        return self.where(one < other, one, other)

    def maximum(self, one: Value, other: Any) -> Value:
        """The larger of two."""
        return self.where(one > other, one, other)

    def splat(self, number: int) -> Value:
        """A whole number in all lanes."""
        return self.of(number, False)

    def one(self) -> Value:
        """The number 1.0 in all lanes."""
        return self.of(1.0, True)

    def equal(self, one: Value, other: Any) -> Value:
        """Whether whole numbers are equal."""
        return one._compared("==", other)

    def power_of_two(self, exponents: Value) -> Value:
        """Two to the power of whole numbers."""
        return Value(self, self.builder.shl(self.of(1, False).value, exponents.value))

    def count_trailing_zeros(self, values: Value) -> Value:
        """The lowest bit that is one, of whole numbers that have one."""
        return Value(self, self._call(f"llvm.cttz.v{LANES}i64", _WORDS, values.value, _BIT(1)))

    def shift_right(self, values: Value, n_bits: Any) -> Value:
        """The bits of whole numbers above some of them, as many for each or its own number; never negative."""
        return Value(self, self.builder.lshr(values.value, self.of(n_bits, False).value))

    def as_float(self, values: Value) -> Value:
        """Whole numbers as floats."""
        return Value(self, self.builder.sitofp(values.value, _DOUBLES))

    def as_int(self, values: Value) -> Value:
        """Floats as whole numbers."""
        return Value(self, self.builder.fptosi(values.value, _WORDS))


def _compared_line(builder: Any, data: Any, begin: Any, n_bits: Any, number: Any) -> list[Any]:
    """Whether each number of the line that `kernels.lanes.compare_line` reads is that one, and whether it is less."""
    nothing = _LINE(ir.Undefined)

    def splat(value: Any) -> Any:
        return builder.shuffle_vector(builder.insert_element(nothing, value, _NUMBER(0)), nothing, _LINE(None))

    place = builder.bitcast(builder.gep(data, [begin]), _LINE.as_pointer())
    line = builder.lshr(builder.load(place, align=4), splat(n_bits))
    return [builder.icmp_unsigned(how, line, splat(number)) for how in ("==", "<")]


def teach_line(function: Callable[..., int]) -> None:
    """Let kernels call `gapgram.kernels.lanes.compare_line`."""
    type_callable(function)(lambda context: lambda array, begin, n_bits, number: types.int64)

    @lower_builtin(function, types.Array, types.Integer, types.Integer, types.Integer)  # type: ignore[untyped-decorator]
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, begin = context.make_array(signature.args[0])(context, builder, arguments[0]).data, arguments[1]
        n_bits, number = (builder.trunc(each, _NUMBER) for each in arguments[2:])
        equal, less = (
            builder.zext(builder.bitcast(each, ir.IntType(LINE)), _WORD)
            for each in _compared_line(builder, data, begin, n_bits, number)
        )
        return builder.or_(equal, builder.shl(less, _WORD(LINE)))


def teach_loop(function: Callable[..., None], body: Callable[..., None]) -> None:
    """Let kernels call function(n, *arguments), which is body(lanes, *arguments) for all of n lanes."""

    class Template(AbstractTemplate):  # type: ignore[misc]
        key = function

        def generic(self, args: Any, kws: Any) -> Any:
            """It takes arrays of 64-bit numbers, whole numbers and floats, and returns nothing."""
            return signature_of(types.void, types.int64, *args[1:])

    infer_global(function, types.Function(Template))

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = [
            _given(context, builder, kind, argument)
            for kind, argument in zip(signature.args[1:], arguments[1:], strict=True)
        ]
        n = arguments[0]
        full = builder.and_(n, _WORD(-LANES))
        with cgutils.for_range_slice(builder, _WORD(0), full, _WORD(LANES)) as (first, _):
            body(Lanes(builder, first), *given)
        with builder.if_then(builder.icmp_signed("<", full, n)):
            body(Lanes(builder, full, builder.sub(n, full)), *given)
        return context.get_dummy_value()

    lower_builtin(function, VarArg(types.Any))(code)


def _given(context: Any, builder: Any, kind: Any, argument: Any) -> Any:
    """An argument as the body of a loop takes it."""
    if isinstance(kind, types.Array):
        assert kind.layout == "C"
        return Numbers(context.make_array(kind)(context, builder, argument).data, isinstance(kind.dtype, types.Float))
    return argument if isinstance(kind, types.Float) else context.cast(builder, argument, kind, types.int64)
