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

from gapgram.errors import GapgramError, ModelFileError, TextError
from gapgram.system.atomic_file import Aside, check_writable

# No name and no time inside: the same text gives the same file.
_COMPRESSORS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    ".gz": lambda raw: cast("IO[bytes]", gzip.GzipFile("", "wb", fileobj=raw, mtime=0)),
    ".bz2": lambda raw: cast("IO[bytes]", bz2.BZ2File(raw, "wb")),
    ".xz": lambda raw: cast("IO[bytes]", lzma.LZMAFile(raw, "wb")),  # noqa: SIM115 - closed by its user
    ".zst": lambda raw: cast("IO[bytes]", zstandard.ZstdCompressor(level=9).stream_writer(raw, closefd=False)),
}


def check_outputs(paths: Iterable[str | Path], inputs: Iterable[str | Path] = ()) -> None:
    """Refuse places where no file can be written, or that hold what is read; worth asking before long work."""
    sources = list(inputs)
    for path in paths:
        if str(path) == "-":
            continue
        try:
            check_writable(path, sources)
        except ModelFileError as error:
            raise TextError(str(error)) from None


@contextmanager
def text_outputs(paths: Iterable[str | Path], inputs: Iterable[str | Path] = ()) -> Iterator[list[IO[bytes]]]:
    """Files to write text to, `-` for standard output; they appear under their names together, at the end.

    If the block raises, nothing appears and files of those names stay as they were. A file that is also
    among the inputs is refused.
    """
    targets = [str(path) for path in paths]
    check_outputs(targets, inputs)
    asides: dict[str, Aside] = {}
    try:
        asides.update((target, Aside(target)) for target in targets if target != "-")
        with ExitStack() as stack:
            yield [stack.enter_context(_writer(target, asides.get(target))) for target in targets]
        for aside in asides.values():
            aside.put_in_place()
    except GapgramError:
        raise
    except OSError as error:
        raise TextError(f"{', '.join(targets)}: cannot be written: {error.strerror or error}") from None
    finally:
        for aside in asides.values():
            aside.discard()


@contextmanager
def _writer(target: str, aside: Aside | None) -> Iterator[IO[bytes]]:
    if aside is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    compressor = _COMPRESSORS.get(Path(target).suffix)
    with aside.path.open("wb") as raw:
        if compressor is None:
            yield raw
        else:
            with compressor(raw) as stream:
                yield stream
        raw.flush()
        os.fsync(raw.fileno())
