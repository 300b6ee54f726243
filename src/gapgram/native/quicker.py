"""Numba's compiler with less to do, and the same results.

Numba runs some thirty passes over each function, and between them looks at all variables again. Here passes that find
nothing in a kernel are left out, and what is known of variables is worked out where somebody asks. Functions are put in
the place of Numba's own only while a kernel is compiled (`shortcuts`), under Numba's lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, reduce
from typing import Any

import numpy as np
from numba.core import base, errors, lowering, typeinfer, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir import Expr, FreeVar, Global, Inst, Var
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.targetconfig import TargetConfig
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import AnnotateTypes, DumpParforDiagnostics, NativeLowering, NopythonRewrites
from numba.core.types.functions import BaseFunction
from numba.core.untyped_passes import InlineClosureLikes
from numba.np import arrayobj

from gapgram.native.array_values import make_array
from gapgram.native.remembering import get_call_type
from gapgram.native.writing import Builder, FunctionWriter

_NOTHING, _VARIABLE, _INSTRUCTION, _LIST, _DICT = range(5)
_KINDS = ((Var, _VARIABLE), (Inst, _INSTRUCTION), ((list, tuple), _LIST), (dict, _DICT))
_kind_of: dict[type, int] = {}


@contextmanager
def shortcuts() -> Iterator[None]:
    """Put the functions below in the place of Numba's for a while."""
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in _SHORTCUTS]
    for owner, name, shortcut in _SHORTCUTS:
        setattr(owner, name, shortcut)
    try:
        yield
    finally:
        for owner, name, own in kept:
            setattr(owner, name, own)


def _kind(of: type) -> int:
    kind = next((kind for classes, kind in _KINDS if issubclass(of, classes)), _NOTHING)
    _kind_of[of] = kind
    return kind


def _variables_in(self: Any, value: Any) -> list[Any]:
    """The variables in what an instruction holds: the kind of a value is looked up by its class."""
    variables: list[Any] = []
    _add_variables(value, variables)
    return variables


def _add_variables(value: Any, variables: list[Any]) -> None:
    of = type(value)
    kind = _kind_of[of] if of in _kind_of else _kind(of)
    if kind == _VARIABLE:
        variables.append(value)
    elif kind == _INSTRUCTION:
        variables += value.list_vars()
    elif kind != _NOTHING:
        for each in value if kind == _LIST else value.values():
            _add_variables(each, variables)


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


@register_pass(mutates_CFG=True, analysis_only=False)
class _Write(NativeLowering):  # type: ignore[misc]
    _name = "gapgram_write"

    @property
    def lowering_class(self) -> Any:
        return FunctionWriter


_INSTEAD = {InlineClosureLikes: _InlineClosures, NopythonRewrites: _RewriteArrays, NativeLowering: _Write}
_FOR_PEOPLE = (AnnotateTypes, DumpParforDiagnostics)  # what they make is to be read, and nobody does


class _Passes(PassManager):  # type: ignore[misc]
    """Passes without events, timers and checks of what each left."""

    def _runPass(self, index: int, each: Any, state: Any) -> None:
        each.analysis = self._analysis
        before = _jumps(state)
        each.run_initialization(state)
        each.run_pass(state)
        each.run_finalizer(state)
        if before is not None and _jumps(state) != before:
            PostProcessor(state.func_ir).run()


def _jumps(state: Any) -> dict[int, tuple[int, ...]] | None:
    """Where each block of a function leads, if it has been read."""
    if state.func_ir is None:
        return None
    return {label: tuple(block.terminator.get_targets()) for label, block in state.func_ir.blocks.items()}


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler, but for passes over functions that hold nothing for them."""

    def define_pipelines(self) -> list[Any]:
        """Numba's passes, some of them replaced."""
        made = _Passes("gapgram")
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state).passes
        made.passes = [(_INSTEAD.get(each, each), why) for each, why in usual if each not in _FOR_PEOPLE]
        made.finalize()
        return [made]


_slow_equal, _slow_run = TargetConfig.__eq__, PostProcessor.run


def _are_equal(self: Any, other: Any) -> Any:
    """Options that were set alike are equal without a look at all that were not."""
    return True if type(self) is type(other) and self._values == other._values else _slow_equal(self, other)


def _hash_of(self: Any) -> int:
    """Numba's own hash, of the names of all options, is the same for all objects of a class."""
    return hash(type(self))


def _run_lazily(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """How long variables are needed is worked out when they are to be deleted, and where a function yields."""
    function = self.func_ir
    if emit_dels or function.is_generator:
        _slow_run(self, emit_dels, extend_lifetimes)
        return
    function.blocks = canonicalize_cfg(function.blocks)
    function.variable_lifetime, function.generator_info = VariableLifetime(function.blocks), None


class _Where:
    """What is being done, to be said where it fails: `numba.core.errors.new_error_context` without a generator."""

    def __init__(self, message: str, *arguments: Any, **named: Any) -> None:
        self._message, self._arguments, self._named = message, arguments, named

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, errors.NumbaError):
            error.add_context(self._message.format(*self._arguments, **self._named))


def _no_warnings_of_types(self: Any, filename: Any = None, lineno: Any = None) -> Any:
    """Warnings are given where they come up, without a line of the kernel."""
    return nullcontext()


_SHORTCUTS = (
    (Inst, "_rec_list_vars", _variables_in),
    (TargetConfig, "__eq__", _are_equal),
    (TargetConfig, "__hash__", _hash_of),
    (PostProcessor, "run", _run_lazily),
    (vars(errors)["WarningsFixer"], "catch_warnings", _no_warnings_of_types),
    (lowering, "new_error_context", _Where),
    (lowering, "IRBuilder", Builder),
    (BaseFunction, "get_call_type", get_call_type),
    (base, "_has_loc", cache(base._has_loc)),
    (typeinfer, "new_error_context", _Where),
    (arrayobj, "make_array", make_array),
)
