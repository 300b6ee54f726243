"""Numbers of any width in an array of 64-bit words, and the ones among the bits of a word."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel

_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_EACH_BYTE = np.uint64(0x0101010101010101)
_TOP_BITS = np.uint64(0x8080808080808080)


@kernel
def read_bits(bits, at, width):
    """The number of so many bits, at most 63, that starts at a bit."""
    i, shift = at >> 6, np.uint64(at & 63)
    value = bits[i] >> shift
    if (at & 63) + width > 64:
        value |= bits[i + 1] << (np.uint64(64) - shift)
    return np.int64(value & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))


@kernel
def write_bits(bits, at, width, value):
    """Set so many bits, all 0 before, that start at a bit."""
    i, shift = at >> 6, np.uint64(at & 63)
    bits[i] |= np.uint64(value) << shift
    if (at & 63) + width > 64:
        bits[i + 1] |= np.uint64(value) >> (np.uint64(64) - shift)


@kernel
def width_of(largest):
    """The bits that numbers from 0 to this one need; one at least."""
    width = 1
    while np.int64(largest) >> width > 0:
        width += 1
    return width


@kernel
def ones(word):
    """How many bits of a word are 1."""
    word = word - ((word >> np.uint64(1)) & _PAIRS)
    word = (word & _FOURS) + ((word >> np.uint64(2)) & _FOURS)
    word = (word + (word >> np.uint64(4))) & _BYTES
    return np.int64((word * _EACH_BYTE) >> np.uint64(56))


@kernel
def from_bit(word, bit):
    """The word with all bits below this one, which is at most 63, set to 0."""
    return (word >> np.uint64(bit)) << np.uint64(bit)


def _bits_of_bytes():
    """[k << 8 | byte]: the bit of a byte that is the one with k ones below it."""
    table = np.zeros(8 << 8, np.uint8)
    for byte in range(256):
        for k, bit in enumerate(bit for bit in range(8) if byte >> bit & 1):
            table[k << 8 | byte] = bit
    return table


_IN_BYTE = _bits_of_bytes()


@kernel
def select_one(word, k):
    """The bit of a word that is the one with k ones below it; there must be one."""
    sums = word - ((word >> np.uint64(1)) & _PAIRS)
    sums = (sums & _FOURS) + ((sums >> np.uint64(2)) & _FOURS)
    sums = ((sums + (sums >> np.uint64(4))) & _BYTES) * _EACH_BYTE  # in each byte the ones of it and of those below
    k = np.uint64(k)
    full = ((k * _EACH_BYTE | _TOP_BITS) - sums) & _TOP_BITS  # bytes that lie below the one
    byte = np.uint64(min(ones(full), 7) << 3)
    k -= (sums << np.uint64(8)) >> byte & np.uint64(255)
    return np.int64(byte) + np.int64(_IN_BYTE[(k & np.uint64(7)) << np.uint64(8) | (word >> byte & np.uint64(255))])


@kernel
def lowest_one(word):
    """The lowest bit of a word that is one; there must be one."""
    return ones((word & (~word + np.uint64(1))) - np.uint64(1))
