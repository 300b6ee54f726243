"""Strings of Python made into lines of bytes, while Python's other threads run.

A string has its characters in one piece of memory, of one, two or four bytes each. Where that lies, and how it says
which of these it is, is asked of some strings when the first are read (`gapgram.text.string_memory`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapgram.kernels.jit import kernel
from gapgram.kernels.memory import copy_bytes, read_1, read_2, read_4, read_signed


class StringLayout(NamedTuple):
    """Where strings and lists have what: bytes after their addresses.

    kind: the type that strings have. items: of a list, the address of the addresses of what it holds. type, length,
    state: of a string. mask: the bits of the state that say what the characters are; ascii, bytes, pairs and fours,
    what they are for each; data: where the characters of ASCII begin; wide: where others do.
    """

    kind: Any
    items: Any
    type: Any
    length: Any
    state: Any
    mask: Any
    ascii: Any
    bytes: Any
    pairs: Any
    fours: Any
    data: Any
    wide: Any


@kernel
def lines_of_strings(address, n, layout):
    """The n strings of the list at an address as lines in UTF-8, halves of characters as they are.

    Nothing where one of them is of another kind.
    """
    nothing = np.empty(0, np.uint8)
    items = read_signed(address, layout.items)
    most = n  # bytes, with a newline each
    for i in range(n):
        string = read_signed(items, 8 * i)
        if read_signed(string, layout.type) != layout.kind:
            return nothing
        size = read_signed(string, layout.length)
        state = read_4(string, layout.state) & layout.mask
        if state == layout.ascii:
            most += size
        elif state == layout.bytes:
            most += 2 * size
        elif state == layout.pairs:
            most += 3 * size
        elif state == layout.fours:
            most += 4 * size
        else:
            return nothing
    out = np.empty(most, np.uint8)
    used = 0
    for i in range(n):
        string = read_signed(items, 8 * i)
        size = read_signed(string, layout.length)
        state = read_4(string, layout.state) & layout.mask
        if state == layout.ascii:
            copy_bytes(string, layout.data, size, out, used)
            used += size
        else:
            for c in range(size):
                if state == layout.bytes:
                    character = np.int64(read_1(string, layout.wide + c))
                elif state == layout.pairs:
                    character = np.int64(read_2(string, layout.wide + 2 * c))
                else:
                    character = np.int64(read_4(string, layout.wide + 4 * c))
                used = _write_character(character, out, used)
        out[np.uint64(used)] = 10
        used += 1
    return out[:used]


@kernel
def _write_character(character, out, at):
    """Write a character in UTF-8; returns where the next one goes."""
    if character < 0x80:
        out[np.uint64(at)] = character
        return at + 1
    n = 1 + (character >= 0x800) + (character >= 0x10000)  # bytes after the first, of six bits each
    out[np.uint64(at)] = ((0xF0 << (3 - n)) & 0xFF) | (character >> (6 * n))
    for k in range(1, n + 1):
        out[np.uint64(at + k)] = 0x80 | ((character >> (6 * (n - k))) & 0x3F)
    return at + n + 1
