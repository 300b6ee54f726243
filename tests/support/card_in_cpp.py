"""A card played by a C++ compiler: kernels written for a card (`.cu`) run on the CPU, thread by thread.

`PlayedCard` stands for the module `cupy`: NumPy, with a `RawModule` that compiles the same source with `card.h` beside
it. There each thread of a block is a thread of its own that gives way where a card would wait for others. Slow: for
tests of what kernels compute, not of how fast.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
_HEADER = Path(__file__).with_name("card.h")
_KERNEL = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\(.*\) )?(\w+)\(')
_SHARED = re.compile(r"extern __shared__ (\w+) (\w+)\[\];")


class PlayedCard:
    """NumPy, with what CuPy has besides. folder: where compiled kernels go."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._libraries: dict[tuple[Any, ...], ctypes.CDLL] = {}  # by source and options
        self.cuda = SimpleNamespace(
            Device=lambda: SimpleNamespace(attributes={}), get_current_stream=lambda: PlayedStream()
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def RawModule(self, *, code: str, options: tuple[str, ...] = ()) -> PlayedModule:
        """As CuPy's, from a C++ compiler."""
        if (code, options) not in self._libraries:
            self._libraries[code, options] = self._compiled(code, options)
        return PlayedModule(self._libraries[code, options])

    def _compiled(self, code: str, options: tuple[str, ...]) -> ctypes.CDLL:
        names = _KERNEL.findall(code)
        launch = 'extern "C" void launch_{0}(PLAYED) {{ play({0}, PLAYED_ARGUMENTS); }}\n'
        number = len(list(self._folder.iterdir()))  # of files: a library is loaded once by its name
        source = self._folder / f"{names[0]}{number}.cpp"
        kernels = _SHARED.sub(r"\1* \2 = (\1*)card.shared();", code)
        source.write_text(f'#include "{_HEADER}"\n{kernels}{"".join(map(launch.format, names))}')
        library = source.with_suffix(".so")
        defines = [option for option in options if option.startswith("-D")]
        command = [str(COMPILER), "-std=c++17", "-O1", "-ffp-contract=off", "-w", "-shared", "-fPIC", *defines]
        subprocess.run([*command, "-o", str(library), str(source)], check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(library))


class PlayedStream(nullcontext[Any]):
    """Work is done at once."""

    ptr = 0

    def __enter__(self) -> PlayedStream:
        return self


class PlayedModule:
    """Compiled kernels."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def get_function(self, name: str) -> PlayedKernel:
        """As CuPy's."""
        return PlayedKernel(getattr(self._library, f"launch_{name}"))


class PlayedKernel:
    """Called with the blocks, the threads of a block, and what the kernel takes."""

    def __init__(self, launch: Any) -> None:
        self._launch = launch

    def __call__(
        self, blocks: tuple[int], threads: tuple[int], arguments: tuple[Any, ...], *, shared_mem: int = 0,
        stream: Any = None,
    ) -> None:  # fmt: skip
        held = [_as_c(argument) for argument in arguments]
        pointers = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
        self._launch(blocks[0], threads[0], shared_mem, pointers)


def _as_c(argument: Any) -> Any:
    """An array by its address, a number of NumPy as it lies, one of Python as 64 bits."""
    if isinstance(argument, int):
        return ctypes.c_longlong(argument)
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    return np.ctypeslib.as_ctypes_type(argument.dtype)(argument.item())
