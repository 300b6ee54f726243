"""Files that grow piece by piece in a work folder, go on after an interruption, and take their places when whole."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from gapgram.system.atomic_file import check_writable, move_into_place


class Output(Protocol):
    """Where what is kept goes."""

    def append(self, payload: Any) -> None:
        """Add what a piece gave."""

    def mark(self) -> Any:
        """Have all on disk that was added so far; what to come back to, as a plain value."""

    def finish(self) -> None:
        """Put the file in its place."""

    def close(self) -> None:
        """Leave what was written as it is."""


class GrowingFile:
    """Bytes that are appended in a file of the work folder; `mark` is how many there are."""

    def __init__(self, aside: Path, target: Path, mark: int | None) -> None:
        check_writable(target)
        self._aside, self._target = aside, target
        self._file: BinaryIO = aside.open("r+b" if mark else "wb")
        self._file.truncate(mark or 0)
        self._file.seek(0, os.SEEK_END)

    def append(self, payload: bytes) -> None:
        """Add bytes."""
        self._file.write(payload)

    def mark(self) -> int:
        """Have all bytes on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def finish(self) -> None:
        """Give the file its name, with the permissions that a new file has, or those of the file it replaces."""
        self.mark()
        self._file.close()
        move_into_place(self._aside, self._target)

    def close(self) -> None:
        """Leave the file in the work folder."""
        self._file.close()


class Pipe:
    """Standard output: nothing of it can be taken back."""

    def append(self, payload: bytes) -> None:
        """Write bytes."""
        sys.stdout.buffer.write(payload)

    def mark(self) -> None:
        """Have who reads see it."""
        sys.stdout.buffer.flush()

    def finish(self) -> None:
        """The last bytes."""
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """Nothing: standard output is not ours to close."""


def target_of(output: Path, name: str, *, split: bool) -> Path:
    """The file of an output; of a bucket with its name before the suffixes.

    >>> str(target_of(Path("a/web.jsonl.gz"), "head", split=True))
    'a/web.head.jsonl.gz'
    """
    if not split:
        return output
    stem, dot, suffixes = output.name.partition(".")
    return output.with_name(f"{stem}.{name}{dot}{suffixes}")
