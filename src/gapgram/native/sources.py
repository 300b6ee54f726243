"""The sources that the machine code of a kernel depends on: its module and all that this imports of gapgram."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import xxhash

_PACKAGE = Path(__file__).parent.parent
_IMPORT = re.compile(r"^from gapgram\.([\w.]+) import", re.MULTILINE)  # the only way in which kernels import others


@cache
def digest_of(source: Path) -> str:
    """A word that is another one where a source that a module of kernels can reach is another one."""
    hashed = xxhash.xxh3_64()
    for path in sorted(_reached_from(source)):
        hashed.update(f"{path.stem}\0".encode() + path.read_bytes())
    return hashed.hexdigest()


def _reached_from(source: Path) -> set[Path]:
    reached, waiting = set[Path](), [source]
    while waiting:
        path = waiting.pop()
        if path not in reached and path.exists():
            reached.add(path)
            waiting += [_path_of(name) for name in _IMPORT.findall(path.read_text("utf-8"))]
    return reached


def _path_of(module: str) -> Path:
    path = _PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
