"""Kernels that go into one object file: those of one module of `gapgram.kernels`."""

from __future__ import annotations

import ast
import hashlib
import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from compiler.signatures import Array, Bundle, Kind, Signature, signatures
from gapgram.kernels.kinds import DTYPES

HERE = Path(__file__).parent
ROOT = HERE.parent
SOURCES = ROOT / "src"


class Form(NamedTuple):
    """A line of the table that `module.c` reads, `struct form` of `module.h`."""

    kernel: str
    text: str
    arguments: str
    results: str
    is_brief: bool
    symbol: str


# What is optimised together shares what it calls: the folders of `gapgram.kernels` that make one object file. A folder
# that is not named is one by itself.
TOGETHER = {"queries": ("tables", "probability", "topk", "sampling", "backoff")}
_TOOLS = "kinds", "target", "lanes", "intrinsics", "entries", "memory", "optimise"  # that object files depend on
HOT = "queries", "queries_compact"  # worth another build for newer processors


class Group(NamedTuple):
    """The kernels of an object file that Python calls."""

    package: str
    name: str
    signatures: tuple[Signature, ...]

    def digest(self, versions: str) -> str:
        """A word that is another one where anything that the object file is made of is another one."""
        hashed = hashlib.blake2b(versions.encode(), digest_size=12)
        for path in (*(HERE / f"{name}.py" for name in _TOOLS), *sorted(self.sources())):
            hashed.update(path.name.encode() + b"\0" + path.read_bytes())
        hashed.update(repr(self.signatures).encode())
        return hashed.hexdigest()

    def sources(self) -> set[Path]:
        """The sources of its kernels and of all that these import."""
        modules = {each.kernel.rpartition(".")[0] for each in self.signatures}
        return set().union(*(reached_from(_path_of(f"{self.package}.{module}")) for module in modules))

    def weight(self) -> int:
        """How long it may take, beside others: the bytes of the sources, for each signature."""
        return sum(path.stat().st_size for path in self.sources()) * (2 + len(self.signatures))


def groups(package: str = "gapgram.kernels", table: Mapping[str, str] | None = None) -> list[Group]:
    """All of them; or those of another package with a table of its own, as tests have."""
    found: dict[str, list[Signature]] = {}
    of_folder = {folder: name for name, folders in TOGETHER.items() for folder in folders}
    for each in signatures(table):
        folder = each.kernel.partition(".")[0]
        name = of_folder.get(folder, folder) + ("_compact" if any(map(_is_compact, each.kinds)) else "")
        found.setdefault(name, []).append(each)
    return [Group(package, name, tuple(found[name])) for name in sorted(found)]


def _is_compact(kind: Kind) -> bool:
    """Whether an argument holds tables in the compact layout: kernels share little with those of the other."""
    if not isinstance(kind, Bundle):
        return False
    if kind.name == "Tables":
        return isinstance(kind.kinds[kind.fields.index("packed")], Array)
    return any(map(_is_compact, kind.kinds))


def reached_from(source: Path) -> set[Path]:
    """A source and all that it imports of gapgram when it is imported."""
    reached, waiting = set[Path](), [source]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += _imported(path)
    return reached


@cache
def _imported(path: Path) -> list[Path]:
    tree = ast.parse(path.read_text("utf-8"))
    froms = [(str(each.module), each.names) for each in tree.body if isinstance(each, ast.ImportFrom)]
    names = [name for module, some in froms for name in (module, *(f"{module}.{one.name}" for one in some))]
    return [found for name in names if name.startswith("gapgram.") and (found := _path_of(name)).exists()]


def _path_of(module: str) -> Path:
    path = (SOURCES if module.startswith("gapgram.") else ROOT).joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def letters_of(kind: Kind) -> str:
    """A kind as `module.c` reads it."""
    if isinstance(kind, Bundle):
        return f"({''.join(map(letters_of, kind.kinds))})"
    if isinstance(kind, Array):
        return f"{'G' if kind.gaps else 'A'}{dtype_letter(kind.dtype)}{kind.dimensions}"
    return {"bool": "b", "int": "i", "unsigned": "u", "float": "f", "none": "n", "bytes": "y", "line": "s"}[kind]


def dtype_letter(dtype: str) -> str:
    """The letter of a type of NumPy's."""
    return chr(ord("a") + DTYPES.index(dtype))


def translate(group: Group) -> tuple[bytes, list[Form]]:
    """The module of all kernels of a group, as LLVM's bitcode, and what the table says of each."""
    from compiler.entries import Entry
    from compiler.target import KernelDispatcher, linked

    entries, forms = [], []
    for signature in group.signatures:
        module, _, name = signature.kernel.rpartition(".")
        kernel = getattr(importlib.import_module(f"{group.package}.{module}"), name)
        if not isinstance(kernel, KernelDispatcher):
            kernel = getattr(kernel, "__wrapped__", None)  # of a brief kernel
        if not isinstance(kernel, KernelDispatcher):
            raise TypeError(f"{signature.kernel} is in the table of signatures and no kernel")
        entry = Entry(kernel, signature.symbol, signature.kinds, is_brief=signature.is_brief)
        entries.append(entry)
        letters = "".join(map(letters_of, signature.kinds)), entry.results
        forms.append(Form(signature.kernel, signature.text, *letters, signature.is_brief, signature.symbol))
    return linked([entry.library for entry in entries]).as_bitcode(), forms
