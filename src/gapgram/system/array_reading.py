"""A file of named arrays opened: nothing in it is believed before it was checked.

First the header and the table of contents, then that the sections tile the file without gaps or overlaps, then their
checksums, then that each has the name, type and size that the rules of this kind of file allow
(`system.section_rules`); only then is an array made.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import xxhash

from gapgram.arrays import Bytes
from gapgram.errors import ModelFileError, ModelNotFoundError, UsageError
from gapgram.system.array_file import HEADER, KINDS, MAGIC, UNFINISHED, VERSION, FilePart
from gapgram.system.mapped_pages import release_pages
from gapgram.system.section_rules import Arrays, Rules, Section, checked_arrays

# Bytes of files, and of sections of larger files, whose checksums are compared whenever a file is opened; those of the
# rest, the large tables, are compared by `verify`.
_OLD = "such files are older than the first release: train the model again, or ask its maker for a new one"
SMALL_FILE_BYTES = 64 << 20
SMALL_SECTION_BYTES = 16 << 20

MOST_TABLE_BYTES = 64 << 20
MOST_DEPTH = 16  # of lists and objects in each other in the table
MOST_COUNT = 1 << 53  # beyond which a float does not hold every count
MOST_NUMBER = 1e300
_EXPECTED = {
    str: "a text",
    int: "a count",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table of names and values",
}
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ODD = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError)


Plain = TypeVar("Plain", str, int, float, bool, list[Any], dict[str, Any])


class Mapped:
    """A file, or one inside another, mapped; what was read counts as memory in use until its pages are given back."""

    def __init__(self, path: Path | FilePart) -> None:
        whole = path.path if isinstance(path, FilePart) else path
        with whole.open("rb") as file:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.memory: Bytes = np.frombuffer(self.map, np.uint8)
        if isinstance(path, FilePart):
            self.memory = self.memory[path.begin : path.begin + path.size]

    def arrays_of(self, sections: Iterable[Section]) -> Arrays:
        """The arrays of sections that we have written ourselves, by name."""
        return {section.name: section.array_in(self.memory) for section in sections}


@dataclass(frozen=True)
class Contents:
    """What a file holds; the arrays are mapped, read-only."""

    metadata: dict[str, Any]
    arrays: Arrays
    sections: tuple[Section, ...]
    bytes: int
    mapped: Mapped


@contextlib.contextmanager
def reading(path: str | Path | FilePart, kind: int, rules: Rules, *, verify: bool | None = None) -> Iterator[Contents]:
    """The contents of a file; an entry that is missing or odd, now or inside the block, is an error about the file."""
    with odd_files_refused(path):
        yield read(path, kind, rules, verify=verify)


@contextlib.contextmanager
def odd_files_refused(path: str | Path | FilePart) -> Iterator[None]:
    """Turn what goes wrong with the contents of a file into an error about the file."""
    try:
        yield
    except (ModelFileError, MemoryError):
        raise
    except UsageError as error:
        raise odd_file(path, str(error)) from None
    except _ODD as error:
        what = str(error) if type(error) is ValueError else repr(error)
        raise odd_file(path, what[:500]) from None


def odd_file(path: str | Path | FilePart, what: str) -> ModelFileError:
    """An error about a file that gapgram did not write."""
    return ModelFileError(f"{path}: not as gapgram writes it: {what}; make it again")


def read(
    path: str | Path | FilePart,
    kind: int,
    rules: Rules,
    *,
    verify: bool | None = None,
    small_file_bytes: int = SMALL_FILE_BYTES,
    small_section_bytes: int = SMALL_SECTION_BYTES,
) -> Contents:
    """Map a file and check it against the rules of its kind.

    All of it is compared with its checksums if `verify`; unless False, small files and small sections always are.
    """
    path = path if isinstance(path, FilePart) else Path(path)
    at, length, checksum, size = _read_header(path, kind)
    with odd_files_refused(path):
        mapped = Mapped(path)
    memory = mapped.memory
    table = memory[at : at + length].tobytes()
    if xxhash.xxh3_64_intdigest(table) != checksum:
        raise _damaged(path, "its table of sections")
    with odd_files_refused(path):
        metadata, sections = _read_table(table, at)
    for section in sections:
        small = size <= small_file_bytes or section.padded <= small_section_bytes
        if verify or (verify is None and small):
            data = memory[section.offset : section.offset + section.padded].data
            if xxhash.xxh3_64_intdigest(data) != section.checksum:
                raise _damaged(path, f"its section {section.name}")
    release_pages(mapped.map)  # what is asked for comes back; the rest need not stay in memory
    with odd_files_refused(path):
        arrays = checked_arrays(memory, sections, rules, verify)
    return Contents(metadata, arrays, sections, size, mapped)


def _read_table(table: bytes, end: int) -> tuple[dict[str, Any], tuple[Section, ...]]:
    """The metadata, and the sections, which lie one after the other up to `end`."""
    if _depth(table) > MOST_DEPTH:
        raise ValueError(f"a table of sections more than {MOST_DEPTH} deep")
    entries = plain(json.loads(table), dict)
    if set(entries) != {"metadata", "sections"}:
        raise ValueError("a table of sections without sections or metadata")
    metadata, sections = plain(entries["metadata"], dict), tuple(map(_section, plain(entries["sections"], list)))
    used = HEADER.size
    for section in sections:
        if section.offset != used:
            raise ValueError(f"section {section.name} at byte {section.offset:,}, expected {used:,}")
        used += section.padded
    if used != end:
        raise ValueError(f"sections up to byte {used:,}, expected {end:,}")
    return metadata, sections


def _depth(table: bytes) -> int:
    """How deep lists and objects lie in each other."""
    bare = np.frombuffer(_TEXTS.sub(b"", table), np.uint8)
    opened = (bare == ord("[")) | (bare == ord("{"))
    closed = (bare == ord("]")) | (bare == ord("}"))
    return int(np.cumsum(opened.astype(np.int32) - closed).max(initial=0))


def plain(value: Any, kind: type[Plain]) -> Plain:
    """A value that must be of a kind: a text, a count (`int`), a finite number (`float`), a truth, a list, a table.

    >>> plain("cat", str), plain(3, int), plain(3, float)
    ('cat', 3, 3.0)
    """
    if kind is float:
        fits = type(value) in (int, float) and -MOST_NUMBER <= value <= MOST_NUMBER
    elif kind is int:
        fits = type(value) is int and 0 <= value <= MOST_COUNT
    else:
        fits = isinstance(value, kind)
    if not fits:
        raise ValueError(f"{value!r:.100} where {_EXPECTED[kind]} was expected")
    return kind(value)


def _section(entry: Any) -> Section:
    """A section as the table has it, if its numbers are numbers."""
    if set(plain(entry, dict)) != {"name", "dtype", "shape", "offset", "padded", "checksum"}:
        raise ValueError("a section without its name, type, shape, place or checksum")
    name, dtype, shape = plain(entry["name"], str), plain(entry["dtype"], str), plain(entry["shape"], list)
    for number in (*shape, entry["offset"], entry["padded"], entry["checksum"]):
        if type(number) is not int or not 0 <= number < 1 << 64:
            raise ValueError(f"section {name} with the number {number!r}")
    return Section(name, dtype, tuple(shape), entry["offset"], entry["padded"], entry["checksum"])


def _first_bytes(path: Path | FilePart) -> tuple[bytes, int]:
    """As many bytes of a file as a header has, and how many it has in all."""
    try:
        if isinstance(path, FilePart):
            with path.path.open("rb") as file:
                file.seek(path.begin)
                return file.read(min(HEADER.size, path.size)), path.size
        with path.open("rb") as file:
            return file.read(HEADER.size), os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise ModelNotFoundError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path}: a folder, not a model file") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None


def _read_header(path: Path | FilePart, kind: int) -> tuple[int, int, int, int]:
    """(table at, table bytes, table checksum, file bytes) of a file that is whole and of this kind."""
    head, size = _first_bytes(path)
    _check_magic(path, kind, head, size)
    magic, version, written_kind, at, length, checksum, expected_size, own = HEADER.unpack(head)
    if version != VERSION:
        age = "a newer" if version > VERSION else "an older"
        raise ModelFileError(
            f"{path}: written in format {version} by {age} gapgram, this one reads format {VERSION}: "
            f"{'update gapgram' if version > VERSION else _OLD}"
        )
    fields = magic, version, written_kind, at, length, checksum, expected_size
    if xxhash.xxh3_64_intdigest(HEADER.pack(*fields, 0)) != own or head[-8:] != bytes(8):
        raise _damaged(path, "its header")
    if written_kind != kind:
        raise ModelFileError(f"{path}: holds {KINDS.get(written_kind, 'something else')}, expected {KINDS[kind]}")
    if size < expected_size:
        raise ModelFileError(f"{path}: truncated: {size:,} bytes of {expected_size:,} are there; copy it again")
    if size > expected_size:
        raise _damaged(path, f"its end ({size - expected_size:,} bytes too many)")
    if at + length != size or at < HEADER.size:
        raise odd_file(path, "a table of sections that is not at its end")
    if length > MOST_TABLE_BYTES:
        raise odd_file(path, f"a table of sections of {length:,} bytes, at most {MOST_TABLE_BYTES:,} are read")
    return at, length, checksum, size


def _check_magic(path: Path | FilePart, kind: int, head: bytes, size: int) -> None:
    """Refuse a file that does not begin as a finished one does."""
    if not head:
        raise ModelFileError(f"{path}: an empty file, not {KINDS[kind]} of gapgram")
    if head.startswith(UNFINISHED):
        raise ModelFileError(f"{path}: unfinished: the program that wrote it was stopped; make it again")
    if not head.startswith(MAGIC):
        raise ModelFileError(f"{path}: not a file of gapgram; expected {KINDS[kind]} written by gapgram")
    if len(head) < HEADER.size:
        raise ModelFileError(f"{path}: truncated: {size} bytes are less than a header; copy it again")


def _damaged(path: Path | FilePart, what: str) -> ModelFileError:
    return ModelFileError(f"{path}: damaged: {what} does not match its checksum; copy or make it again")
