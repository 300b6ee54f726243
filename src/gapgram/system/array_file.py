"""One file of named arrays and a few plain values: mapped on opening, checksummed, never executed.

    header      64 bytes: magic, version, kind, where the table is, its checksum, the file's size, and
                the checksum of the header itself
    sections    the arrays, each starting at a multiple of 64 bytes, zeros between them
    table       JSON: the metadata, and for each section its name, type, shape, place and checksum
                (which covers the zeros up to the next section, so that every bit of the file is covered)

A file is written under another name beside its place, with a header that says `unfinished`, synced,
given its header, synced, and renamed. Checksums are XXH3-64.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import xxhash

from gapgram.system.atomic_file import Aside, cannot_write, written_aside
from gapgram.system.mapped_pages import PageBudget
from gapgram.system.parallel import busy_beside
from gapgram.system.section_rules import ALIGN, Section

VERSION = 2
COUNTS, MODEL, BACKOFF, SESSION, MIXTURE = 1, 2, 3, 4, 5
KINDS = {
    COUNTS: "counts", MODEL: "a model", BACKOFF: "a backoff model", SESSION: "a session", MIXTURE: "a mixture",
}  # fmt: skip

Contents = tuple[Mapping[str, npt.NDArray[Any]], Mapping[str, Any]]  # arrays by name, and metadata

MAGIC, UNFINISHED = b"gapgram\n", b"gapgram?"
HEADER = struct.Struct("<8sIIQQQQQ8x")  # magic, version, kind, table at, table bytes, table sum, file bytes, own sum
_CHUNK = 1 << 22  # bytes read or written at a time
_NOT_KNOWN = -1  # the checksum of a section that is still being filled


@dataclass(frozen=True)
class FilePart:
    """A file of arrays inside another: where it begins, at a multiple of 64 bytes, and how many bytes it has.

    what: said of it after the path, such as "model 2".
    """

    path: Path
    begin: int
    size: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def first_bytes(kind: int) -> bytes:
    """What files of a kind begin with."""
    return MAGIC + struct.pack("<II", VERSION, kind)


def write(
    path: str | Path,
    kind: int,
    metadata: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    between: Callable[[], object] = bool,
) -> None:
    """Write a file aside, sync it and rename it; nothing is left behind if that fails.

    between: called whenever a few megabytes are written.
    """
    with written_aside(Path(path)) as file:
        writing = Writing(file, kind)
        for name, array in arrays.items():
            writing.add(name, array, between=between)
        writing.finish(metadata)


class Writing:
    """A file of arrays being written into one that is open, at a multiple of 64 bytes: alone, or inside another."""

    def __init__(self, file: BinaryIO, kind: int) -> None:
        self._file, self._kind, self._begin = file, kind, file.tell()
        self._sections: list[Section] = []
        file.write(HEADER.pack(UNFINISHED, VERSION, kind, 0, 0, 0, 0, 0))

    def add(self, name: str, array: npt.NDArray[Any], *, between: Callable[[], object] = bool) -> None:
        """Append an array; `between` is called whenever a few megabytes are written."""
        self._sections.append(_write_section(self._file, name, _bytes_of(array, between), self._begin))

    def add_files(self, name: str, writers: Iterable[Callable[[BinaryIO], object]]) -> list[int]:
        """Append a section of whole files, each at a multiple of 64 bytes; returns their sizes."""
        file, begin, sizes = self._file, self._file.tell(), []
        for write_one in writers:
            at = file.tell()
            write_one(file)
            sizes.append(file.tell() - at)
            file.write(bytes(-sizes[-1] % ALIGN))
        size = file.tell() - begin
        section = _checked(file, Section(name, "|u1", (size,), begin, size, _NOT_KNOWN))
        file.seek(0, os.SEEK_END)
        self._sections.append(replace(section, offset=begin - self._begin))
        return sizes

    def finish(self, metadata: Mapping[str, Any]) -> None:
        """Write the table of contents and the header; what is written next comes after this file."""
        _finish(self._file, self._kind, metadata, self._sections, self._begin)
        self._file.seek(0, os.SEEK_END)


def _finish(
    file: BinaryIO, kind: int, metadata: Mapping[str, Any], sections: Sequence[Section], begin: int = 0
) -> None:
    """Write the table of contents, sync, and turn the header into that of a finished file."""
    table = json.dumps(
        {"metadata": metadata, "sections": [vars(s) for s in sections]}, sort_keys=True, ensure_ascii=False
    ).encode()
    at = file.tell() - begin
    file.write(table)
    size = file.tell() - begin
    os.fsync(file.fileno())
    file.seek(begin)
    file.write(_header(kind, at, table, size))


def _header(kind: int, at: int, table: bytes, size: int) -> bytes:
    fields = (MAGIC, VERSION, kind, at, len(table), xxhash.xxh3_64_intdigest(table), size)
    return HEADER.pack(*fields, xxhash.xxh3_64_intdigest(HEADER.pack(*fields, 0)))


@dataclass(frozen=True)
class Stream:
    """An array that is never whole in memory: its chunks, in order, flattened."""

    name: str
    dtype: npt.DTypeLike
    shape: tuple[int, ...]
    chunks: Iterable[npt.NDArray[Any]]


def _bytes_of(array: npt.NDArray[Any], between: Callable[[], object] = bool) -> Stream:
    array = np.ascontiguousarray(array)

    def chunks() -> Iterator[npt.NDArray[Any]]:
        flat, step = array.reshape(-1), max(1, _CHUNK // array.itemsize)
        for begin in range(0, flat.size, step):
            yield flat[begin : begin + step]
            between()

    return Stream("", array.dtype, array.shape, chunks())


def _write_section(file: BinaryIO, name: str, stream: Stream, begin: int = 0) -> Section:
    """Append a section to a file of arrays that begins at some byte of the one that is written to."""
    checksum = xxhash.xxh3_64()
    section = _append(file, name, stream, begin, checksum.update)
    return replace(section, checksum=checksum.intdigest())


def _append(
    file: BinaryIO, name: str, stream: Stream, begin: int = 0, on_bytes: Callable[[Any], object] = bool
) -> Section:
    """The same, without a checksum; `on_bytes` is given all that is under it."""
    offset, dtype, written = file.tell() - begin, np.dtype(stream.dtype), 0
    for chunk in stream.chunks:
        data = chunk.reshape(-1).view(np.uint8).data
        on_bytes(data)
        file.write(data)
        written += data.nbytes
    expected = dtype.itemsize * int(np.prod(stream.shape, dtype=np.int64))
    if written != expected:
        raise ValueError(f"section {name}: {written} bytes, expected {expected}")
    padding = bytes(-written % ALIGN)
    on_bytes(padding)
    file.write(padding)
    return Section(name, dtype.str, stream.shape, offset, written + len(padding), _NOT_KNOWN)


def _checksum_of(array: npt.NDArray[Any]) -> int:
    """The checksum of an array's section."""
    checksum = xxhash.xxh3_64()
    for chunk in _bytes_of(array).chunks:
        checksum.update(chunk.view(np.uint8).data)
    checksum.update(bytes(-array.nbytes % ALIGN))
    return checksum.intdigest()


class Unfinished:
    """A file under way, for contents that are never whole in memory; `write` gives the same bytes.

    Sections are appended, as arrays or as streams, can be read back while the rest is worked out, and survive the
    process: `state` is all that `resumed` needs. The file lies beside its final place until `complete`.
    """

    def __init__(
        self, path: str | Path, kind: int, *, aside: str | None = None, sections: Sequence[Section] = ()
    ) -> None:
        """Begin a file, or take up again the one that another process began under a name, with these sections."""
        self.kind, self.sections = kind, list(sections)
        try:
            self._file = Aside(path, aside)
            self.path, self.aside = self._file.target, self._file.path
            if aside is None:
                self.aside.write_bytes(HEADER.pack(UNFINISHED, VERSION, kind, 0, 0, 0, 0, 0))
        except OSError as error:
            if hasattr(self, "_file"):
                self._file.discard()
            raise cannot_write(Path(path), error) from None

    @classmethod
    def resumed(cls, path: str | Path, kind: int, state: Mapping[str, Any]) -> Unfinished | None:
        """A file that another process began; None where it is no longer there or not as it was left."""
        sections = [Section(**{**entry, "shape": tuple(entry["shape"])}) for entry in state["sections"]]
        aside = Path(os.path.realpath(path)).parent / state["aside"]
        size = max((s.offset + s.padded for s in sections), default=HEADER.size)
        if not aside.is_file() or aside.stat().st_size < size:
            return None
        with aside.open("rb") as file:
            if any(_checked(file, replace(section, checksum=_NOT_KNOWN)) != section for section in sections):
                return None
        os.truncate(aside, size)
        return cls(path, kind, aside=aside.name, sections=sections)

    @property
    def state(self) -> dict[str, Any]:
        """What is written so far, as plain values; on disk once this returns."""
        self.sync()
        return {"aside": self.aside.name, "sections": [vars(s) for s in self.sections]}

    def sync(self) -> None:
        """Have what is written so far on disk."""
        with self.aside.open("rb+") as file:
            os.fsync(file.fileno())

    def add(self, name: str, array: npt.NDArray[Any]) -> None:
        """Append an array."""
        self.add_stream(replace(_bytes_of(array), name=name))

    def add_all(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Append arrays, and have all that is written so far on disk."""
        try:
            with ThreadPoolExecutor(1) as pool, busy_beside(), self.aside.open("ab") as file:
                checksums = pool.map(_checksum_of, arrays.values())  # meanwhile
                written = [_append(file, name, _bytes_of(array)) for name, array in arrays.items()]
            sections = zip(written, checksums, strict=True)
            self.sections += [replace(section, checksum=checksum) for section, checksum in sections]
            self.sync()
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def add_stream(self, stream: Stream) -> None:
        """Append an array that comes in chunks."""
        try:
            with self.aside.open("ab") as file:
                self.sections.append(_write_section(file, stream.name, stream))
        except OSError as error:
            raise cannot_write(self.path, error, "") from None

    def reserve(
        self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], pages: PageBudget | None = None
    ) -> npt.NDArray[Any]:
        """Append an array of zeros, to be filled in place before the file is finished; its pages may be given back."""
        size = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
        padded = size + -size % ALIGN
        try:
            with self.aside.open("rb+") as file:
                offset = file.seek(0, os.SEEK_END)
                append_zeros(file, offset, padded)
        except OSError as error:
            raise cannot_write(self.path, error, "") from None
        section = Section(name, np.dtype(dtype).str, shape, offset, padded, _NOT_KNOWN)
        self.sections.append(section)
        if not size:
            return np.zeros(shape, dtype)
        begin = offset - offset % mmap.ALLOCATIONGRANULARITY
        with self.aside.open("rb+") as file:
            mapping = mmap.mmap(file.fileno(), offset + padded - begin, offset=begin)
        if pages is not None:
            pages.add(mapping)
        return replace(section, offset=offset - begin).array_in(np.frombuffer(mapping, np.uint8))

    def complete(self, arrays: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, Any]) -> None:
        """Append those arrays that are not there yet, and give the file its name."""
        written = {section.name for section in self.sections}
        for name, array in arrays.items():
            if name not in written:
                self.add(name, array)
        try:
            with self.aside.open("rb+") as file:
                sections = [_checked(file, section) for section in self.sections]
                file.seek(0, os.SEEK_END)
                _finish(file, self.kind, metadata, sections)
                file.flush()
                os.fsync(file.fileno())
            self._file.put_in_place()
        except OSError as error:
            raise cannot_write(self.path, error, "") from None

    def discard(self) -> None:
        """Remove what was written."""
        self._file.discard()


@contextlib.contextmanager
def written_ahead(path: str | Path, kind: int, make: Callable[[], Contents]) -> Iterator[Callable[..., None]]:
    """Make some contents of a new file, and write them, while the rest is worked out.

    Gives the function that completes the file with the rest, arrays and metadata; nothing is left where that fails.
    """
    file = Unfinished(path, kind)

    def write() -> Mapping[str, Any]:
        arrays, metadata = make()
        file.add_all(arrays)
        return metadata

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)

        def complete(arrays: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, Any]) -> None:
            before = writing.result()
            file.complete(arrays, {**before, **metadata})

        try:
            yield complete
        except BaseException:
            wait([writing])
            file.discard()
            raise


def append_zeros(file: BinaryIO, offset: int, size: int) -> None:
    """Append so many zeros. The disk must have room for them now: a full one would end who fills them in place."""
    if hasattr(os, "posix_fallocate"):
        if size:
            os.posix_fallocate(file.fileno(), offset, size)
        return
    for begin in range(0, size, _CHUNK):
        file.write(bytes(min(_CHUNK, size - begin)))


def _checked(file: BinaryIO, section: Section) -> Section:
    """The section with its checksum, worked out now where it was filled in place."""
    if section.checksum != _NOT_KNOWN:
        return section
    checksum = xxhash.xxh3_64()
    file.seek(section.offset)
    for begin in range(0, section.padded, _CHUNK):
        checksum.update(file.read(min(_CHUNK, section.padded - begin)))
    return replace(section, checksum=checksum.intdigest())
