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

import numpy as np

from gapgram.arrays import Bytes, Integers
from gapgram.errors import ModelFileError
from gapgram.kernels.kenlm import arrays as columns

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


_MAX_QUANTISED_BITS = 25  # of a quantised figure
_MOST_WORDS = (1 << 31) - 8  # ids are numbers of 31 bits
_WIDEST = 57  # bits of a packed number
_QUANTISED_VERSION, _HEADS_VERSION = 2, 0


@dataclass(frozen=True)
class Layout:
    """Where tables lie (`kernels.kenlm.arrays`), and the words behind them; `bits` are those of -q, -b and -a."""

    tables: Integers
    hashes_at: int
    n_hashes: int
    n_words: int
    words_at: int
    bits: tuple[int, ...]


def read_layout(path: Path, header: Header, memory: Bytes) -> Layout:
    """Where everything lies in a file that is mapped."""
    reader = _LayoutReader(path, header, memory)
    return reader.probing() if header.is_probing else reader.trie()


class _LayoutReader:
    """One table after the other, each checked to lie inside the file."""

    def __init__(self, path: Path, header: Header, memory: Bytes) -> None:
        self.path, self.header, self.memory = path, header, memory
        self.tables = np.zeros((header.order, columns.N_COLUMNS), np.int64)
        self.at = header.size

    def _take(self, n_bytes: int) -> int:
        """The place of the next bytes of the file."""
        begin, self.at = self.at, self.at + n_bytes
        if self.at > self.memory.size:
            raise truncated(self.path, self.at, self.memory.size)
        return begin

    def _number(self, at: int, n_bytes: int) -> int:
        return int.from_bytes(self.memory[at : at + n_bytes].tobytes(), "little")

    def probing(self) -> Layout:
        """Hash tables of entries of 12 and 16 bytes, or, with rest costs, 12 and 20; single words are a plain list."""
        head = self._take(8)
        version, n_words = self._number(head, 4), self._number(head + 4, 4)
        if version != 0:
            raise damaged(self.path, f"its table of words has version {version}")
        n_hashes = self._buckets(self.header.counts[0])
        hashes_at = self._take(12 * n_hashes)
        self._check_words(n_words, self.header.counts[0] + 1)
        figures = 3 if self.header.kind == REST_PROBING else 2  # of four bytes each, for each gram
        n = self.header.counts[0] + 1
        self._set(0, AT=self._take(4 * figures * n), N_GRAMS=n, ENTRY=4 * figures)
        for k, count in enumerate(self.header.counts[1:], 1):
            entry = 12 if k == self.header.order - 1 else 8 + 4 * figures
            n = self._buckets(count)
            self._set(k, AT=self._take(entry * n), N_GRAMS=n, ENTRY=entry)
        return Layout(self.tables, hashes_at, n_hashes, n_words, self.at, ())

    def _buckets(self, count: int) -> int:
        """The size of a hash table, worked out in single precision."""
        return max(count + 1, int(np.float32(self.header.multiplier) * np.float32(count)))

    def trie(self) -> Layout:
        """Sorted hashes, the figures that quantised ones stand for, single words, then a packed list a length."""
        n_unigrams = self.header.counts[0]
        head = self._take(8 + 8 * n_unigrams)
        n_hashes = self._number(head, 8)
        self._check_words(n_hashes + 1, n_unigrams)
        quantised = self._quantised() if self.header.is_quantised else ()
        self._set(0, AT=self._take(16 * (n_unigrams + 2)), N_GRAMS=n_unigrams, ENTRY=16)
        heads_bits = self._heads_bits() if self.header.has_heads else None
        for k in range(1, self.header.order):
            self._packed(k, heads_bits)
        bits = quantised if heads_bits is None else (*quantised, heads_bits)
        return Layout(self.tables, head + 8, n_hashes, n_hashes + 1, self.at, bits)

    def _check_words(self, n_words: int, most: int) -> None:
        if not 1 <= n_words <= most:
            raise damaged(self.path, f"it has {n_words:,} words, 1 to {most:,} are expected")
        if n_words > _MOST_WORDS:
            raise damaged(self.path, f"it has {n_words:,} words, more than {_MOST_WORDS:,}")

    def _quantised(self) -> tuple[int, int]:
        """The tables of figures; returns the bits of a probability and of a backoff."""
        head = self._take(8)
        version, prob_bits, backoff_bits = self.memory[head : head + 3].tolist()
        if version != _QUANTISED_VERSION:
            raise damaged(self.path, f"its quantised figures have version {version}")
        if not (1 <= prob_bits <= _MAX_QUANTISED_BITS and 1 <= backoff_bits <= _MAX_QUANTISED_BITS):
            raise damaged(self.path, f"its figures are quantised to {prob_bits} and {backoff_bits} bits")
        for k in range(1, self.header.order):
            self._set(k, PROBS_AT=self._take(4 << prob_bits), PROB_BITS=prob_bits)
            if k < self.header.order - 1:
                self._set(k, BACKOFFS_AT=self._take(4 << backoff_bits), BACKOFF_BITS=backoff_bits)
        return prob_bits, backoff_bits

    def _heads_bits(self) -> int:
        """The option -a, which the first list of upper bits begins with; without such a list it makes no difference."""
        if self.header.order == 2:
            return 0
        if self.at + 2 > self.memory.size:
            raise truncated(self.path, self.at + 2, self.memory.size)
        version, bits = self.memory[self.at : self.at + 2].tolist()
        if version != _HEADS_VERSION:
            raise damaged(self.path, f"its compressed pointers have version {version}")
        return int(bits)

    def _packed(self, k: int, heads_bits: int | None) -> None:
        """The grams of k + 1 words, packed: word, figures, and where the list of longer ones begins."""
        longest, n = k == self.header.order - 1, self.header.counts[k]
        if not self.header.is_quantised:
            self._set(k, PROB_BITS=columns.PLAIN_PROB_BITS, BACKOFF_BITS=0 if longest else columns.PLAIN_BACKOFF_BITS)
        next_bits = 0 if longest else self.header.counts[k + 1].bit_length()
        if heads_bits is not None and not longest:
            chopped = chopped_bits(n + 1, self.header.counts[k + 1], heads_bits)
            n_heads = (self.header.counts[k + 1] >> (next_bits - chopped)) + 1
            begin = self._take(8 * (1 + n_heads) + 7)
            self._set(k, HEADS_AT=-(-begin // 8) * 8 + 8, N_HEADS=n_heads)
            next_bits -= chopped
        word_bits = self.header.counts[0].bit_length()
        if next_bits > _WIDEST:
            raise damaged(self.path, f"its pointers have {next_bits} bits")
        row = self.tables[k]
        entry_bits = word_bits + next_bits + int(row[columns.PROB_BITS] + row[columns.BACKOFF_BITS])
        begin = self._take(((1 + n) * entry_bits + 7) // 8 + 8)
        self._set(k, AT=8 * begin, N_GRAMS=n, WORD_BITS=word_bits, NEXT_BITS=next_bits, ENTRY=entry_bits)

    def _set(self, k: int, **values: int) -> None:
        for name, value in values.items():
            self.tables[k, getattr(columns, name)] = value


def chopped_bits(n_pointers: int, largest: int, most: int) -> int:
    """How many upper bits of pointers KenLM puts into a list of their own: those that save most.

    >>> chopped_bits(2000, 2000, 22), chopped_bits(2000, 2000, 0), chopped_bits(1, 0, 22)
    (6, 0, 0)
    """
    needed = largest.bit_length()

    def cost(chopped: int) -> int:
        return (largest >> (needed - chopped)) * 64 - n_pointers * chopped

    return min(range(min(needed, most) + 1), key=cost)
