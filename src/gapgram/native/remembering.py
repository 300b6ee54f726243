"""What Numba has found out of types, remembered: it would try all that it knows again at each call and at each name."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType
from typing import Any, ClassVar

from llvmlite.ir import Constant
from numba.core import typing
from numba.core.runtime.context import NRTContext
from numba.core.types import Array, Type
from numba.core.types.functions import BaseFunction


def n_declared(registries: Iterable[Any]) -> int:
    """How many declarations registries hold; there are only ever more."""
    return sum(len(each) for registry in registries for each in vars(registry).values() if isinstance(each, list))


class TypingContext(typing.Context):  # type: ignore[misc]
    """Numba's, with a memory."""

    def __init__(self) -> None:
        self._calls: dict[tuple[Any, Any], tuple[Any, Any]] = {}
        self._fields: dict[tuple[Any, str], Any] = {}
        self._operators: dict[Any, Any] = {}
        self._n_declared = -1
        super().__init__()

    def refresh(self) -> None:
        """Look for new declarations where there are some."""
        if self._n_declared != n_declared(self._registries):
            super().refresh()
            self._n_declared = n_declared(self._registries)
            self._operators.clear()

    def resolve_value_type(self, val: Any) -> Any:
        """The type of a value that the code names."""
        if type(val) is not BuiltinFunctionType:
            return super().resolve_value_type(val)
        if val not in self._operators:
            self._operators[val] = super().resolve_value_type(val)
        return self._operators[val]

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The types of a call."""
        known = func if isinstance(func, Type) else self._lookup_global(func)
        if kws or not isinstance(known, BaseFunction):
            return super().resolve_function_type(func, args, kws)
        return self.call_type(known, args, super().resolve_function_type)

    def call_type(self, function: Any, args: Any, find: Callable[[Any, Any, Any], Any]) -> Any:
        """The types of a call of a function; find: how they are found out the first time."""
        signature, code = self._calls.get((function, args), (None, None))
        if signature is None:
            signature = find(function, args, {})
            if signature is not None:
                self._calls[function, args] = signature, function.get_impl_key(signature)
        else:
            vars(function)["_impl_keys"][signature.args] = code  # which others who compile may have changed
        return signature

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """The types of an assignment to a place of an array."""
        return self.resolve_function_type(operator.setitem, (target, index, value), {})

    def find_matching_getattr_template(self, typ: Any, attr: str) -> Any:
        """What has an attribute of this name, and its type."""
        if (typ, attr) not in self._fields:
            self._fields[typ, attr] = super().find_matching_getattr_template(typ, attr)
        return self._fields[typ, attr]


_slow_call_type = BaseFunction.get_call_type


def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The types of a call, which Numba also asks for wherever it writes one."""
    if kws or not isinstance(context, TypingContext):
        return _slow_call_type(self, context, args, kws)
    return context.call_type(self, args, lambda function, *call: _slow_call_type(function, context, *call))


class MemoryContext(NRTContext):  # type: ignore[misc]
    """Numba's, which would look into each value for memory whose users are counted, whatever its type."""

    _holds: ClassVar[dict[Any, bool]] = {}  # whether values of a type hold some

    def _call_incref_decref(self, builder: Any, typ: Any, value: Any, funcname: str) -> None:
        if type(typ) is Array and isinstance(builder.extract_value(value, 0), Constant):
            return  # an argument, whose users Python counts
        if self.holds_memory(typ):
            super()._call_incref_decref(builder, typ, value, funcname)

    def holds_memory(self, typ: Any) -> bool:
        """Whether values of a type hold memory whose users are counted."""
        if typ not in self._holds:
            self._holds[typ] = self._context.data_model_manager[typ].contains_nrt_meminfo()
        return self._holds[typ]

    def get_meminfos(self, builder: Any, ty: Any, val: Any) -> Any:
        """The memory of a value: an array has one, and Numba would take out the other fields, too."""
        if type(ty) is Array:
            return [(ty, builder.extract_value(val, 0))]
        return super().get_meminfos(builder, ty, val)
