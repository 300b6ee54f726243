"""Text to files: written aside and renamed when whole, compressed as the name says."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

import zstandard

from gapgram.errors import TextError

# No name and no time inside: the same text gives the same file.
_COMPRESSORS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    ".gz": lambda raw: cast("IO[bytes]", gzip.GzipFile("", "wb", fileobj=raw, mtime=0)),
    ".bz2": lambda raw: cast("IO[bytes]", bz2.BZ2File(raw, "wb")),
    ".xz": lambda raw: cast("IO[bytes]", lzma.LZMAFile(raw, "wb")),  # noqa: SIM115 - closed by its user
    ".zst": lambda raw: cast("IO[bytes]", zstandard.ZstdCompressor(level=9).stream_writer(raw, closefd=False)),
}


@contextmanager
def text_outputs(paths: Iterable[str | Path], inputs: Iterable[str | Path] = ()) -> Iterator[list[IO[bytes]]]:
    """Files to write text to, `-` for standard output; they appear under their names together, at the end.

    If the block raises, nothing appears and files of those names stay as they were. A file that is also
    among the inputs is refused.
    """
    targets, sources = [str(path) for path in paths], list(inputs)
    for target in targets:
        _check(target, sources)
    asides = {target: _aside(target) for target in targets if target != "-"}
    try:
        with ExitStack() as stack:
            yield [stack.enter_context(_writer(target, asides.get(target))) for target in targets]
        for target, aside in asides.items():
            os.replace(aside, target)
    except OSError as error:
        raise TextError(f"{', '.join(targets)}: cannot be written: {error.strerror or error}") from None
    finally:
        for aside in asides.values():
            aside.unlink(missing_ok=True)


@contextmanager
def _writer(target: str, aside: Path | None) -> Iterator[IO[bytes]]:
    if aside is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    compressor = _COMPRESSORS.get(Path(target).suffix)
    with aside.open("wb") as raw:
        if compressor is None:
            yield raw
        else:
            with compressor(raw) as stream:
                yield stream
        raw.flush()
        os.fsync(raw.fileno())


def _aside(target: str) -> Path:
    path = Path(target)
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _check(target: str, inputs: Iterable[str | Path]) -> None:
    path = Path(target)
    if target == "-":
        return
    if path.is_dir():
        raise TextError(f"{target}: a folder; name the file to write")
    if not path.parent.is_dir():
        raise TextError(f"{target}: there is no folder {path.parent}; make it first")
    if path.exists() and any(Path(name).exists() and path.samefile(name) for name in inputs):
        raise TextError(f"{target}: is read and written at once; choose another name for the output")
