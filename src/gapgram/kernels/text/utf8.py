"""Whether bytes are UTF-8."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel

_RUN = 64  # bytes that are looked at together: most text is ASCII


@kernel
def is_utf8(text):
    """Whether Python would decode these bytes as UTF-8."""
    at = 0
    while at < text.size:
        end = min(at + _RUN, text.size)
        if _is_ascii(text, at, end):
            at = end
        # One character after the other; the last may end beyond the run.
        while at < end:
            size = _character_bytes(text, at)
            if size == 0:
                return False
            at += size
    return True


@kernel
def _is_ascii(text, begin, end):
    """Whether all bytes from `begin` to `end` are below 128."""
    bits = np.uint8(0)
    for i in range(begin, end):
        bits |= text[np.uint64(i)]
    return bits < 0x80


@kernel
def _character_bytes(text, at):
    """How many bytes the character has that begins here; 0 where none does."""
    first = text[np.uint64(at)]
    if first < 0x80:
        return 1
    if first < 0xC2 or first > 0xF4:
        return 0
    size = 2 + (first >= 0xE0) + (first >= 0xF0)
    if at + size > text.size:
        return 0
    # What may come second after some bytes, where less than 0x80 to 0xBF may.
    lowest = 0x80
    highest = 0xBF
    if first == 0xE0:
        lowest = 0xA0  # below, two bytes would do
    elif first == 0xED:
        highest = 0x9F  # above are the halves of surrogate pairs
    elif first == 0xF0:
        lowest = 0x90  # below, three bytes would do
    elif first == 0xF4:
        highest = 0x8F  # above is no character
    second = text[np.uint64(at + 1)]
    if second < lowest or second > highest:
        return 0
    for i in range(at + 2, at + size):
        if text[np.uint64(i)] & 0xC0 != 0x80:
            return 0
    return size
