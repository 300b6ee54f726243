"""Where a number lies among sorted ones, and where a key lies among those of a context."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.tables.arrays import gram_at


@kernel
def first_at_least(values, low, high, value):
    """Of values[low:high], which rise, the number of the first that is at least `value`; `high` where none is."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def first_guess(key, low, spread, key_bits):
    """Where to look first for a key among `spread` grams from `low` on: keys lie about evenly."""
    return low + (key * spread >> key_bits)


@kernel
def gram_word(form, g):
    """The 64-bit word in which gram g begins, for `prefetch`."""
    return (form.first_bit + g * form.width) >> 6


@kernel
def find_key(bits, halves, form, key, low, spread, guess):
    """(number, gram) of the gram with a key among the `spread` grams from `low` on; (-1, 0) where there is none.

    bits, halves, form: as for `gram_at`. guess: one of these numbers, where to look first. From the key that lies
    there the next guess is made, and so on: the key is at most a few steps away.
    """
    first, last, g = low, low + spread - 1, guess
    while first <= last:
        gram = gram_at(bits, halves, form, g)
        ahead = key - (gram >> form.code_bits)
        if ahead == 0:
            return g, gram
        first = g + 1 if ahead > 0 else first
        last = last if ahead > 0 else g - 1
        g = min(max(g + (ahead * spread >> form.key_bits), first), last)
    return np.int64(-1), np.int64(0)
