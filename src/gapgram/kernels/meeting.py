"""Threads that run one kernel together: they count without losing any, and wait for each other.

A *meeting* is an array of MEETING_NUMBERS whole numbers, 0 at first, that all of them share. Each thread calls the
kernel with its own number; what they may do side by side they divide by these numbers, or take piece by piece from a
counter, and where all must have come before any goes on, they `meet`. Who waits looks again and again for a few
microseconds, then lets other threads of the machine run in between. Where kernels run as plain Python there is one
thread alone.
"""

from __future__ import annotations

import platform
import sys

from gapgram.kernels.compiled import intrinsic, kernel

APART = 16  # numbers between two that different threads write: they are not to share a line of the cache
_ARRIVED, _TURN, STOPPED, _NEXT = 0, APART, 2 * APART, 3 * APART  # 1 at STOPPED lets nobody wait any longer
MEETING_NUMBERS = 4 * APART
_LOOKS = 500  # before a thread that waits lets others run


def add_one_by_one(array, index, n):
    """Add to a number that other threads add to; returns what it was."""
    old = array[index]
    array[index] = old + n
    return old


def raise_one_by_one(array, index, n):
    """Let a number that other threads raise, too, be n at least."""
    array[index] = max(array[index], n)


def read_now(array, index):
    """A number as other threads left it."""
    return array[index]


def let_others_run():
    """Let another thread of the machine have the processor."""


def rest_a_moment():
    """Let the processor rest for some cycles: what runs on the same core besides gets on faster."""


@intrinsic
def _teach() -> None:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import lower_builtin, type_callable

    @type_callable(add_one_by_one)
    def type_of_add(context):
        return lambda array, index, n: types.int64

    @type_callable(raise_one_by_one)
    def type_of_raise(context):
        return lambda array, index, n: types.void

    @type_callable(read_now)
    def type_of_read(context):
        return lambda array, index: types.int64

    @type_callable(let_others_run)
    def type_of_let(context):
        return lambda: types.void

    @type_callable(rest_a_moment)
    def type_of_rest(context):
        return lambda: types.void

    def address(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.gep(data, [arguments[1]])

    @lower_builtin(add_one_by_one, types.Array, types.Integer, types.Integer)
    def code_of_add(context, builder, signature, arguments):
        n = context.cast(builder, arguments[2], signature.args[2], types.int64)
        return builder.atomic_rmw("add", address(context, builder, signature, arguments), n, "seq_cst")

    @lower_builtin(raise_one_by_one, types.Array, types.Integer, types.Integer)
    def code_of_raise(context, builder, signature, arguments):
        n = context.cast(builder, arguments[2], signature.args[2], types.int64)
        builder.atomic_rmw("max", address(context, builder, signature, arguments), n, "seq_cst")
        return context.get_dummy_value()

    @lower_builtin(read_now, types.Array, types.Integer)
    def code_of_read(context, builder, signature, arguments):
        return builder.load_atomic(address(context, builder, signature, arguments), "seq_cst", 8)

    @lower_builtin(let_others_run)
    def code_of_let(context, builder, signature, arguments):
        from numba.core import cgutils

        name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    @lower_builtin(rest_a_moment)
    def code_of_rest(context, builder, signature, arguments):
        from numba.core import cgutils

        if platform.machine() in ("x86_64", "AMD64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()


@kernel
def meet(meeting, threads):
    """Wait until all threads are here."""
    if threads == 1:
        return
    turn = read_now(meeting, _TURN)
    if add_one_by_one(meeting, _ARRIVED, 1) == threads - 1:
        add_one_by_one(meeting, _ARRIVED, -threads)
        add_one_by_one(meeting, _TURN, 1)
        return
    looks = 0
    while read_now(meeting, _TURN) == turn and read_now(meeting, STOPPED) == 0:
        looks += 1
        rest_a_moment()
        if looks > _LOOKS:
            let_others_run()


@kernel
def next_piece(meeting, n):
    """Where the next n of what threads share out begin."""
    return add_one_by_one(meeting, _NEXT, n)


@kernel
def share_out_again(meeting):
    """Begin to share out from 0: called by one thread where no other takes pieces until all have met again."""
    add_one_by_one(meeting, _NEXT, -read_now(meeting, _NEXT))
