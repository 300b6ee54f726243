"""Files written aside and renamed, so that a name never stands for half a file."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from gapgram.errors import ModelFileError


def check_place(path: str | Path, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse a place where no file can be written, or that holds what is read; worth asking before long work."""
    path = Path(path)
    if path.is_file() and any(os.path.exists(i) and os.path.samefile(i, path) for i in inputs):
        raise ModelFileError(f"{path}: is read and would be replaced; name another file to write")
    if not path.parent.is_dir():
        raise ModelFileError(f"{path}: the folder {path.parent} does not exist; make it first")
    if path.is_dir():
        raise ModelFileError(f"{path}: a folder; name a file to write")
    if path.exists() and not path.is_file():
        raise ModelFileError(f"{path}: not a plain file; name a file to write")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ModelFileError(f"{path}: the folder {path.parent} may not be written to")


@contextlib.contextmanager
def written_aside(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its final name only when all went well; where that is a link, what it leads to does."""
    check_place(path)
    path, aside = Path(os.path.realpath(path)), None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".unfinished", dir=path.parent)
        aside = Path(name)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        give_usual_permissions(aside)
        aside.replace(path)
        aside = None
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        if aside is not None:
            aside.unlink(missing_ok=True)


def give_usual_permissions(path: Path) -> None:
    """Let others read a file as they may read any new one; temporary files are private."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def cannot_write(path: Path, error: OSError, outcome: str = "; nothing was kept") -> ModelFileError:
    """What to say of a file that could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ModelFileError(f"{path}: no room left while writing ({error.strerror}){outcome}")
    return ModelFileError(f"{path}: cannot be written: {error.strerror}")
