"""Text from files: plain, gzip, bzip2, xz or zstd by their first bytes, `-` for standard input."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import zstandard

from gapgram.errors import TextFileError, TextNotFoundError

BLOCK_BYTES = 1 << 22
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DECODE_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


class _ZstdStream:
    """What is inside frames of zstd; a frame that is cut off is an error, unlike in the library's own reader."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._rest, self._frame = raw, b"", self._new_frame()

    @staticmethod
    def _new_frame() -> zstandard.ZstdDecompressionObj:
        return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()

    def read(self, _size: int) -> bytes:
        """The next bytes, as many as come at once; none at the end."""
        while data := self._rest or self._raw.read(1 << 17):
            if self._frame.eof:
                self._frame = self._new_frame()
            found = self._frame.decompress(data)
            self._rest = self._frame.unused_data
            if found:
                return found
        if not self._frame.eof:
            raise EOFError("it ends inside a frame")
        return b""


_OPENERS: dict[bytes, tuple[str, Callable[[IO[bytes]], IO[bytes]]]] = {
    b"\x1f\x8b": ("gzip", lambda raw: cast("IO[bytes]", gzip.GzipFile(fileobj=raw))),
    b"BZh": ("bzip2", lambda raw: cast("IO[bytes]", bz2.BZ2File(raw))),
    b"\xfd7zXZ\x00": ("xz", lambda raw: cast("IO[bytes]", lzma.LZMAFile(raw))),  # noqa: SIM115
    b"\x28\xb5\x2f\xfd": ("zstd", lambda raw: cast("IO[bytes]", _ZstdStream(raw))),
}


@dataclass(frozen=True)
class Block:
    """Whole lines of one file: bytes that end in a newline, and the number of the first line."""

    name: str
    first_line: int
    data: bytes


def open_raw(path: str | Path) -> IO[bytes]:
    """Open a file, or standard input for `-`, with an error that says what is wrong with it."""
    if str(path) == "-":
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except FileNotFoundError:
        raise TextNotFoundError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise TextFileError(f"{path}: a folder, not a file; name the text files in it") from None
    except OSError as error:
        raise TextFileError(f"{path}: cannot be read: {error.strerror}") from None


def decompressed(raw: IO[bytes]) -> tuple[str, IO[bytes]]:
    """The kind of compression, by the first bytes, and a stream of what is inside."""
    buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", raw))
    head = buffered.peek(6)[:6]
    for magic, (kind, opener) in _OPENERS.items():
        if head.startswith(magic):
            return kind, opener(buffered)
    return "plain", buffered


def read_head(path: str | Path, size: int) -> bytes:
    """The first bytes of what is inside a file, at most `size`; no more than that is decompressed."""
    with open_raw(path) as raw:
        kind, stream = decompressed(raw)
        if kind == "zstd":  # _ZstdStream gives as much as comes at once, which may be very much
            stream = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(raw)
        try:
            return stream.read(size).removeprefix(_BYTE_ORDER_MARK)
        except _DECODE_ERRORS:
            return b""


def read_chunks(
    path: str | Path, on_bytes: Callable[[int], None] = lambda n: None, *, block_bytes: int = BLOCK_BYTES
) -> Iterator[bytes]:
    """What is inside a file, at most `block_bytes` at a time, without the byte-order mark of UTF-8.

    `on_bytes` is told how many bytes of the file on disk were read since it was last told.
    """
    raw, told = open_raw(path), 0
    try:
        kind, stream = decompressed(raw)
        for data in _chunks(display_name(path), kind, stream, block_bytes):
            if raw.seekable():
                on_bytes(raw.tell() - told)
                told = raw.tell()
            yield data
    finally:
        if str(path) != "-":
            raw.close()


def read_blocks(
    path: str | Path, on_bytes: Callable[[int], None] = lambda n: None, *, block_bytes: int = BLOCK_BYTES
) -> Iterator[Block]:
    """The lines of a file in blocks, what ends in every `block_bytes` read; a last line without a newline gets one."""
    name, line = display_name(path), 1
    rest: list[bytes] = []
    for data in read_chunks(path, on_bytes, block_bytes=block_bytes):
        cut = data.rfind(b"\n") + 1
        if cut:
            whole = b"".join([*rest, data[:cut]])
            yield Block(name, line, whole)
            line += whole.count(b"\n")
            rest = []
        if cut < len(data):
            rest.append(data[cut:])
    if rest:
        yield Block(name, line, b"".join([*rest, b"\n"]))


def display_name(path: str | Path) -> str:
    """What messages call a file."""
    return "standard input" if str(path) == "-" else str(path)


def _chunks(name: str, kind: str, stream: IO[bytes], block_bytes: int) -> Iterator[bytes]:
    # What a pipe or terminal has so far is taken at once, so that answers come line by line.
    read = stream.read1 if kind == "plain" and isinstance(stream, io.BufferedReader) else stream.read
    first = True
    while True:
        try:
            data = read(block_bytes)
        except _DECODE_ERRORS as error:
            if isinstance(error, OSError) and error.errno == errno.EISDIR:
                raise TextFileError(f"{name}: a folder, not a file; name the text files in it") from None
            raise TextFileError(f"{name}: the {kind} data is damaged or cut off: {error}") from None
        if not data:
            return
        yield data.removeprefix(_BYTE_ORDER_MARK) if first else data
        first = False
