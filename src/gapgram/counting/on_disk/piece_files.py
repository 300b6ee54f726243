"""The tables of the jobs of a text in files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
import xxhash

from gapgram.arrays import Integers
from gapgram.counts.counts import Piece
from gapgram.kernels.tables.arrays import STATISTICS
from gapgram.pattern import Pattern

_END_BYTES = 16  # the length of the index, and the checksum
_CHUNK_BYTES = 1 << 22


Packing = Callable[[memoryview], bytes]


class PieceFile:
    """Pieces one after the other, then where each lies, as JSON, the length of that, and a checksum of all.

    unpack: what `pack` was when it was written, undone.
    """

    def __init__(self, path: Path, unpack: Callable[[bytes, int], bytes] | None = None) -> None:
        self._path, self._unpack = path, unpack
        with path.open("rb") as file:
            file.seek(-_END_BYTES, 2)
            length = int.from_bytes(file.read(8), "little")
            file.seek(-_END_BYTES - length, 2)
            index: dict[str, list[int]] = json.loads(file.read(length))
        self._rows = _rows_of(tuple(index))  # the same for many files
        self._entries = np.array(list(index.values()), np.int64)

    @staticmethod
    def is_whole(path: Path) -> bool:
        """Whether a file is there and as it was written: it is not synced, which would take long; so it may not be."""
        checksum = xxhash.xxh3_64()
        try:
            with path.open("rb") as file:
                left = file.seek(0, 2) - 8
                file.seek(0)
                while left > 0:
                    chunk = file.read(min(_CHUNK_BYTES, left))
                    if not chunk:
                        return False
                    checksum.update(chunk)
                    left -= len(chunk)
                return left == 0 and file.read() == checksum.intdigest().to_bytes(8, "little")
        except OSError:
            return False

    @staticmethod
    def write(file: BinaryIO, pieces: Iterable[tuple[Pattern, Piece]], pack: Packing | None = None) -> None:
        """Write a file; each table is packed, if that is asked for."""
        entries, checksum = {}, xxhash.xxh3_64()
        for pattern, piece in pieces:
            at, stored = file.tell(), []
            for array in (piece.grams, piece.contexts, piece.rows):
                data = np.ascontiguousarray(array, np.int64).reshape(-1).view(np.uint8).data
                data = data if pack is None else memoryview(pack(data))
                checksum.update(data)
                stored.append(file.write(data))
            sizes = piece.grams.size, piece.contexts.size, len(piece.rows)
            entries[str(pattern)] = [at, *stored, *sizes, *piece.seen.tolist()]
        index = json.dumps(entries).encode()
        end = index + len(index).to_bytes(8, "little")
        checksum.update(end)
        file.write(end + checksum.intdigest().to_bytes(8, "little"))

    def piece(self, pattern: Pattern) -> _PieceInFile:
        return _PieceInFile(self._path, self._unpack, self._entries[self._rows[str(pattern)]])


@lru_cache
def _rows_of(patterns: tuple[str, ...]) -> dict[str, int]:
    return {pattern: row for row, pattern in enumerate(patterns)}


@dataclass(frozen=True)
class _PieceInFile:
    """A piece whose arrays are read when they are asked for.

    entry: where it begins; the bytes of each table; how many grams, contexts and rows there are; what was seen.
    """

    path: Path
    unpack: Callable[[bytes, int], bytes] | None
    entry: Integers

    @property
    def n_grams(self) -> int:
        return int(self.entry[4])

    @property
    def grams(self) -> Integers:
        return self._read(0, self.n_grams)

    @property
    def contexts(self) -> Integers:
        return self._read(1, int(self.entry[5]))

    @property
    def rows(self) -> Integers:
        return self._read(2, STATISTICS * int(self.entry[6])).reshape(-1, STATISTICS)

    @property
    def seen(self) -> Integers:
        return self.entry[7:]

    def _read(self, table: int, n: int) -> Integers:
        at, stored = int(self.entry[: 1 + table].sum()), int(self.entry[1 + table])
        if self.unpack is None:
            return np.fromfile(self.path, np.int64, n, offset=at)
        with self.path.open("rb") as file:
            file.seek(at)
            return np.frombuffer(self.unpack(file.read(stored), 8 * n), np.int64)
