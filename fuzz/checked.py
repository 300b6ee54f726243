"""Kernels that say where they read or write outside of an array: bounds checks, and a sanitizer of LLVM's.

    python -m fuzz.checked address --inputs 1000        # or thread; then the options of fuzz.run
    python -m fuzz.checked thread --run fuzz.threads --seconds 60

The library for C, which `python -m compiler.library address` builds with a sanitizer:

    GAPGRAM_LIBRARY=build/library/address/libgapgram.so python -m fuzz.checked address --reader library

A mapped file has no edges that a sanitizer could watch between its sections: each section becomes an array with
memory of its own.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

NAME = "gapgram._kernels"
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=16",
    "TSAN_OPTIONS": f"report_bugs=1:suppressions={Path(__file__).with_name('threads.supp')}",
    "PYTHONMALLOC": "malloc",  # so that the bytes of Python's objects are watched, too
}


def use(library: str) -> None:
    """Let a library stand for the one of the package; before anything of gapgram is imported."""
    import gapgram  # whose own library is loaded with the first kernel

    spec = importlib.util.spec_from_file_location(NAME, library)
    if NAME in sys.modules or spec is None or spec.loader is None:
        raise ImportError(f"{library} comes too late, or is no library of kernels")
    sys.modules[NAME] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    gapgram._kernels = module  # type: ignore[attr-defined]

    from gapgram.system.section_rules import Section

    mapped = Section.array_in

    def array_in(section: Section, memory: Any) -> Any:
        array = mapped(section, memory)
        if array.flags.writeable:  # a file that is being made
            return array
        array = array.copy()
        array.flags.writeable = False
        return array

    Section.array_in = array_in  # type: ignore[method-assign,assignment]


def main() -> None:
    """Run a fuzzer with a library that is built if need be."""
    from compiler.build import build_checked
    from llvmlite.binding import llvm_version_info

    sanitizer, *rest = sys.argv[1:]
    module = "fuzz.run"
    if rest[:1] == ["--run"]:
        module, rest = rest[1], rest[2:]
    library = build_checked(sanitizer, sys.stderr)
    runtime = f"libclang_rt.{sanitizer[0]}san-{platform.machine()}.so"
    command = [f"clang-{llvm_version_info[0]}", f"-print-file-name={runtime}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    environment = {**os.environ, **OPTIONS, "FUZZ_LIBRARY": str(library), "LD_PRELOAD": found}
    os.execve(sys.executable, [sys.executable, "-m", module, *rest], environment)


if __name__ == "__main__":
    main()
