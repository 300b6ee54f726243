"""Keys: word ids times an odd number, modulo a power of two, by which the grams of a context are sorted.

Whatever words follow a context, their keys lie about evenly between 0 and that power: where a key is among them can be
guessed, and a search needs two or three reads where halving needs ten.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel

_GOLDEN = 0.6180339887498949


@kernel
def key_bits_of(n_words):
    """The bits of the keys of so many words."""
    bits = 1
    while (1 << bits) < n_words:
        bits += 1
    return bits


@kernel
def key_of(word, bits):
    """The key of a word: its id times an odd number near 2**bits / golden ratio."""
    odd = np.int64((1 << bits) * _GOLDEN) | 1
    return np.int64(word) * odd & ((np.int64(1) << bits) - 1)


@kernel
def inverse_of(bits):
    """The number that takes keys of so many bits back to words."""
    odd = np.int64((1 << bits) * _GOLDEN) | 1
    inverse = np.int64(1)
    for _ in range(6):  # each step doubles the bits that are right
        inverse = inverse * (2 - odd * inverse) & ((np.int64(1) << bits) - 1)
    return inverse


@kernel
def word_of(key, bits, inverse):
    """The word of a key, `inverse` being `inverse_of(bits)`."""
    return key * inverse & ((np.int64(1) << bits) - 1)


@kernel
def words_by_key(n_words):
    """All words in the order of their keys."""
    bits = key_bits_of(n_words)
    inverse = inverse_of(bits)
    out = np.empty(n_words, np.int64)
    n = 0
    for key in range(1 << bits):
        word = word_of(key, bits, inverse)
        if word < n_words:
            out[n] = word
            n += 1
    return out


@kernel
def keys_of(words, bits):
    """int32: the key of each word."""
    out = np.empty(words.size, np.int32)
    for g in range(words.size):
        out[g] = key_of(words[g], bits)
    return out
