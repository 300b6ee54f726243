"""The first bytes of a binary file of KenLM: how it is known, and what they say of the rest.

    0    text that names the format and its version, to byte 56
    56   test values: 0, 1, -0.5 as single floats; 1 and the largest number of 32 bits; 0; 1 in 64 bits
    88   the order; at 92 how much larger hash tables are than what they hold; at 96 the kind of the file;
         at 100 whether the words themselves are at its end; at 104 the version of the kind
    108  the number of grams of each length
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from gapgram.errors import ModelFileError

MAGIC = b"mmap lm http://kheafield.com/code"  # all versions begin so, and so do files that were never finished

_UNFINISHED = MAGIC + b" incomplete\n"
_VERSIONED = MAGIC + b" format version"
_SANITY = struct.pack("<56s3f3IQ", _VERSIONED + b" 5\n", 0.0, 1.0, -0.5, 1, 0xFFFFFFFF, 0, 1)
_FIXED = struct.Struct("<B3xfIB3xI")
_COUNTS_AT = len(_SANITY) + _FIXED.size

# Kinds, by number
PROBING, REST_PROBING, TRIE, QUANT_TRIE, ARRAY_TRIE, QUANT_ARRAY_TRIE = range(6)
_VERSIONS = (0, 0, 1, 1, 1, 1)


@dataclass(frozen=True)
class Header:
    """What the first bytes say. `size` is their number; `counts` are those of grams of one word, two words, …"""

    order: int
    multiplier: float
    kind: int
    has_words: bool
    counts: tuple[int, ...]
    size: int

    @property
    def is_probing(self) -> bool:
        """Whether grams are in hash tables."""
        return self.kind in (PROBING, REST_PROBING)

    @property
    def is_quantised(self) -> bool:
        """Whether figures were replaced by a few."""
        return self.kind in (QUANT_TRIE, QUANT_ARRAY_TRIE)

    @property
    def has_heads(self) -> bool:
        """Whether the upper bits of pointers are in lists of their own."""
        return self.kind in (ARRAY_TRIE, QUANT_ARRAY_TRIE)


def read_header(path: Path, data: bytes, file_bytes: int) -> Header:
    """The header of a file that begins with `data`; each way in which it is not one of KenLM's is an error."""
    _check_sanity(path, data)
    if len(data) < _COUNTS_AT:
        raise truncated(path, _COUNTS_AT, file_bytes)
    order, multiplier, kind, has_words, version = _FIXED.unpack_from(data, len(_SANITY))
    if kind >= len(_VERSIONS):
        raise ModelFileError(f"{path}: a binary file of KenLM of the kind {kind}; 0 to 5 are known: build it again")
    if version != _VERSIONS[kind]:
        raise _other_version(path, f"kind {kind} in version {version}", _VERSIONS[kind])
    if order < 2:
        raise damaged(path, f"its order is {order}")
    if not 1.0 <= multiplier <= 1e6:
        raise damaged(path, f"its hash tables are {multiplier:g} times as large as what they hold")
    size = -(-(_COUNTS_AT + 8 * order) // 8) * 8
    if len(data) < size:
        raise truncated(path, size, file_bytes)
    counts = struct.unpack_from(f"<{order}Q", data, _COUNTS_AT)
    for length, count in enumerate(counts, 1):
        if count > 64 * file_bytes:  # one bit a gram is less than any kind needs
            raise truncated_grams(path, length, count, file_bytes)
    return Header(order, multiplier, kind, bool(has_words), counts, size)


HEAD_BYTES = _COUNTS_AT + 8 * 256  # more than any header has


def _check_sanity(path: Path, data: bytes) -> None:
    if data[: len(_SANITY)] == _SANITY:
        return
    if data.startswith(_UNFINISHED):
        raise ModelFileError(f"{path}: unfinished: KenLM's build_binary was stopped while it wrote it; build it again")
    if not data.startswith(_VERSIONED):
        raise ModelFileError(f"{path}: not a binary file of KenLM")
    if len(data) < len(_SANITY):
        raise truncated(path, len(_SANITY), len(data))
    said = data[len(_VERSIONED) :].split(b"\n")[0].split(b"\0")[0].strip()
    if said.isdigit() and said != b"5":
        raise _other_version(path, f"version {int(said)}", 5)
    raise ModelFileError(
        f"{path}: a binary file of KenLM whose test values are not as on this machine; "
        "build it again on a machine of this kind"
    )


def damaged(path: Path, what: str) -> ModelFileError:
    """An error about what a file says."""
    return ModelFileError(f"{path}: damaged: {what}, which KenLM never writes; copy or build it again")


def bad_grams(path: Path) -> ModelFileError:
    """An error about what was found on the way from gram to gram."""
    return damaged(path, "a gram points outside its table or has a figure that is no log10 probability")


def truncated(path: Path, wanted: int, found: int) -> ModelFileError:
    """An error about a file that is too short."""
    return ModelFileError(f"{path}: truncated: {found:,} bytes, at least {wanted:,} are expected; copy it again")


def truncated_grams(path: Path, length: int, count: int, found: int) -> ModelFileError:
    """An error about more grams than a file has room for."""
    return ModelFileError(
        f"{path}: truncated or damaged: {count:,} grams of length {length} are not in {found:,} bytes; copy it again"
    )


def _other_version(path: Path, what: str, wanted: int) -> ModelFileError:
    return ModelFileError(
        f"{path}: a binary file of KenLM, {what}; version {wanted} is read, as by KenLM itself: build it again"
    )


def describe(header: Header, bits: tuple[int, ...]) -> str:
    """The kind of a file in a few words, with the bits that its options had.

    >>> describe(Header(3, 1.5, QUANT_ARRAY_TRIE, True, (3, 2, 1), 136), (8, 7, 22))
    'trie,q=8,b=7,a=22'
    """
    if header.is_probing:
        return "probing" if header.kind == PROBING else "probing,rest"
    names = ["q", "b"] * header.is_quantised + ["a"] * header.has_heads
    return ",".join(["trie", *(f"{name}={n}" for name, n in zip(names, bits, strict=True))])


