"""Threads that run one kernel together: they count without losing any, and wait for each other.

A *barrier* is an array of BARRIER_NUMBERS whole numbers, 0 at first, that all of them share. Each thread calls the
kernel with its own number; what they may do side by side they divide by these numbers, or take piece by piece from a
counter, and where all must have come before any goes on, they `meet`. Who waits looks again and again for a few
microseconds, then lets other threads of the machine run in between. Where kernels run as plain Python there is one
thread alone.
"""

from __future__ import annotations

from gapgram.kernels.compiled import kernel
from gapgram.kernels.intrinsics import atomic_add, atomic_load, cpu_pause, yield_thread

APART = 16  # numbers between two that different threads write: they are not to share a line of the cache
_ARRIVED, _TURN, STOPPED, _NEXT = 0, APART, 2 * APART, 3 * APART  # 1 at STOPPED lets nobody wait any longer
BARRIER_NUMBERS = 4 * APART
_LOOKS = 500  # before a thread that waits lets others run


@kernel
def wait(barrier, threads):
    """Wait until all threads are here."""
    if threads == 1:
        return
    turn = atomic_load(barrier, _TURN)
    if atomic_add(barrier, _ARRIVED, 1) == threads - 1:
        atomic_add(barrier, _ARRIVED, -threads)
        atomic_add(barrier, _TURN, 1)
        return
    looks = 0
    while atomic_load(barrier, _TURN) == turn and atomic_load(barrier, STOPPED) == 0:
        looks += 1
        cpu_pause()
        if looks > _LOOKS:
            yield_thread()


@kernel
def next_piece(barrier, n):
    """Where the next n of what threads share out begin."""
    return atomic_add(barrier, _NEXT, n)


@kernel
def restart_sharing(barrier):
    """Begin to share out from 0: called by one thread where no other takes pieces until all have met again."""
    atomic_add(barrier, _NEXT, -atomic_load(barrier, _NEXT))
