"""The functions that code compiled by Numba calls for memory, in terms of C's.

A kernel and what it calls run in one thread, and hand on what they made only when they return: counting who uses some
memory takes no atomic instructions.

Memory that arrays share begins with a head of six words: how many use it; whether the data lie apart, as those of lists
do, which grow; what to call with the data before they go, or null; where the data begin; their bytes; and one that is
not used.

A brief kernel takes memory from an arena of its own while there is room, one piece after the other, and gives none
back: the next call begins with the whole arena. No call comes in between, because Python's other threads wait.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from gapgram.native.taking import INT, OBJECT, VOID
from gapgram.native.words import WORD, WORDS

_HEAD_BYTES = 48
_USERS, _APART, _BEFORE, _DATA, _BYTES = 0, 1, 2, 3, 4  # words of the head
_ALIGN_BYTES = 16  # of what `malloc` gives
_LINE_BYTES = 64
_ARENA_BYTES = 1 << 18  # what one sentence needs; pages that are never touched take no memory
_ARENA, _USED = "arena", "arena.used"


@cache
def memory_module(*, has_arena: bool) -> str:
    """A module with the functions, as LLVM reads it."""
    module = ir.Module("memory")
    if has_arena:
        for name, kind in ((_ARENA, ir.ArrayType(ir.IntType(8), _ARENA_BYTES)), (_USED, WORD)):
            ir.GlobalVariable(module, kind, name).initializer = kind(None) if name == _ARENA else kind(0)
    for name, result, arguments, body in (
        ("NRT_Allocate", OBJECT, [WORD], _allocate),
        ("NRT_Free", VOID, [OBJECT], _free),
        ("NRT_MemInfo_alloc", OBJECT, [WORD], _new),
        ("NRT_MemInfo_alloc_aligned", OBJECT, [WORD, INT], _new_aligned),
        ("NRT_MemInfo_new_varsize_dtor", OBJECT, [WORD, OBJECT], _new_apart),
        ("NRT_MemInfo_varsize_realloc", OBJECT, [OBJECT, WORD], _resize),
        ("NRT_MemInfo_call_dtor", VOID, [OBJECT], _release),
        ("NRT_incref", VOID, [OBJECT], _use),
        ("NRT_decref", VOID, [OBJECT], _give_up),
        ("NRT_MemInfo_data_fast", OBJECT, [OBJECT], _find_data),
    ):
        function = ir.Function(module, ir.FunctionType(result, arguments), name)
        builder = ir.IRBuilder(function.append_basic_block())
        body(builder, *function.args)
    for often in ("NRT_incref", "NRT_decref", "NRT_MemInfo_data_fast"):
        module.globals[often].attributes.add("alwaysinline")
    return str(module)


def _use(builder: Any, head: Any) -> None:
    with builder.if_then(cgutils.is_not_null(builder, head)):
        users = _word(builder, head, _USERS)
        builder.store(builder.add(builder.load(users), WORD(1)), users)
    builder.ret_void()


def _give_up(builder: Any, head: Any) -> None:
    with builder.if_then(cgutils.is_not_null(builder, head)):
        users = _word(builder, head, _USERS)
        left = builder.sub(builder.load(users), WORD(1))
        builder.store(left, users)
        with builder.if_then(builder.icmp_signed("==", left, WORD(0)), likely=False):
            _call(builder, "NRT_MemInfo_call_dtor", VOID, head)
    builder.ret_void()


def _find_data(builder: Any, head: Any) -> None:
    builder.ret(_data(builder, head))


def _call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def empty_arena(builder: Any) -> None:
    """Let a brief kernel that begins have the whole arena; in the module of the kernel."""
    used = ir.GlobalVariable(builder.module, WORD, _USED)
    builder.store(WORD(0), used)


def _malloc(builder: Any, n_bytes: Any) -> Any:
    """Memory of the arena where there is one with room, else of C; null where there is none."""
    if _ARENA not in builder.module.globals:
        return _call(builder, "malloc", OBJECT, n_bytes)
    used, arena = builder.module.globals[_USED], builder.bitcast(builder.module.globals[_ARENA], OBJECT)
    first = builder.load(used)
    rounded = builder.and_(builder.add(n_bytes, WORD(_ALIGN_BYTES - 1)), WORD(-_ALIGN_BYTES))
    fits = builder.icmp_unsigned("<=", rounded, builder.sub(WORD(_ARENA_BYTES), first))
    memory = cgutils.alloca_once(builder, OBJECT)
    with builder.if_else(fits) as (here, elsewhere):
        with here:
            builder.store(builder.add(first, rounded), used)
            builder.store(builder.gep(arena, [first]), memory)
        with elsewhere:
            builder.store(_call(builder, "malloc", OBJECT, n_bytes), memory)
    return builder.load(memory)


def _give_back(builder: Any, memory: Any) -> None:
    """What `_malloc` gave."""
    if _ARENA not in builder.module.globals:
        _call(builder, "free", VOID, memory)
        return
    arena = builder.ptrtoint(builder.module.globals[_ARENA], WORD)
    offset = builder.sub(builder.ptrtoint(memory, WORD), arena)
    with builder.if_then(builder.icmp_unsigned(">=", offset, WORD(_ARENA_BYTES)), likely=False):
        _call(builder, "free", VOID, memory)


def _allocate(builder: Any, n_bytes: Any) -> None:
    builder.ret(_malloc(builder, n_bytes))


def _free(builder: Any, memory: Any) -> None:
    _give_back(builder, memory)
    builder.ret_void()


def _taken(builder: Any, n_bytes: Any) -> Any:
    """Memory; null is returned to the caller where there is none."""
    memory = _malloc(builder, n_bytes)
    with builder.if_then(cgutils.is_null(builder, memory), likely=False):
        builder.ret(OBJECT(None))
    return memory


def _word(builder: Any, head: Any, i: int) -> Any:
    return builder.gep(builder.bitcast(head, WORDS), [WORD(i)])


def _fill_head(builder: Any, head: Any, apart: int, before: Any, data: Any, n_bytes: Any) -> None:
    for i, word in enumerate((WORD(1), WORD(apart), before, data, n_bytes, WORD(0))):
        builder.store(word, _word(builder, head, i))


def _new(builder: Any, n_bytes: Any) -> None:
    _new_aligned(builder, n_bytes, INT(_ALIGN_BYTES))


def _new_aligned(builder: Any, n_bytes: Any, align: Any) -> None:
    """Numba asks for less than a line of the cache: data begin with one, so that no number lies in two."""
    head = _taken(builder, builder.add(n_bytes, WORD(_HEAD_BYTES + _LINE_BYTES - _ALIGN_BYTES)))
    first = builder.add(builder.ptrtoint(head, WORD), WORD(_HEAD_BYTES + _LINE_BYTES - 1))
    _fill_head(builder, head, 0, WORD(0), builder.and_(first, WORD(-_LINE_BYTES)), n_bytes)
    builder.ret(head)


def _new_apart(builder: Any, n_bytes: Any, before: Any) -> None:
    head, data = _taken(builder, WORD(_HEAD_BYTES)), _call(builder, "malloc", OBJECT, n_bytes)
    with builder.if_then(cgutils.is_null(builder, data), likely=False):
        builder.ret(OBJECT(None))
    _fill_head(builder, head, 1, builder.ptrtoint(before, WORD), builder.ptrtoint(data, WORD), n_bytes)
    builder.ret(head)


def _data(builder: Any, head: Any) -> Any:
    return builder.inttoptr(builder.load(_word(builder, head, _DATA)), OBJECT)


def _resize(builder: Any, head: Any, n_bytes: Any) -> None:
    data = _call(builder, "realloc", OBJECT, _data(builder, head), n_bytes)
    with builder.if_then(cgutils.is_not_null(builder, data)):
        builder.store(builder.ptrtoint(data, WORD), _word(builder, head, _DATA))
        builder.store(n_bytes, _word(builder, head, _BYTES))
    builder.ret(data)


def _release(builder: Any, head: Any) -> None:
    apart = builder.icmp_signed("!=", builder.load(_word(builder, head, _APART)), WORD(0))
    with builder.if_then(apart, likely=False):
        before = builder.load(_word(builder, head, _BEFORE))
        with builder.if_then(builder.icmp_signed("!=", before, WORD(0))):
            function = ir.FunctionType(VOID, [OBJECT]).as_pointer()
            builder.call(builder.inttoptr(before, function), [_data(builder, head)])
        _call(builder, "free", VOID, _data(builder, head))
    _give_back(builder, head)
    builder.ret_void()
