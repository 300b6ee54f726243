"""The decorators of kernels, and which code runs: what was built with the package, or plain Python.

Kernels are compiled when the package is built (`compiler` in the repository), for the signatures of
`compiler/signatures.py`, into the extension module `gapgram._kernels`. No fast-math, so that results never vary.
Other threads run while a kernel does, unless it is brief.

GAPGRAM_KERNELS says which code runs:

    built       the extension module; the default
    python      the functions as they are written, slowly, under any debugger; the default, with a warning, where there
                is no extension module that this machine can run
    numba       compiled by Numba when they are called, for development: `NUMBA_BOUNDSCHECK=1` checks all bounds
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gapgram.errors import KernelWarning, UsageError

_HERE = Path(__file__).parent
_CLONE = _HERE.parents[2]


def _mode() -> str:
    """Which code runs."""
    wanted = os.environ.get("GAPGRAM_KERNELS", "")
    if wanted not in ("", "built", "python", "numba"):
        raise UsageError(f"GAPGRAM_KERNELS={wanted}: expected built, python or numba")
    if wanted == "numba":
        if not (_CLONE / "compiler").is_dir():
            raise UsageError("GAPGRAM_KERNELS=numba is for a clone of the repository: expected built or python")
        sys.path.append(str(_CLONE))
    if wanted in ("python", "numba"):
        return wanted
    try:
        library: Any = import_module("gapgram._kernels")
    except ImportError as error:
        if wanted:
            raise UsageError(f"GAPGRAM_KERNELS=built: {error}") from None
        warnings.warn(f"{_WITHOUT}: {error}", KernelWarning, stacklevel=2)
        return "python"
    if (_CLONE / "compiler").is_dir() and getattr(library, "KERNELS", "") != digest_of_kernels():
        raise UsageError(
            f"{library.__file__} was built of other kernels than those in {_HERE}: build it anew (python -m compiler "
            f"in {_CLONE}), or say GAPGRAM_KERNELS=python"
        )
    return "built"


def digest_of_kernels() -> str:
    """A word for the sources of all kernels, which the library has too: in a clone they change without it."""
    hashed = hashlib.blake2b(digest_size=12)
    for path in sorted(_HERE.rglob("*.py")):
        hashed.update(path.name.encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()


_WITHOUT = (
    "kernels run as plain Python, some hundred times as slow as compiled ones; install a wheel for this platform, or "
    "build the package from its source distribution (pip install --no-binary gapgram gapgram)"
)
MODE = _mode()
AS_PYTHON = MODE == "python"

_written: dict[int, tuple[Any, Callable[..., Any]]] = {}  # of each kernel the function, by the id of what is called

if MODE == "built":
    _library: Any = import_module("gapgram._kernels")
    KindError: type[TypeError] = _library.KindError
else:

    class KindError(TypeError):  # type: ignore[no-redef]
        """The arguments are not of the kinds that a kernel was compiled for."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function run as machine code."""
    return _made(function, "")


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose code those that call it always take into their own."""
    return _made(function, "alwaysinline")


def noinline(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose code stays apart from that of those that call it: one of the large steps, or seldom called."""
    return _made(function, "noinline")


def host_callable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A small function of kernels that Python calls as it is written."""
    return _made(function, "alwaysinline") if MODE == "numba" else _remembered(function, function)


def brief(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of a few hundred nanoseconds: other threads of Python wait, and memory is taken from the stack.

    Arrays of int8 that it returns become bytes.
    """
    if MODE == "built":
        return _made(function, "")
    return _remembered(_partly(_made(function, "")), function)


def _made(function: Callable[..., Any], inlining: str) -> Callable[..., Any]:
    if MODE == "python":
        return _remembered(np.errstate(over="ignore")(function), function)  # hashes overflow on purpose
    if MODE == "numba":
        return _remembered(dispatcher_of(function, inlining), function)
    name = name_of(function)
    return _remembered(_library.kernels.get(name) or _not_in_the_table(name), function)


def _remembered(made: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    _written[id(made)] = made, function
    return made


def name_of(function: Callable[..., Any]) -> str:
    """The name of a kernel in the table of signatures: its module within `gapgram.kernels`, and its own."""
    return f"{function.__module__.removeprefix('gapgram.kernels.')}.{function.__name__}"


def function_of(value: Any) -> Callable[..., Any] | None:
    """The function that a kernel was made of; None where a value is no kernel."""
    made, function = _written.get(id(value), (None, None))
    return function if made is value else None


def _not_in_the_table(name: str) -> Callable[..., Any]:
    """What stands for a kernel that only other kernels call."""

    def refuse(*arguments: Any) -> Any:
        from gapgram.kernels.kinds import found_kinds

        raise KindError(
            f"kernel {name} was not built for calls from Python: name it in the table of compiler/signatures.py; "
            f"found ({found_kinds(arguments)})"
        )

    return refuse


def explain(name: str, signatures: list[str], arguments: tuple[Any, ...]) -> str:
    """The message where a kernel is called with arguments of kinds that it was not built for."""
    from gapgram.kernels.kinds import found_kinds

    return f"kernel {name} was built for ({' or '.join(signatures)}): found ({found_kinds(arguments)})"


def bind(wanted: Callable[..., Any], constants: tuple[Any, ...]) -> Callable[..., Any]:
    """A kernel whose first arguments are given once."""
    if MODE == "built":
        bound: Callable[..., Any] = _library.bind(wanted, constants)
        return bound
    return partial(wanted, *constants)


def _partly(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a brief kernel takes and gives, where it is not built."""

    @wraps(function)
    def call(*arguments: object) -> Any:
        found = function(*(_as_bytes(each) for each in arguments))
        if not isinstance(found, tuple):
            return found
        return tuple(each.tobytes() if getattr(each, "dtype", None) == np.int8 else each for each in found)

    return call


def _as_bytes(argument: Any) -> Any:
    """A string as the line that the extension module would make of it."""
    if not isinstance(argument, str):
        return argument
    if "\n" in argument:
        raise KindError("a line of text has no newline")
    return f"{argument}\n".encode()


def dispatcher_of(function: Callable[..., Any], inlining: str) -> Any:
    """A function as Numba compiles it; `compiler` puts its own in the place of this one."""
    import numba

    own = sys.modules.get("compiler.target")
    if own is not None:
        return own.dispatcher_of(function, inlining)
    return numba.njit(nogil=True, cache=True)(function)
