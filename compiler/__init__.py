"""Kernels of `gapgram.kernels` made into the extension module `gapgram._kernels`, when the package is built.

    groups      which kernels go into one object file, and what it depends on
    signatures  the table of kernels that Python calls, with the kinds of their arguments
    kinds       how arguments lie in memory before a kernel is called
    target      how Numba translates kernels into LLVM's language
    lanes       loops that take eight numbers at a time, as instructions
    intrinsics  what is a few instructions, each with a twin in plain Python
    entries     a function for each kernel that C can call
    memory      the functions for memory that become part of the code
    optimise    one module optimised as a whole, for one processor
    sanitize    the same with reads and writes that are checked, for fuzzing
    platforms   the systems that wheels are made for, and the linkers that make libraries for them
    materials   what a release is made of: its bill of materials, licences and sums
    build       all of it: what is out of date is built anew, by all cores
    library     the library for C, and for WebAssembly, of the same object files
    module.c    the extension module: Python's objects to the words that kernels take, and back
    runtime.c   what kernels call
    systems.h   what headers of this system say wrongly of macOS and Windows

Nothing of this comes in a wheel. `python -m compiler` builds the library for this machine into `src/gapgram`.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))  # the package whose kernels are built is the one beside

NUMBA = "0.68.1"  # the one version whose insides `compiler.target` knows
