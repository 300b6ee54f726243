"""Kernels, compiled when the package was built: `compiler/module.c` in the repository."""

from collections.abc import Callable
from typing import Any

SOURCES: str
PROCESSOR: str
kernels: dict[str, Callable[..., Any]]

class KindError(TypeError): ...

def bind(kernel: Callable[..., Any], constants: tuple[Any, ...]) -> Callable[..., Any]: ...
