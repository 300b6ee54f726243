"""Compressed text: every byte is accounted for, and no file makes its reader hold more than it asked for."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
import zstandard

from gapgram.errors import TextError
from gapgram.text.compressed import DECODE_ERRORS, WINDOW_BYTES, WindowError
from gapgram.text.files import decompressed, read_blocks, read_chunks

LINES = "".join(f"the cat {i} sat on the mät\n" for i in range(300)).encode()
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}
MAGIC_BYTES = {"gzip": 2, "bzip2": 3, "xz": 6, "zstd": 4}


def whole(data: bytes) -> bytes:
    """What is inside compressed data."""
    return decompressed(io.BytesIO(data))[1].read()


def said(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(TextError) as error:
        list(read_blocks(path))
    return str(error.value).replace(str(path), "FILE")


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_a_damaged_start_of_a_later_stream_is_an_error(tmp_path: Path, kind: str) -> None:
    parts = [COMPRESSORS[kind](LINES)] * 3
    for bit in range(8 * MAGIC_BYTES[kind]):
        second = bytearray(parts[1])
        second[bit // 8] ^= 1 << bit % 8
        found = said(tmp_path / "t", parts[0] + bytes(second) + parts[2])
        assert found.startswith(f"FILE: the {kind} data is damaged or cut off: ")


@pytest.mark.parametrize("kind", COMPRESSORS)
@pytest.mark.parametrize("garbage", [b"x", b"garbage" * 9, b"\0\0\0x", b"B", b"BZ", b"\x28\xb5"])
def test_anything_else_after_a_stream_is_an_error(tmp_path: Path, kind: str, garbage: bytes) -> None:
    assert "damaged or cut off" in said(tmp_path / "t", COMPRESSORS[kind](LINES) + garbage)


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_every_cut_is_an_error(kind: str) -> None:
    data = COMPRESSORS[kind](LINES)
    two = data + data
    for length in [*range(6, len(data), 7), len(data) - 1, *range(len(data) + 1, len(two), 7)]:
        with pytest.raises(DECODE_ERRORS):
            whole(two[:length])


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_every_damaged_byte_is_an_error_or_harmless(kind: str) -> None:
    data, draw = COMPRESSORS[kind](LINES), random.Random(1)
    for at in range(MAGIC_BYTES[kind], len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << int(8 * draw.random())
        try:
            assert whole(bytes(damaged)) == LINES, "taken for another text"
        except (*DECODE_ERRORS, WindowError):
            pass


def test_padding_between_streams_of_xz() -> None:
    part = lzma.compress(LINES)
    assert whole(part + bytes(8) + part + bytes(4)) == LINES + LINES
    assert whole(part + bytes(1 << 17) + part) == LINES + LINES
    for zeros in (1, 3, 6, (1 << 16) + 1):
        with pytest.raises(EOFError, match="zeros after a stream"):
            whole(part + bytes(zeros) + part)


def test_frames_of_zstd_of_all_kinds() -> None:
    skipped = b"\x53\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"12345"
    noise = random.Random(2).randbytes(300_000)  # blocks that could not be made smaller
    for text in (b"", b"x", LINES, bytes(1 << 20), noise):
        for options in ({}, {"write_checksum": True}, {"write_content_size": False}, {"level": 19}):
            frame = zstandard.ZstdCompressor(**options).compress(text)
            assert whole(frame + skipped + frame) == text + text
    with pytest.raises(EOFError, match="ends inside a frame"):
        whole(zstandard.compress(LINES) + skipped[:-1])


HEAD = b"\x28\xb5\x2f\xfd\x00\x50"  # of a frame of zstd with a window of 1 MiB


def test_blocks_of_zstd_that_cannot_be() -> None:
    too_large = (1 | 1 << 1 | ((1 << 17) + 1) << 3).to_bytes(3, "little")
    with pytest.raises(zstandard.ZstdError, match=r"a block of 131,073 bytes"):
        whole(HEAD + too_large + b"x")
    with pytest.raises(zstandard.ZstdError):
        whole(HEAD + (1 | 3 << 1).to_bytes(3, "little"))


def bomb(kind: str) -> bytes:
    """Data that holds 100 MB in a few kilobytes."""
    if kind != "zstd":
        return COMPRESSORS[kind](bytes(100 << 20))
    block = (1 << 1 | (1 << 17) << 3).to_bytes(3, "little") + b"\0"  # 128 KiB in four bytes
    return HEAD + 800 * block + (1).to_bytes(3, "little")


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_a_bomb_is_unpacked_as_far_as_it_is_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(bomb(kind))
    tracemalloc.start()
    try:
        head = next(read_chunks(path, block_bytes=1000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(head) == 1000
    assert peak < 20 << 20


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    longest = 1 << 24
    assert said(tmp_path / "t", b"a b\n" + b"x" * (longest + 1)) == (
        "FILE:2: a line of more than 16 MiB: expected one sentence a line"
    )
    assert said(tmp_path / "t", b"x" * (longest + 1) + b"\nmore\n").startswith("FILE:1: a line of more than")
    (tmp_path / "t").write_bytes(b"a\n" + b"x" * longest + b"\nmore\n")
    assert sum(len(block.data) for block in read_blocks(tmp_path / "t")) == longest + 8
    assert said(tmp_path / "t", bomb("zstd")).startswith("FILE:1: a line of more than 16 MiB")


class Endless(io.RawIOBase):
    """Zeros for ever, of which only so many may be asked for."""

    def __init__(self, most: int) -> None:
        self.left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        self.left -= len(buffer)
        assert self.left > 0, "more was read than a line may have"
        buffer[:] = bytes(len(buffer))
        return len(buffer)


def test_an_endless_line_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    source: IO[bytes] = io.BufferedReader(Endless(1 << 26))  # type: ignore[type-var]
    monkeypatch.setattr("gapgram.text.files.open_raw", lambda path: source)
    with pytest.raises(TextError, match="a line of more than 16 MiB"):
        list(read_blocks("endless"))


def with_window(kind: str, window_log: int) -> bytes:
    """The lines in data whose reader must remember so much."""
    if kind == "xz":
        return lzma.compress(LINES, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << window_log}])
    parameters = zstandard.ZstdCompressionParameters(window_log=window_log)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return stream.compress(LINES) + stream.flush()


@pytest.mark.parametrize(("kind", "advice"), [("zstd", "zstd -d --long=31"), ("xz", "xz -d")])
def test_data_that_needs_a_large_window_is_refused(tmp_path: Path, kind: str, advice: str) -> None:
    assert said(tmp_path / "t", with_window(kind, 28)) == (
        f"FILE: the {kind} data needs more than {WINDOW_BYTES >> 20} MiB of memory to be unpacked: "
        f"unpack it first ({advice})"
    )
    assert whole(with_window(kind, 26)) == LINES
