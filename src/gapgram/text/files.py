"""Text from files: plain, gzip, bzip2, xz or zstd by their first bytes, `-` for standard input."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import IO, cast

import numpy as np

from gapgram.arguments import checked_path, wrong_type
from gapgram.arrays import Bytes
from gapgram.errors import TextError, TextFileError, TextNotFoundError, UsageError
from gapgram.kernels.text.lines import cut_lines
from gapgram.system.parallel import SMALLER, read_ahead
from gapgram.system.progress import progress_bar
from gapgram.text.compressed import DECODE_ERRORS, KINDS, WindowError

Paths = str | Path | Sequence[str | Path]

BLOCK_BYTES = 1 << 22
MAX_PIPE_BYTES = 1 << 20
_FIRST_BLOCK_SHARE = 5 / 16  # the first block of a file is smaller: scoring begins sooner
_ASSUMED_WORD_BYTES = 5  # with its space
_ASSUMED_COMPRESSION_RATIO = 4
LONGEST_LINE_BYTES = 1 << 24  # more is no sentence, and may be no text
NEWLINE = ord("\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Block:
    """Whole lines of one file: bytes that end in a newline, and the number of the first line.

    held: the bytes, or an array of them, which may be a part of a larger one: so lines are handed on without a copy.
    is_tokenised: whether the words of the lines are the tokens of a model that has a tokeniser.
    """

    name: str
    first_line: int
    held: bytes | Bytes
    is_tokenised: bool = False

    @cached_property
    def data(self) -> bytes:
        """The lines as bytes."""
        return self.held if isinstance(self.held, bytes) else self.held.tobytes()

    @property
    def text(self) -> Bytes:
        """The lines as an array of bytes, without a copy."""
        return np.frombuffer(self.held, np.uint8) if isinstance(self.held, bytes) else self.held

    def cut(self, piece_bytes: int) -> list[Block]:
        """The same lines in pieces of so many bytes, the end of a line each.

        >>> [(piece.first_line, piece.data) for piece in Block("text", 7, b"a\\nbc\\n\\nd\\n").cut(3)]
        [(7, b'a\\nbc\\n'), (9, b'\\nd\\n')]
        """
        if len(self.held) <= piece_bytes:
            return [self]
        begins, lines = cut_lines(self.text, piece_bytes)
        return [
            Block(self.name, self.first_line + line, self.text[begin:end], self.is_tokenised)
            for (begin, end), line in zip(pairwise(begins.tolist()), lines.tolist(), strict=False)
        ]


def pieces_of(block: Block, following: Iterator[Block], piece_bytes: int) -> Iterator[Block]:
    """The pieces of a block, and of those that follow while they are larger than what a pipe gives at once."""
    yield from _pieces(block, piece_bytes)
    if len(block.held) > MAX_PIPE_BYTES:
        for other in following:
            yield from _pieces(other, piece_bytes)
            if len(other.held) <= MAX_PIPE_BYTES:
                return


def _pieces(block: Block, piece_bytes: int) -> list[Block]:
    """The pieces of a block; of one that is not full, the last of its file, smaller ones: threads end at one time."""
    is_full = len(block.held) > BLOCK_BYTES - BLOCK_BYTES // SMALLER or piece_bytes > BLOCK_BYTES
    return block.cut(piece_bytes if is_full else max(1, piece_bytes // SMALLER))


def as_paths(texts: Paths) -> list[str | Path]:
    """One path or several, as a list."""
    if isinstance(texts, bytes) or not isinstance(texts, str | Path | Iterable):
        raise wrong_type("texts", texts, "the path of a text file, or a list of paths")
    paths: list[str | Path] = [texts] if isinstance(texts, str | Path) else list(texts)
    for path in paths:
        checked_path("texts", path)
    if not paths:
        raise UsageError("no text: name at least one file, or - for standard input")
    return paths


def blocks_of_files(
    texts: Paths, *, title: str = "reading", progress: bool = False, block_bytes: int = BLOCK_BYTES
) -> Iterator[Block]:
    """The lines of all files, one after the other; `progress` shows a bar by bytes on disk."""
    paths = as_paths(texts)
    with progress_bar(title, total=bytes_on_disk(paths), unit="B", progress=progress) as advance:
        for path in paths:
            blocks = read_blocks(path, advance, block_bytes=block_bytes)
            yield from read_ahead(blocks) if os.path.isfile(path) else blocks


def bytes_on_disk(paths: Iterable[str | Path]) -> int | None:
    """The size of all that are files; None where none is."""
    return sum(os.path.getsize(path) for path in paths if os.path.isfile(path)) or None


def open_raw(path: str | Path) -> IO[bytes]:
    """Open a file, or standard input for `-`, with an error that says what is wrong with it."""
    if str(path) == "-":
        if sys.stdin is None:
            raise TextFileError("-: standard input is closed")
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except FileNotFoundError:
        raise TextNotFoundError(f"{path}: no such file{_meant(str(path))}") from None
    except IsADirectoryError:
        raise TextFileError(f"{path}: a folder, not a file; name the text files in it") from None
    except OSError as error:
        raise TextFileError(f"{path}: cannot be read: {error.strerror}") from None


def _meant(name: str) -> str:
    """What to say of a name that is no file and looks like text itself."""
    if not any(character.isspace() for character in name.strip()) or os.sep in name:
        return ""
    return "; expected the name of a file (in Python, text in memory is sentences=[…])"


def decompressed(raw: IO[bytes]) -> tuple[str, IO[bytes]]:
    """The kind of compression, by the first bytes, and a stream of what is inside; `plain` is the file itself."""
    buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", raw))
    head = buffered.peek(6)[:6]
    for first_bytes, (kind, stream_of) in KINDS.items():
        if head.startswith(first_bytes):
            return kind, stream_of(buffered)
    return "plain", buffered


def guessed_positions(texts: Paths) -> int:
    """About how many ids text files will have, by their sizes; standard input counts as nothing."""
    total = 0
    for path in as_paths(texts):
        if os.path.isfile(path):
            with open_raw(path) as raw:
                kind, _ = decompressed(raw)
            total += os.path.getsize(path) * (1 if kind == "plain" else _ASSUMED_COMPRESSION_RATIO)
    return total // _ASSUMED_WORD_BYTES


def read_head(path: str | Path, size: int) -> bytes:
    """The first bytes of what is inside a file, at most `size`; no more than a block beyond is unpacked."""
    with open_raw(path) as raw:
        try:
            return decompressed(raw)[1].read(size).removeprefix(_BYTE_ORDER_MARK)
        except (*DECODE_ERRORS, WindowError):
            return b""


def read_chunks(
    path: str | Path,
    on_bytes: Callable[[int], None] = lambda n: None,
    *,
    block_bytes: int = BLOCK_BYTES,
    first_bytes: int | None = None,
) -> Iterator[bytes]:
    """What is inside a file, at most `block_bytes` at a time, without the byte-order mark of UTF-8.

    on_bytes: is told how many bytes of the file on disk were read since it was last told. first_bytes: at most so many
        the first time.
    """
    raw, told = open_raw(path), 0
    try:
        kind, stream = decompressed(raw)
        for data in _chunks(display_name(path), kind, stream, block_bytes, first_bytes or block_bytes):
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
    first_bytes = max(1, int(_FIRST_BLOCK_SHARE * block_bytes))
    for data in read_chunks(path, on_bytes, block_bytes=block_bytes, first_bytes=first_bytes):
        first_end = data.find(b"\n")
        check_line(name, line, sum(map(len, rest)) + (len(data) if first_end < 0 else first_end))
        cut = data.rfind(b"\n") + 1
        if cut:
            # Copied and counted by NumPy, which leaves Python's lock to other threads meanwhile.
            *before, last = (np.frombuffer(part, np.uint8) for part in (*rest, data))
            whole = np.concatenate([*before, last[:cut]]) if before else last[:cut]
            yield Block(name, line, whole)
            line += int(np.count_nonzero(whole == NEWLINE))
            rest = []
        if cut < len(data):
            rest.append(data[cut:])
    if rest:
        yield Block(name, line, b"".join([*rest, b"\n"]))


def check_line(name: str, line: int, n_bytes: int) -> None:
    """Refuse a line of so many bytes if that is too many: it would be held in memory whole."""
    if n_bytes > LONGEST_LINE_BYTES:
        raise TextError(
            f"{name}:{line}: a line of more than {LONGEST_LINE_BYTES >> 20} MiB: expected one sentence a line"
        )


def display_name(path: str | Path) -> str:
    """What messages call a file."""
    return "standard input" if str(path) == "-" else str(path)


def _is_file(stream: IO[bytes]) -> bool:
    """Whether what is read is a file on disk."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:  # nothing of the system's
        return False


def _chunks(name: str, kind: str, stream: IO[bytes], block_bytes: int, first_bytes: int) -> Iterator[bytes]:
    # What a pipe or terminal has so far is taken at once, so that answers come line by line.
    as_it_comes = kind == "plain" and isinstance(stream, io.BufferedReader) and not _is_file(stream)
    read = cast("io.BufferedReader", stream).read1 if as_it_comes else stream.read
    first = True
    while True:
        try:
            data = read(first_bytes if first else block_bytes)
        except WindowError as error:
            raise TextFileError(f"{name}: the {kind} data {error}") from None
        except DECODE_ERRORS as error:
            if isinstance(error, OSError) and error.errno == errno.EISDIR:
                raise TextFileError(f"{name}: a folder, not a file; name the text files in it") from None
            raise TextFileError(f"{name}: the {kind} data is damaged or cut off: {error}") from None
        if not data:
            return
        yield data.removeprefix(_BYTE_ORDER_MARK) if first else data
        first = False
