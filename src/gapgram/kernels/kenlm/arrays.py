"""A binary file of KenLM as kernels read it: where it is mapped, and where its tables lie.

A model of order n has tables of grams of 1 to n words. A gram is looked up from its newest word on: first the
word, then the word and the one before it, and so on. Kinds differ in what leads from a gram to those that are
one word longer.

    probing   hash tables; a gram's key is worked out from the key of the gram that is one word shorter
    trie      sorted lists of bits; a gram says where the list of those that are one word longer begins and ends

Both have a table of hashes of words, from which come ids: 0 is `<unk>`, all others are numbered as the file has them.
A gapgram id puts `<unk>`, `<s>` and `</s>` first and keeps the rest in this order (`file_id`, `word_id`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapgram.arrays import Bytes
from gapgram.kernels.compiled import AS_PYTHON, kernel
from gapgram.kernels.intrinsics import read_8, read_signed
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID

PROBING, TRIE = 0, 1

# Columns of the table of tables, which has a row for each length of grams.
AT = 0  # where the grams begin: a byte; of a trie's longer grams a bit
N_GRAMS = 1  # how many there are, or have room for
ENTRY = 2  # the bytes of one; of a trie's longer grams its bits
# Of a trie's longer grams alone: the bits of each part of an entry,
WORD_BITS, PROB_BITS, BACKOFF_BITS, NEXT_BITS = 3, 4, 5, 6
HEADS_AT, N_HEADS = 7, 8  # the byte at which the upper bits of pointers begin (-a), how many there are; else 0
PROBS_AT, BACKOFFS_AT = 9, 10  # the bytes at which the figures begin that quantised ones stand for (-q); else 0
N_COLUMNS = 11

PLAIN_PROB_BITS, PLAIN_BACKOFF_BITS = 31, 32  # where nothing is quantised: figures themselves, or all but their sign


class KenlmFile(NamedTuple):
    """A mapped file, and its table of tables; both as `memory_of` gives them.

    kind: PROBING or TRIE. n_words: counts `<unk>` too. start, end: the file's ids of `<s>` and `</s>`; 0 if missing.
    hashes_at: the byte at which the hashes of words begin, of a probing file a hash table, of a trie a sorted list.
    """

    memory: Any
    tables: Any
    kind: int
    order: int
    n_words: int
    start: int
    end: int
    hashes_at: int
    n_hashes: int


def memory_of(data: Bytes) -> Any:
    """What kernels take for bytes, which must be kept as long as kernels read them; places must lie inside.

    Compiled kernels read at an address: an array that is handed on is counted, which takes longer than the read. As
    plain Python, kernels read an array, and a place outside is an error.
    """
    return data if AS_PYTHON else int(data.ctypes.data)


@kernel
def read_bits(memory, at, width):
    """The number of so many bits, at most 57, that starts at a bit; eight bytes from there on must lie inside."""
    value = read_8(memory, at >> 3) >> np.uint64(at & 7)
    return np.int64(value & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))


@kernel
def about(k, column, file):
    """An entry of the table of tables, for grams of k + 1 words."""
    return read_signed(file.tables, 8 * (k * N_COLUMNS + column))


@kernel
def n_ids(file):
    """How many ids there are: `<s>` and `</s>` have one even where the file lacks them."""
    return file.n_words + (file.start == 0) + (file.end == 0)


@kernel
def file_id(word, file):
    """The file's id of a gapgram id."""
    if word == UNKNOWN_ID:
        return 0
    if word == START_ID:
        return file.start
    if word == END_ID:
        return file.end
    found = word - END_ID
    low, high = min(file.start, file.end), max(file.start, file.end)
    if low > 0 and found >= low:
        found += 1
    if high > 0 and found >= high:
        found += 1
    return found


@kernel
def word_id(found, file):
    """The gapgram id of one of the file's ids."""
    if found == 0:
        return UNKNOWN_ID
    if found == file.start:
        return START_ID
    if found == file.end:
        return END_ID
    return found + END_ID - (0 < file.start < found) - (0 < file.end < found)
