"""Records that are lines: JSON objects, or plain text; compressed or not."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import zstandard

from gapgram.applications.filtering.choice import Columns
from gapgram.applications.filtering.pieces import RecordPiece, Records, Work
from gapgram.applications.filtering.summary import FilterTally
from gapgram.arguments import is_text
from gapgram.errors import TextError
from gapgram.text.files import LONGEST_LINE_BYTES, Block, display_name, read_chunks

PIECE_BYTES = 1 << 18
_decode = json.JSONDecoder().decode
_TOO_LONG = b"\0too long"  # in the place of a record that would be held in memory whole

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, 6, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


class Lines(Records):
    """A file of lines, cut into pieces; `output_suffix` says how what is kept is compressed."""

    def __init__(self, path: str | Path, output_suffix: str = "") -> None:
        self.path, self.name = path, display_name(path)
        self._compress: Callable[[bytes], bytes] = COMPRESSIONS.get(output_suffix, bytes)

    def pieces(self, begin: Any, on_bytes: Callable[[int], None]) -> Iterator[RecordPiece]:
        """Whole lines, some hundred kilobytes; the end is (bytes of text, lines) before the next piece."""
        offset, line = begin or (0, 1)
        for data, size in _whole_lines(_from(read_chunks(self.path, on_bytes, block_bytes=PIECE_BYTES), offset)):
            block = Block(self.name, line, data)
            offset, line = offset + size, line + data.count(b"\n")
            yield RecordPiece(block, (offset, line), len(data))

    def payloads(
        self, piece: RecordPiece, records: list[Any], texts: Sequence[str], figures: Columns, places: list[int],
        work: Work,
    ) -> list[Any]:  # fmt: skip
        """Lines, compressed by themselves, so that an output can be cut between pieces."""
        kept: list[list[bytes]] = [[] for _ in work.choice.names]
        own = self.figures(figures, work) if figures else [b""] * len(records)
        for record, text, said, place in zip(records, texts, own, places, strict=True):
            if place >= 0:
                kept[place].append(self.written(record, text, said, work))
        return [self._compress(b"\n".join([*lines, b""])) if lines else b"" for lines in kept]

    @abstractmethod
    def figures(self, columns: Columns, work: Work) -> list[bytes]:
        """The figures of each record, as they are written into it."""

    @abstractmethod
    def written(self, record: Any, text: str, figures: bytes, work: Work) -> bytes:
        """A record as it is kept, with its figures."""


class JsonLines(Lines):
    """A JSON object a line, whose text is one of its fields. What is kept keeps its bytes; figures come at its end."""

    def read(self, piece: RecordPiece, work: Work, tally: FilterTally) -> Iterator[tuple[Any, str]]:
        """The lines with what they hold; empty lines are none."""
        for number, line in enumerate(piece.records.data.split(b"\n")[:-1], piece.records.first_line):
            line = line.strip()
            if not line:
                continue
            try:
                record, text = _parsed(line, work)
            except ValueError as error:
                work.refuse(f"{self.name}:{number}", str(error), tally)
                continue
            yield (line, record), text

    def written(self, record: Any, text: str, figures: bytes, work: Work) -> bytes:
        """The line itself, with figures before its closing bracket; made anew where its text has changed."""
        line, record = record
        if text is not record[work.field] and text != record[work.field]:
            line = json.dumps({**record, work.field: text}, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return bytes(line[:-1].rstrip() + figures + b"}" if figures else line)

    def figures(self, columns: Columns, work: Work) -> list[bytes]:
        """As they stand in a JSON object after other fields."""
        form = "".join(f", {json.dumps(name).replace('%', '%%')}: %s" for name in work.names)
        written = [[_as_json(value) for value in column] for column in columns]
        return [(form % row).encode() for row in zip(*written, strict=True)]


def _as_json(value: Any) -> str:
    """A figure in JSON: a finite number, a word, or nothing."""
    if value is None:
        return "null"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _parsed(line: bytes, work: Work) -> tuple[dict[str, Any], str]:
    """A record and its text; a ValueError says what is wrong."""
    if line == _TOO_LONG:
        raise ValueError(f"a record of more than {LONGEST_LINE_BYTES >> 20} MiB")
    try:
        record = _decode(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(
            f"byte {error.start + 1} of the record (0x{line[error.start]:02x}) is not valid UTF-8"
        ) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("not JSON that can be read: nested too deeply") from None
    except ValueError as error:  # such as a number of thousands of digits
        raise ValueError(f"not JSON that can be read: {error}") from None
    text = _text_of(record, work)
    if b"\\u" in line and not is_text(text):
        raise ValueError(f"the field {work.field!r} holds half of a surrogate pair, which is no text")
    return record, text


def _text_of(record: Any, work: Work) -> str:
    if not isinstance(record, dict):
        raise ValueError(f"expected an object with a field {work.field!r}, found {_kind(record)}")
    if work.field not in record:
        raise ValueError(f"the field {work.field!r} is missing; there are {', '.join(record) or 'none'}"[:300])
    text = record[work.field]
    if not isinstance(text, str):
        raise ValueError(f"the field {work.field!r} holds {_kind(text)}, expected a string")
    if work.figures and not record.keys().isdisjoint(work.names):
        name = next(name for name in work.names if name in record)
        raise ValueError(f"the record has a field {name!r} already; name figures otherwise (--prefix)")
    return text


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


class PlainLines(Lines):
    """Plain text, a record a line. Figures stand before the line, separated by tabs."""

    def read(self, piece: RecordPiece, work: Work, tally: FilterTally) -> Iterator[tuple[Any, str]]:
        """The lines that hold anything."""
        for number, line in enumerate(piece.records.data.split(b"\n")[:-1], piece.records.first_line):
            if not line.strip():
                continue
            where = f"{self.name}:{number}"
            if line == _TOO_LONG:
                work.refuse(where, f"a line of more than {LONGEST_LINE_BYTES >> 20} MiB", tally)
                continue
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                bad = f"0x{line[error.start]:02x}"
                work.refuse(where, f"byte {error.start + 1} of the line ({bad}) is not valid UTF-8", tally)
                continue
            yield line, text

    def written(self, record: Any, text: str, figures: bytes, work: Work) -> bytes:
        """Figures, if any, and the line."""
        return figures + bytes(record)

    def figures(self, columns: Columns, work: Work) -> list[bytes]:
        """As columns before the line."""
        rows = zip(*columns, strict=True)
        return ["".join(f"{'' if value is None else value}\t" for value in row).encode() for row in rows]


def _from(chunks: Iterator[bytes], offset: int) -> Iterator[bytes]:
    """What comes after so many bytes."""
    for chunk in chunks:
        if offset >= len(chunk):
            offset -= len(chunk)
        else:
            yield chunk[offset:]
            offset = 0
    if offset:
        raise TextError("the file has become shorter since the run was interrupted: start anew, without --resume")


def _whole_lines(chunks: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
    """Whole lines, and how many bytes of the file they were: a line that is too long is replaced by a mark."""
    rest: list[bytes] = []
    size = dropped = 0
    for chunk in chunks:
        head, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            size, dropped, rest = _longer(rest, chunk, size, dropped)
            continue
        first, _, others = (head + newline).partition(b"\n")
        size, dropped, rest = _longer(rest, first, size, dropped)
        line = _TOO_LONG if dropped else b"".join(rest)
        data = line + b"\n" + others
        yield data, size + dropped + 1 + len(others)
        size, dropped, rest = _longer([], tail, 0, 0)
    if size or dropped:
        yield (_TOO_LONG if dropped else b"".join(rest)) + b"\n", size + dropped


def _longer(rest: list[bytes], data: bytes, size: int, dropped: int) -> tuple[int, int, list[bytes]]:
    """(bytes kept, bytes dropped, what is kept) of a line to which data was added."""
    if dropped or size + len(data) > LONGEST_LINE_BYTES:
        return 0, size + dropped + len(data), []
    return size + len(data), 0, [*rest, data] if data else rest
