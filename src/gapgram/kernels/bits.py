"""Numbers of any width in an array of 64-bit words, and the ones among the bits of a word."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.jit import kernel

_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_EACH_BYTE = np.uint64(0x0101010101010101)


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


@kernel
def select_one(word, k):
    """The place of the one that has k ones below it in a word; there must be one."""
    place, step = np.int64(0), np.int64(32)
    while step > 0:
        below = ones(word & ((np.uint64(1) << np.uint64(step)) - np.uint64(1)))
        if k >= below:
            k -= below
            word = word >> np.uint64(step)
            place += step
        step >>= 1
    return place
