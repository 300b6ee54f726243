"""The kinds of arguments that kernels are called with, for the table of signatures.

    GAPGRAM_KERNELS=python python -m tests.support.met_kinds train TEXT -o MODEL

runs a command with kernels as plain Python, and prints each kernel that Python called with kinds that are not in the
table, and these.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from compiler.signatures import Array, Bundle, Kind, signatures

from gapgram.kernels import compiled
from gapgram.kernels.kinds import found_kinds

called: set[str] = set()
missing: set[str] = set()
_TABLE = defaultdict(list)
for _signature in signatures():
    _TABLE[_signature.kernel].append(_signature.kinds)


def fits(kind: Kind, value: Any) -> bool:
    """Whether a value is of a kind, as the extension module finds it."""
    if isinstance(kind, Bundle):
        return isinstance(value, tuple) and len(value) == len(kind.kinds) and all(map(fits, kind.kinds, value))
    if isinstance(kind, Array):
        return (
            isinstance(value, np.ndarray) and (value.dtype.name, value.ndim) == (kind.dtype, kind.dimensions)
            and (kind.gaps or value.flags.c_contiguous)
        )  # fmt: skip
    whole = isinstance(value, int | np.integer)
    return {
        "none": value is None, "bool": isinstance(value, bool),
        "int": whole and not isinstance(value, np.uint64), "unsigned": isinstance(value, np.uint64),
        "float": whole or isinstance(value, float | np.floating), "bytes": isinstance(value, bytes),
        "line": isinstance(value, bytes | str),
    }[kind]  # fmt: skip


def note_calls() -> None:
    """Note from now on what kernels are called with that are imported from now on."""
    own = compiled._made

    def made(function: Callable[..., Any], inlining: str) -> Callable[..., Any]:
        kernel, name = own(function, inlining), compiled.name_of(function)

        @wraps(function)
        def call(*arguments: Any) -> Any:
            caller = str(sys._getframe(1).f_globals["__name__"])
            if not caller.startswith("gapgram.kernels.") or caller == compiled.__name__:
                called.add(name)
                forms = [kinds for kinds in _TABLE[name] if len(kinds) == len(arguments)]
                if not any(all(map(fits, kinds, arguments)) for kinds in forms):
                    missing.add(f"{name}: {found_kinds(arguments)}")
            return kernel(*arguments)

        return compiled._remembered(call, function)

    compiled._made = made


if __name__ == "__main__":
    note_calls()
    from gapgram.cli.main import main

    try:
        main()
    finally:
        sys.stderr.writelines(f"{each}\n" for each in sorted(missing))
