"""Compressed data as streams that account for every byte and take bounded memory, whatever the data says.

What is cut off is an error, and so is anything after a stream that does not begin another. A read never unpacks more
than it was asked for and one block, so that a small file that holds gigabytes does no harm. Data that asks its reader
to remember more than `WINDOW_BYTES` is refused.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Protocol, cast

import zstandard

WINDOW_BYTES = 128 << 20  # as much as the programs xz and zstd take by default
DECODE_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)

_READ_BYTES = 1 << 15
_ZSTD_BLOCK_BYTES = 1 << 17  # at most
_XZ_PADDING = 4


class WindowError(Exception):
    """Data that can only be unpacked with more memory than is taken for it."""

    def __init__(self, program: str) -> None:
        most = f"{WINDOW_BYTES >> 20} MiB"
        super().__init__(f"needs more than {most} of memory to be unpacked: unpack it first ({program})")


class _Decompressor(Protocol):
    """What the decompressors of bz2 and lzma have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Raw(io.RawIOBase):
    """The unbuffered side of a stream: `_next` gives some bytes, none at the end."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _next(self, most: int) -> bytes:
        raise NotImplementedError


class _Streams(_Raw):
    """Streams of bzip2 or xz one after the other."""

    def __init__(self, source: IO[bytes], new: Callable[[], _Decompressor], padding: int = 0) -> None:
        super().__init__(source)
        self._new, self._padding, self._stream = new, padding, new()

    def _next(self, most: int) -> bytes:
        rest = b""
        while True:
            if self._stream.eof:
                rest = self._after_padding()
                if not rest:
                    return b""
                self._stream = self._new()
            elif self._stream.needs_input:
                rest = self._source.read(_READ_BYTES)
                if not rest:
                    raise EOFError("it ends inside a stream")
            data = self._unpacked(rest, most)
            if data:
                return data
            rest = b""

    def _unpacked(self, data: bytes, most: int) -> bytes:
        try:
            return self._stream.decompress(data, most)
        except lzma.LZMAError as error:
            if "limit" in str(error):  # of the memory it may take
                raise WindowError("xz -d") from None
            raise

    def _after_padding(self) -> bytes:
        """The bytes that follow a stream, without the zeros that may stand before another one."""
        rest, skipped = self._stream.unused_data or self._source.read(_READ_BYTES), 0
        while self._padding and rest and not rest.strip(b"\0"):
            skipped, rest = skipped + len(rest), self._source.read(_READ_BYTES)
        if self._padding:
            left = rest.lstrip(b"\0")
            skipped, rest = skipped + len(rest) - len(left), left
            if skipped % self._padding:
                raise EOFError(f"{skipped} zeros after a stream")
        return rest


class _Zstd(_Raw):
    """Frames of zstd one after the other, unpacked block by block: the library unpacks all it is given at once."""

    _FRAME, _SKIPPED = b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__(source)
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._checksum, self._found = False, b""

    def _next(self, most: int) -> bytes:
        while not self._found:
            if self._frame is not None:
                self._found = self._block(self._frame)
            elif not self._begin():
                return b""
        data, self._found = self._found[:most], self._found[most:]
        return data

    def _begin(self) -> bool:
        """Begin a frame, or pass over one that holds none of the data; False at the end."""
        magic = self._source.read(4)
        if not magic:
            return False
        if len(magic) == 4 and magic[1:] == self._SKIPPED and magic[0] >> 4 == 5:
            self._skip(int.from_bytes(self._exactly(4), "little"))
            return True
        if magic != self._FRAME:
            raise zstandard.ZstdError("what follows a frame is no other one")
        descriptor = self._exactly(1)
        rest, window = self._header(descriptor[0])
        if window > WINDOW_BYTES:
            raise WindowError("zstd -d --long=31")
        self._checksum = bool(descriptor[0] & 4)
        self._frame = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES).decompressobj()
        self._frame.decompress(magic + descriptor + rest)
        return True

    def _header(self, descriptor: int) -> tuple[bytes, int]:
        """What follows the descriptor in the header of a frame, and the size of the window."""
        single = bool(descriptor & 0x20)
        window = b"" if single else self._exactly(1)
        dictionary = self._exactly((0, 1, 2, 4)[descriptor & 3])
        size = self._exactly((int(single), 2, 4, 8)[descriptor >> 6])
        if single:
            return dictionary + size, int.from_bytes(size, "little")
        base = 1 << (10 + (window[0] >> 3))
        return window + dictionary + size, base + (base >> 3) * (window[0] & 7)

    def _block(self, frame: zstandard.ZstdDecompressionObj) -> bytes:
        """What is inside the next block of a frame."""
        head = self._exactly(3)
        number = int.from_bytes(head, "little")
        last, kind, size = number & 1, number >> 1 & 3, number >> 3
        if size > _ZSTD_BLOCK_BYTES:
            raise zstandard.ZstdError(f"a block of {size:,} bytes")
        data = head + self._exactly(1 if kind == 1 else size)
        if last and self._checksum:
            data += self._exactly(4)
        unpacked = frame.decompress(data)
        if last:
            self._frame = None
            if not frame.eof:
                raise zstandard.ZstdError("a frame without an end")
        return unpacked

    def _skip(self, size: int) -> None:
        while size:
            size -= len(self._exactly(min(size, _ZSTD_BLOCK_BYTES)))

    def _exactly(self, size: int) -> bytes:
        data = self._source.read(size)
        if len(data) < size:
            raise EOFError("it ends inside a frame")
        return data


def _xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=WINDOW_BYTES)


def _buffered(raw: _Raw) -> IO[bytes]:
    return cast("IO[bytes]", io.BufferedReader(raw, _ZSTD_BLOCK_BYTES))


# By the first bytes of the data: what it is called, and a function that makes a stream of what is inside.
KINDS: dict[bytes, tuple[str, Callable[[IO[bytes]], IO[bytes]]]] = {
    b"\x1f\x8b": ("gzip", lambda source: cast("IO[bytes]", gzip.GzipFile(fileobj=source))),
    b"BZh": ("bzip2", lambda source: _buffered(_Streams(source, bz2.BZ2Decompressor))),
    b"\xfd7zXZ\x00": ("xz", lambda source: _buffered(_Streams(source, _xz, _XZ_PADDING))),
    b"\x28\xb5\x2f\xfd": ("zstd", lambda source: _buffered(_Zstd(source))),
}
