"""The machine code of a kernel: a function that Python can call with arguments of some kinds."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock

from gapgram.native.giving import give
from gapgram.native.helpers import define_helpers
from gapgram.native.kinds import Kind
from gapgram.native.loading import FUNCTIONS
from gapgram.native.memory import empty_arena, memory_module
from gapgram.native.quicker import shortcuts
from gapgram.native.taking import OBJECT, VOID, Code, take
from gapgram.native.target import TARGET, KernelDispatcher
from gapgram.native.words import WORD, WORDS, n_words, read, type_of

_BYTES_AT = bytes.__basicsize__ - 1  # where those of an object of bytes begin


class MissingFunction(ImportError):
    """The machine code needs a function that it may not find where it is loaded."""


def machine_code(
    dispatcher: KernelDispatcher,
    name: str,
    kinds: Sequence[Kind],
    *,
    n_bound: int = 0,
    is_brief: bool = False,
    optimised_twice: bool = True,
) -> bytes:
    """An object file with a function of this name, for `loading.load`.

    Before it is a line with the classes of the tuples that the function returns.

    n_bound: of the first arguments, which are given once (`loading.load_bound`): another function, `lay_out`, makes
        words of them, as bytes that Python hands to the function as what it is a method of.
    is_brief: other threads of Python wait.
    optimised_twice: LLVM takes a third longer, and a kernel of queries is faster by a tenth at most.
    """
    collecting = gc.isenabled()
    gc.disable()  # a tenth of the time would be spent on looking for what may go, and little may
    try:
        with global_compiler_lock, shortcuts():
            return _machine_code(dispatcher, name, kinds, n_bound, is_brief, optimised_twice)
    finally:
        if collecting:
            gc.enable()


def _machine_code(
    dispatcher: KernelDispatcher, name: str, kinds: Sequence[Kind], n_bound: int, is_brief: bool, optimised_twice: bool
) -> bytes:
    types = tuple(type_of(kind) for kind in kinds)
    dispatcher.compile(types)
    compiled, context = dispatcher.overloads[types], TARGET.target_context
    library = context.codegen().create_library(name)
    library.add_linking_library(compiled.library)
    module = library.create_ir_module(name)
    code = Code(context, module, name, is_brief)
    _write_function(code, compiled.fndesc, kinds, n_bound)
    if n_bound:
        _write_lay_out(code, kinds[:n_bound])
    define_helpers(module)
    library.add_ir_module(module)
    kept = {name, f"{name}.objects", f"{name}.lay_out"}
    whole = library.whole_module(kept, memory_module(has_arena=is_brief), twice=optimised_twice)
    _check_functions(whole)
    object_file: bytes = context.codegen()._tm.emit_object(whole)
    return " ".join(code.classes).encode() + b"\n" + object_file


def _write_function(code: Code, kernel: Any, kinds: Sequence[Kind], n_bound: int) -> None:
    """Take the arguments, let other threads of Python run while the kernel does unless it is brief, give the result."""
    with code.function("", OBJECT, OBJECT, OBJECT.as_pointer(), WORD, inside=False) as function:
        builder, code.elsewhere = code.builder, function.append_basic_block("elsewhere")
        bound, objects, n = function.args
        code.need(builder.icmp_signed("==", n, WORD(len(kinds) - n_bound)))
        words_of = [builder.bitcast(builder.gep(bound, [WORD(_BYTES_AT)]), WORDS)]
        for kind in kinds[:n_bound]:
            words_of.append(builder.gep(words_of[-1], [WORD(n_words(kind))]))
        for i, kind in enumerate(kinds[n_bound:]):
            words = cgutils.alloca_once(builder, WORD, WORD(n_words(kind)))
            take(code, builder.load(builder.gep(objects, [WORD(i)])), kind, words)
            words_of[n_bound + i : n_bound + i + 1] = [words]
        described = zip(kinds, kernel.argtypes, words_of, strict=False)
        arguments = [read(code.context, builder, kind, numba_type, words) for kind, numba_type, words in described]
        callee = code.context.declare_function(code.module, kernel)
        if code.is_brief:
            empty_arena(builder)
        thread = None if code.is_brief else code.call("PyEval_SaveThread", OBJECT)
        call = code.context.call_conv.call_function
        status, value = call(builder, callee, kernel.restype, kernel.argtypes, arguments)
        if not code.is_brief:
            code.call("PyEval_RestoreThread", VOID, thread)
        with builder.if_then(status.is_error, likely=False):
            _raise(code, "failed", "the kernel failed: there was not enough memory, or a number was divided by zero")
        builder.ret(give(code, kernel.restype, value))
        builder.position_at_end(code.elsewhere)
        code.call("PyErr_Clear", VOID)
        _raise(code, "mismatch", "the kernel was compiled for arguments of other kinds")


def _write_lay_out(code: Code, kinds: Sequence[Kind]) -> None:
    """A function that takes the arguments that are given once, and returns their words as bytes."""
    with code.function(".lay_out", OBJECT, OBJECT, OBJECT.as_pointer(), WORD, inside=False) as function:
        builder, code.elsewhere = code.builder, function.append_basic_block("elsewhere")
        _, objects, n = function.args
        code.need(builder.icmp_signed("==", n, WORD(len(kinds))))
        total = sum(map(n_words, kinds))
        words = first = cgutils.alloca_once(builder, WORD, WORD(max(total, 1)))
        for i, kind in enumerate(kinds):
            take(code, builder.load(builder.gep(objects, [WORD(i)])), kind, words)
            words = builder.gep(words, [WORD(n_words(kind))])
        builder.ret(code.call("PyBytes_FromStringAndSize", OBJECT, builder.bitcast(first, OBJECT), WORD(8 * total)))
        builder.position_at_end(code.elsewhere)
        code.call("PyErr_Clear", VOID)
        _raise(code, "mismatch", "the kernel was compiled for arguments of other kinds", ".lay_out")


def _raise(code: Code, error: str, message: str, where: str = "") -> None:
    """Return with an error."""
    text = cgutils.make_bytearray(f"{code.name.rsplit('.', 2)[0]}: {message}\0".encode())
    constant = cgutils.global_constant(code.module, f"{code.name}{where}.{error}", text)
    code.call("PyErr_SetString", VOID, code.object(error), code.builder.bitcast(constant, OBJECT))
    code.builder.ret(OBJECT(None))


def _check_functions(module: Any) -> None:
    """Refuse what cannot be loaded later: where a function is missing, the process would end."""
    for function in module.functions:
        name = function.name
        if function.is_declaration and name not in FUNCTIONS and not name.startswith("llvm."):
            raise MissingFunction(name)
