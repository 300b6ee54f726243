"""The kernels of `tests.kernels.samples` as Python calls them: built by the tool that builds those of the package."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

from compiler import signatures

from gapgram.kernels import compiled

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "samples" / "_kernels.abi3.so"  # where it is found again if nothing changed


class Samples:
    """Each kernel by its name, and how the first arguments of one are given once."""

    def __init__(self, library: ModuleType | None) -> None:
        self._module = importlib.import_module("tests.kernels.samples")
        self._library = library
        self.KindError: type[Exception] = library.KindError if library else compiled.KindError
        self.bind: Callable[..., Any] = library.bind if library else compiled.bind

    def __getattr__(self, name: str) -> Any:
        return self._library.kernels[f"samples.{name}"] if self._library else getattr(self._module, name)


def samples() -> Samples:
    """The kernels for tests as the ones of the package run: built, or as GAPGRAM_KERNELS says."""
    if compiled.MODE != "built":
        return Samples(None)
    build_apart()
    return Samples(loaded(LIBRARY))


def build_apart() -> bool:
    """Build the library in a process of its own if it is out of date; whether it was."""
    return run_apart("from tests.support.sample_kernels import build_samples; print(build_samples())") == "True\n"


def run_apart(program: str, folder: Path = ROOT) -> str:
    """What a program prints that imports `compiler`, and kernels as plain Python."""
    path = os.pathsep.join([str(folder), str(folder / "src")])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "GAPGRAM_KERNELS": "python", "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(library: Path) -> ModuleType:
    """A library as a module; one with the symbol `PyInit__kernels`, whatever package it is in."""
    loader = ExtensionFileLoader("samples._kernels", str(library))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def build_samples() -> bool:
    """Build the library if it is out of date; whether it was."""
    from compiler.build import build
    from compiler.groups import groups
    from compiler.platforms import this_platform
    from tests.kernels.samples import BUNDLES, SIGNATURES

    signatures.BUNDLES.update(BUNDLES)
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    return build(this_platform(), LIBRARY, native=True, kernels=groups("tests.kernels", SIGNATURES))
