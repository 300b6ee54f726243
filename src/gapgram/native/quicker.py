"""Numba's compiler with less to do, and the same results: what is left out took a tenth of the time of compiling."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numba.core import types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.ir import Expr, FreeVar, Global, Inst, Var
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

_NOTHING, _VARIABLE, _INSTRUCTION, _LIST, _DICT = range(5)
_KINDS = ((Var, _VARIABLE), (Inst, _INSTRUCTION), ((list, tuple), _LIST), (dict, _DICT))
_kind_of: dict[type, int] = {}


def replace_slow_functions() -> None:
    """Put the functions below in the place of Numba's."""
    Inst._rec_list_vars = _variables_in
    TargetConfig.__eq__ = _are_equal
    TargetConfig.__hash__ = _hash_of


def _kind(of: type) -> int:
    found = next((kind for classes, kind in _KINDS if issubclass(of, classes)), _NOTHING)
    _kind_of[of] = found
    return found


def _variables_in(self: Any, value: Any) -> list[Any]:
    """The variables in what an instruction holds: the kind of a value is looked up by its class."""
    found: list[Any] = []
    _add_variables(value, found)
    return found


def _add_variables(value: Any, found: list[Any]) -> None:
    of = type(value)
    kind = _kind_of[of] if of in _kind_of else _kind(of)
    if kind == _VARIABLE:
        found.append(value)
    elif kind == _INSTRUCTION:
        found += value.list_vars()
    elif kind != _NOTHING:
        for each in value if kind == _LIST else value.values():
            _add_variables(each, found)


def _assigned(state: Any) -> Any:
    """The variables of a function to which something is assigned, and what."""
    for block in state.func_ir.blocks.values():
        for statement in block.body:
            if hasattr(statement, "value") and hasattr(statement, "target"):
                yield statement.target, statement.value


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlineClosures(InlineClosureLikes):  # type: ignore[misc]
    """Only for functions that hold closures, lists made in loops, or reductions."""

    _name = "gapgram_inline_closures"

    def run_pass(self, state: Any) -> bool:
        for _, value in _assigned(state):
            closes = isinstance(value, Expr) and value.op in ("make_function", "build_list")
            if closes or (isinstance(value, (Global, FreeVar)) and value.value is reduce):
                return bool(super().run_pass(state))
        return False


@register_pass(mutates_CFG=True, analysis_only=False)
class _RewriteArrays(NopythonRewrites):  # type: ignore[misc]
    """Only for functions that hold expressions of arrays, which are made one loop."""

    _name = "gapgram_rewrite_arrays"

    def run_pass(self, state: Any) -> bool:
        for target, value in _assigned(state):
            if isinstance(value, Expr) and isinstance(state.typemap.get(target.name), types.Array):
                of_arrays = value.op in ("binop", "inplace_binop", "unary")
                if of_arrays or (value.op == "call" and _is_ufunc(state.typemap.get(value.func.name))):
                    return bool(super().run_pass(state))
        return False


def _is_ufunc(function: Any) -> bool:
    return isinstance(getattr(function, "typing_key", None), np.ufunc)


_INSTEAD = {InlineClosureLikes: _InlineClosures, NopythonRewrites: _RewriteArrays}


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler, but for passes over functions that hold nothing for them."""

    def define_pipelines(self) -> list[Any]:
        """Numba's passes, some of them replaced."""
        made = DefaultPassBuilder.define_nopython_pipeline(self.state)
        made.passes = [(_INSTEAD.get(each, each), why) for each, why in made.passes]
        made._finalized = False
        made.finalize()
        return [made]


_slow_equal = TargetConfig.__eq__


def _are_equal(self: Any, other: Any) -> Any:
    """Options that were set alike are equal without a look at all that were not."""
    return True if type(self) is type(other) and self._values == other._values else _slow_equal(self, other)


def _hash_of(self: Any) -> int:
    """Numba's own hash, of the names of all options, is the same for all objects of a class."""
    return hash(type(self))
