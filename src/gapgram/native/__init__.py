"""Machine code of kernels: compiled by Numba, kept on disk, called from Python without Numba.

    kinds       what the arguments of a kernel are; it is compiled once for each combination
    target      how Numba compiles kernels: all that one needs is optimised together, once
    words       how arguments lie in memory before a kernel is called
    taking      Python's objects to words
    giving      results to Python's objects
    memory      the functions that Numba's code calls for memory, and
    helpers     the other functions that it calls
    compiling   the machine code of a kernel
    loading     machine code made into a function of Python
    sources     which sources it depends on
    store       where it is kept
    shipped     code that came with the wheel
    quicker         Numba's compiler with less to do
    remembering     and with a memory for types
    array_values    and with arrays that are values
    new_arrays      and with no function for each kind of array that is made
    writing         and with fewer instructions for LLVM
    lanes           loops that take eight numbers at a time

Only `kinds`, `loading`, `sources`, `store` and `shipped` are needed, and no Numba, where all that is called was
compiled before.
"""

from collections.abc import Callable

TARGET_NAME = "gapgram"  # of what Numba compiles for, when it compiles kernels
on_first_compilation: list[Callable[[], None]] = []  # called once, when a kernel is compiled rather than found on disk
