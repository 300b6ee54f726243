"""How Numba writes a function for LLVM, in half as many instructions.

Numba gives a variable that several blocks of a function use a place in memory, and takes whole arrays out of it and
apart wherever an item is read. LLVM sees through that, but what is written must be made, printed, read and looked
through first. Here a variable that is assigned once is a value, wherever it is used; what is known of a value is taken
from where it came from; and a loop over a range holds no more than its two numbers.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.callconv import RETCODE_USEREXC, CPUCallConv
from numba.core.ir import Assign, Del
from numba.core.lowering import Lower

from gapgram.native.array_values import registry

_WITHOUT_EFFECT = {
    "insertvalue", "extractvalue", "load", "getelementptr", "icmp", "fcmp", "select", "add", "sub", "mul", "and", "or",
    "xor", "sext", "zext", "trunc", "bitcast",
}  # fmt: skip
_START, _STOP, _STEP = range(3)  # of a range
_RANGES = (
    (types.range_state32_type, types.range_iter32_type),
    (types.range_state64_type, types.range_iter64_type),
    (types.unsigned_range_state64_type, types.unsigned_range_iter64_type),
)


class Builder(ir.IRBuilder):  # type: ignore[misc]
    """LLVM's instructions, but for those whose result is known."""

    def __init__(self, block: Any = None) -> None:
        super().__init__(block)
        self._known: dict[tuple[Any, Any, tuple[int, ...]], Any] = {}  # fields, by the block where they were taken out

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        """A field of a value: what was put into it, or what was taken out in this block before."""
        place = tuple(idx) if isinstance(idx, (tuple, list)) else (idx,)
        while isinstance(agg, ir.instructions.InsertValue):
            filled = tuple(agg.indices)
            if place[: len(filled)] == filled:
                agg, place = agg.value, place[len(filled) :]
                if not place:
                    return agg
            elif filled[: len(place)] == place:
                break
            else:
                agg = agg.aggregate
        where = self.block, agg, place
        if isinstance(agg, ir.Constant) or where not in self._known:
            self._known[where] = super().extract_value(agg, place, name)
        return self._known[where]

    def mul(self, lhs: Any, rhs: Any, name: str = "", flags: Any = ()) -> Any:
        """A product; of one factor where the other is 1."""
        return rhs if _is(lhs, 1) else lhs if _is(rhs, 1) else super().mul(lhs, rhs, name, flags)

    def add(self, lhs: Any, rhs: Any, name: str = "", flags: Any = ()) -> Any:
        """A sum; of one number where the other is 0."""
        return rhs if _is(lhs, 0) else lhs if _is(rhs, 0) else super().add(lhs, rhs, name, flags)


def _is(value: Any, number: int) -> bool:
    return isinstance(value, ir.Constant) and isinstance(value.constant, int) and value.constant == number


class Calls(CPUCallConv):  # type: ignore[misc]
    """How functions call each other: what was raised is not told, only that something was."""

    def return_user_exc(self, builder: Any, *_: Any, **__: Any) -> None:
        """Raise an error."""
        self._return_errcode_raw(builder, RETCODE_USEREXC)

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        """Raise what a function that was called raised."""
        self._return_errcode_raw(builder, status.code)

    def set_try_status(self, builder: Any) -> None:
        """Refuse a function that wants to know what was raised."""
        raise NotImplementedError("kernels do not catch errors")


class FunctionWriter(Lower):  # type: ignore[misc]
    """Numba's, with fewer variables in memory."""

    def _find_singly_assigned_variable(self) -> None:
        """All variables that are assigned once, before all that uses or deletes them.

        Numba may delete a variable twice, and makes it zero the first time: a value that counts its users cannot.
        """
        self._singly_assigned_vars: set[str] = set()
        self._blk_local_varmap: dict[str, Any] = {}
        if not self.func_ir.func_id.is_generator:
            found = _Mentions(self.blocks)
            self._singly_assigned_vars = {
                name
                for name in found.assigned_before_use()
                if not self._holds_memory(name) or not found.is_deleted_twice(name)
            }

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Assign to a variable; what it held before is only of interest where it counts its users."""
        if name in self._singly_assigned_vars or self._holds_memory(name):
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """Delete a variable: nothing to do for a number."""
        if self._holds_memory(name):
            super().delvar(name)

    def _holds_memory(self, name: str) -> bool:
        held: bool = self.context.nrt.holds_memory(self.typeof(name))
        return held

    def lower_function_body(self) -> Any:
        """Write the function, but for fields that nobody asked for."""
        entry = super().lower_function_body()
        _leave_out_unused(self.function)
        return entry


def _leave_out_unused(function: Any) -> None:
    """Remove instructions that do nothing but have a result, and whose result nobody asks for."""
    used: set[Any] = set()
    asked_for: list[Any] = []
    for block in function.blocks:
        for each in block.instructions:
            if isinstance(each, ir.instructions.PhiInstr):
                asked_for.extend(value for value, _ in each.incomings)
            elif each.opname not in _WITHOUT_EFFECT:
                asked_for.extend(each.operands)
    while asked_for:
        each = asked_for.pop()
        if isinstance(each, ir.Instruction) and each not in used:
            used.add(each)
            asked_for.extend(each.operands)
    for block in function.blocks:
        block.instructions[:] = [i for i in block.instructions if i in used or i.opname not in _WITHOUT_EFFECT]


class _Mentions:
    """Where a function assigns variables, uses and deletes them: the labels of blocks."""

    def __init__(self, blocks: dict[int, Any]) -> None:
        self._graph = compute_cfg_from_blocks(blocks)
        self._home: dict[str, int] = {}
        self._anywhere: defaultdict[str, set[int]] = defaultdict(set)
        self._deleted: defaultdict[str, set[int]] = defaultdict(set)
        self._excluded: set[str] = set()
        for label in sorted(blocks):
            self._read(label, blocks[label].body)

    def _read(self, label: int, statements: list[Any]) -> None:
        for statement in statements:
            if isinstance(statement, Del):
                self._mention(statement.value, label)
                self._deleted[statement.value].add(label)
                continue
            for variable in statement.list_vars():
                if not isinstance(statement, Assign) or variable is not statement.target:
                    self._mention(variable.name, label)
            if isinstance(statement, Assign):
                self._assign(statement.target.name, label)

    def _mention(self, name: str, label: int) -> None:
        self._anywhere[name].add(label)
        if name not in self._home:
            self._excluded.add(name)

    def _assign(self, name: str, label: int) -> None:
        if name in self._home:
            self._excluded.add(name)
        self._home[name] = label

    def assigned_before_use(self) -> list[str]:
        """The variables with one assignment, which comes before all other mentions, whatever way a function takes."""
        before = self._graph.dominators()
        return [
            name
            for name, label in self._home.items()
            if name not in self._excluded and all(label in before.get(other, ()) for other in self._anywhere[name])
        ]

    def is_deleted_twice(self, name: str) -> bool:
        """Whether there is a way from where a variable is deleted to where it is again, without a new assignment."""
        seen = {self._home[name]}
        ahead = [after for label in self._deleted[name] for after, _ in self._graph.successors(label)]
        while ahead:
            label = ahead.pop()
            if label not in seen:
                if label in self._deleted[name]:
                    return True
                seen.add(label)
                ahead.extend(after for after, _ in self._graph.successors(label))
        return False


def _lower_range(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """range(…): its start, stop and step."""
    number = context.get_value_type(signature.return_type.dtype)
    start, stop, step = (number(0), *arguments, number(1)) if len(arguments) < 2 else (*arguments, number(1))[:3]
    return _filled(context, builder, signature.return_type, (start, stop, step))


def _filled(context: Any, builder: Any, of: Any, fields: Any) -> Any:
    """A value with these fields."""
    value = ir.Constant(context.get_value_type(of), ir.Undefined)
    for i, field in enumerate(fields):
        value = builder.insert_value(value, field, i)
    return value


def _lower_iteration(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """What goes over a range: places of the next number and of how many there are left, and its stop and step."""
    start, stop, step = (builder.extract_value(arguments[0], i) for i in (_START, _STOP, _STEP))
    zero, one = start.type(0), start.type(1)
    length = builder.sub(stop, start)
    is_forward = builder.icmp_signed(">", length, zero)
    if _is(step, 1):
        n = builder.select(is_forward, length, zero)
    else:
        if not isinstance(step, ir.Constant) or _is(step, 0):
            with cgutils.if_unlikely(builder, builder.icmp_signed("==", step, zero)):
                context.call_conv.return_user_exc(builder, ValueError, ("range() arg 3 must not be zero",))
        left = builder.srem(length, step)
        left = builder.select(is_forward, left, builder.neg(left))
        rest = builder.select(builder.icmp_signed(">", left, zero), one, zero)
        is_empty = builder.xor(is_forward, builder.icmp_signed(">", step, zero))
        n = builder.select(is_empty, zero, builder.add(builder.sdiv(length, step), rest))
    places = cgutils.alloca_once_value(builder, start), cgutils.alloca_once_value(builder, n)
    return _filled(context, builder, signature.return_type, (places[0], stop, step, places[1]))


def _lower_next(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The next number of a range, and whether there is one."""
    at, step, left = (builder.extract_value(arguments[0], i) for i in (0, 2, 3))
    number, n = builder.load(at), builder.load(left)
    builder.store(builder.sub(n, n.type(1), flags=["nsw"]), left)
    builder.store(builder.add(number, step), at)
    return _filled(context, builder, signature.return_type, (number, builder.icmp_signed(">", n, n.type(0))))


for _range, _iterator in _RANGES:
    for _n in (1, 2, 3):
        registry.lower(range, *[_range.dtype] * _n)(_lower_range)
    registry.lower("getiter", _range)(_lower_iteration)
    registry.lower("iternext", _iterator)(_lower_next)
