"""The systems that wheels are made for, and how libraries for them are linked."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from llvmlite.binding import llvm_version_info

from compiler.optimise import Processor


class Platform(NamedTuple):
    """A system: its tag in wheels, its processors, and what zig calls it."""

    tag: str
    processors: tuple[Processor, ...]  # the second one is chosen when the library is loaded, where it is there
    zig: str
    flags: tuple[str, ...] = ()  # of the compiler
    libraries: tuple[str, ...] = ()  # what is linked with
    library: str = "_kernels.abi3.so"
    sanitizer: str = ""  # and with it bounds checks, for fuzzers: "address" or "thread"

    @property
    def flags_of_c(self) -> tuple[str, ...]:
        """Those of the library for C, which knows no headers of Python's."""
        return tuple(flag for flag in self.flags if flag not in _HEADER)

    @property
    def libraries_of_c(self) -> tuple[str, ...]:
        """What the library for C is linked with."""
        if "macosx" in self.tag:
            return ("-Wl,-install_name,@rpath/libgapgram.dylib",)
        return (*self.libraries, "-Wl,-soname,libgapgram.so") if self.libraries else ()


def library_name(target: Platform) -> str:
    """The name of the shared library for C."""
    if target.tag.startswith("win"):
        return "gapgram.dll"
    return f"libgapgram.{'dylib' if 'macosx' in target.tag else 'so'}"


_INTEL, _MAC = "x86_64-unknown-linux-gnu", "apple-macosx11.0.0"
_OF_LINUX = ("-ftls-model=initial-exec",), ("-lm", "-Wl,-z,noexecstack")
_HEADER = ("-include", "systems.h")
# Python's functions are looked for where the library is loaded, which is by its place and not by a name of its own.
_OF_MACOS = _HEADER, ("-undefined", "dynamic_lookup", "-Wl,-install_name,_kernels.abi3.so")
_OF_WINDOWS = _HEADER, (), "_kernels.pyd"
PLATFORMS = {
    each.tag: each
    for each in (
        Platform(
            "manylinux_2_17_x86_64",
            (Processor(_INTEL, "x86-64-v3"), Processor(_INTEL, "x86-64-v4", "_v4")),
            "x86_64-linux-gnu.2.17", *_OF_LINUX,
        ),
        Platform(
            "manylinux_2_17_aarch64", (Processor("aarch64-unknown-linux-gnu", "generic"),), "aarch64-linux-gnu.2.17",
            *_OF_LINUX,
        ),
        Platform("macosx_11_0_arm64", (Processor(f"arm64-{_MAC}", "apple-m1"),), "aarch64-macos.11.0", *_OF_MACOS),
        Platform("macosx_11_0_x86_64", (Processor(f"x86_64-{_MAC}", "x86-64-v3"),), "x86_64-macos.11.0", *_OF_MACOS),
        Platform("win_amd64", (Processor("x86_64-pc-windows-gnu", "x86-64-v3"),), "x86_64-windows-gnu", *_OF_WINDOWS),
    )
}  # fmt: skip


class BuildError(Exception):
    """What keeps the library from being built, and what to do."""


def this_platform() -> Platform:
    """The one that this Python runs on."""
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    names = {
        ("linux", "x86_64"): "manylinux_2_17_x86_64", ("linux", "aarch64"): "manylinux_2_17_aarch64",
        ("darwin", "aarch64"): "macosx_11_0_arm64", ("darwin", "x86_64"): "macosx_11_0_x86_64",
        ("win32", "x86_64"): "win_amd64",
    }  # fmt: skip
    name = names.get((sys.platform, machine))
    if name is None:
        raise BuildError(
            f"kernels cannot be built for {sys.platform} on {machine}, only for {', '.join(PLATFORMS)}; without them "
            "kernels run as plain Python (GAPGRAM_KERNELS=python)"
        )
    return PLATFORMS[name]


def checked_platform(sanitizer: str) -> Platform:
    """This one, for a library that says where a kernel reads or writes outside, or beside another thread."""
    target, flag = this_platform(), f"-fsanitize={sanitizer}"
    for tool in (f"clang-{llvm_version_info[0]}", f"opt-{llvm_version_info[0]}"):
        if shutil.which(tool) is None:
            raise BuildError(f"a sanitizer needs {tool}, of the same LLVM as llvmlite: Debian and apt.llvm.org have it")
    return target._replace(flags=("-g", flag), libraries=("-lm", flag, "-shared-libsan"), sanitizer=sanitizer)


def library_of(target: Platform, *, native: bool) -> str:
    """The name of the library; that of a free-threaded Python, which has no stable interface, is for it alone."""
    if native and sysconfig.get_config_var("Py_GIL_DISABLED"):
        return f"_kernels{sysconfig.get_config_var('EXT_SUFFIX')}"
    return target.library


def compiler_for(target: Platform, *, native: bool) -> list[str]:
    """The command that compiles C and links, for a platform: the system's, or the one of the package ziglang."""
    if target.sanitizer:
        return [f"clang-{llvm_version_info[0]}"]
    if native and (found := _system_compiler()):
        return found
    if find_spec("ziglang") is None:
        raise BuildError(
            "no C compiler was found to link the kernels with: install one (gcc or clang), or name it in CC, or "
            "pip install ziglang"
        )
    return [sys.executable, "-m", "ziglang", "cc", "-target", target.zig]


def _system_compiler() -> list[str]:
    if sys.platform == "win32":
        return []  # the linker of Visual Studio does not know the objects' calls
    named = os.environ.get("CC", "").split()
    for words in (named, ["cc"], ["gcc"], ["clang"]):
        if words and shutil.which(words[0]):
            return words
    return []


def include_folders() -> list[Path]:
    """The folders with the headers of Python and NumPy."""
    import numpy as np

    return [Path(sysconfig.get_paths()["include"]), Path(np.get_include())]
