"""Machine code that comes with a wheel for one platform, for every processor of a kind that has been sold for years.

A wheel for all platforms has none, and nothing is looked for. Code is read here as the sources beside it are: whoever
can change the one can change the other.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "kernels" / "shipped"

# By the name of the machine: the kind of processor, as LLVM calls it, and what LLVM must find that this one has.
PROCESSORS = {
    "x86_64": (
        "x86-64-v3",
        ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf", "sse4.2", "xsave"),
    ),
}


def folder_name(machine: str, digest: str) -> str:
    """The name of the folder with code for a machine; digest: of `native`, by which the code is called."""
    return f"{sys.platform}-{PROCESSORS[machine][0]}-{object.__basicsize__}-{digest}"


def shipped_folder(
    digest: str, features: Callable[[], Mapping[str, bool]], *, within: Path = FOLDER
) -> Path | None:
    """The folder with code that this processor can run; None where there is none.

    features: asked for what this processor has, where there is code for its kind.
    """
    machine = platform.machine()
    if machine not in PROCESSORS or not within.is_dir():
        return None
    folder, has = within / folder_name(machine, digest), features()
    return folder if folder.is_dir() and all(has.get(name) for name in PROCESSORS[machine][1]) else None
