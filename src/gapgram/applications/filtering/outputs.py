"""Files that grow piece by piece in a work folder, go on after an interruption, and take their places when whole."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

from gapgram.system.atomic_file import check_writable, move_into_place


class Output:
    """Where what is kept goes: here, standard output, of which nothing can be taken back."""

    def append(self, payload: Any) -> None:
        """Add what a piece gave."""
        sys.stdout.buffer.write(payload)
        sys.stdout.buffer.flush()

    def mark(self) -> Any:
        """Have all on disk that was added so far; what to come back to, as a plain value."""

    def finish(self) -> None:
        """Put the file in its place."""

    def close(self) -> None:
        """Leave what was written as it is."""


class GrowingFile(Output):
    """Bytes that are appended in a file of the work folder; `mark` is how many there are."""

    def __init__(self, aside: Path, target: Path, mark: int | None) -> None:
        check_writable(target)
        self._aside, self._target = aside, target
        self._file: BinaryIO = aside.open("r+b" if mark else "wb")
        self._file.truncate(mark or 0)
        self._file.seek(0, os.SEEK_END)

    def append(self, payload: bytes) -> None:
        self._file.write(payload)

    def mark(self) -> int:
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def finish(self) -> None:
        self.mark()
        self._file.close()
        move_into_place(self._aside, self._target)

    def close(self) -> None:
        self._file.close()


def target_of(output: Path, name: str, *, split: bool) -> Path:
    """The file of an output; of a bucket with its name before the suffixes.

    >>> str(target_of(Path("a/web.jsonl.gz"), "head", split=True))
    'a/web.head.jsonl.gz'
    """
    if not split:
        return output
    stem, dot, suffixes = output.name.partition(".")
    return output.with_name(f"{stem}.{name}{dot}{suffixes}")
