"""Results by what they depend on: one small JSON file each, so that a study goes on where it stopped."""

from __future__ import annotations

import json
import os
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import gapgram
from gapgram.errors import UsageError

Values = dict[str, Any]


@cache
def program_digest() -> str:
    """Of the source that results are computed with, so that a changed program does not find its old results."""
    study, package = Path(__file__).parent, Path(gapgram.__file__).parent
    folders = (
        "classes", "compression", "counting", "counts", "estimation", "kernels", "models", "queries", "system", "text",
        "training",
    )  # fmt: skip
    sources = sorted(path for folder in folders for path in (package / folder).rglob("*.py"))
    sources += sorted(package.glob("*.py"))
    sources += [study / name for name in ("protocols.py", "statistics.py", "texts.py")]
    return sha256(b"\0".join(path.read_bytes() for path in sources if path.is_file())).hexdigest()[:16]


class Cache:
    """A folder of results. A file holds what its result depends on, the result and the seconds it took; its
    name is the hash of the first. `seconds` adds up those of all results that were got or put.

    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()))
    >>> cache.get({"order": 3}) is None
    True
    >>> cache.put({"order": 3}, {"perplexity": 97.5})
    >>> cache.get({"order": 3})
    {'perplexity': 97.5}
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.seconds = folder, 0.0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_aside(folder / ".gitignore", b"*\n")
        except OSError as error:
            raise UsageError(f"{folder}: the report cannot be written there: {error.strerror or error}") from None

    def get(self, depends: Values) -> Values | None:
        """The result, if it is there and whole."""
        try:
            stored = json.loads(self._path(depends).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        is_entry = isinstance(stored, dict) and isinstance(stored.get("values"), dict)
        if not is_entry or stored.get("depends") != depends:
            return None
        self.seconds += float(stored.get("seconds", 0.0))
        return dict(stored["values"])

    def put(self, depends: Values, values: Values, seconds: float = 0.0) -> None:
        """Keep a result."""
        self.seconds += seconds
        text = json.dumps({"depends": depends, "values": values, "seconds": seconds}, ensure_ascii=False, indent=1)
        write_aside(self._path(depends), text.encode())

    def _path(self, depends: Values) -> Path:
        name = sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{name[:32]}.json"


def write_aside(path: Path, data: bytes) -> None:
    """Write a file under another name and rename it, so that it is there whole or not at all."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        aside.write_bytes(data)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
