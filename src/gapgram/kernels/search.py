"""Where a number lies among sorted ones, and where a key lies among those of a context: one, or many at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.jit import inlined, kernel
from gapgram.kernels.prefetch import prefetch
from gapgram.kernels.tables import code_mask_of, gram_at


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


class Searches(NamedTuple):
    """Searches for the words of a block among the grams of their contexts, one after the other: int64 [search] each.

    words       which word of the block is searched
    low         the first gram of its context
    spread      how many grams the context has
    guess       where the word is looked for first
    """

    words: np.ndarray
    low: np.ndarray
    spread: np.ndarray
    guess: np.ndarray


@inlined
def _closer(bits, halves, form, key, low, spread, first, last, g):
    """(first, last, g): where a key may be, and the next guess, from the key that lies at gram g; without a branch.

    Where the key is not there, or is found, g stays among the grams from `low` on.
    """
    ahead = key - (gram_at(bits, halves, form, g) >> form.code_bits)
    first = g + 1 if ahead > 0 else first
    last = g - 1 if ahead < 0 else last
    return first, last, max(min(max(g + (ahead * spread >> form.key_bits), first), last), low)


@kernel
def find_keys(bits, halves, form, keys, searches, n, entries, codes):
    """Do the first n searches for the grams with keys[word]; writes entries[word], -1 for none, and codes[word].

    From the key that lies at the first guess a second one is made, for all searches before any goes on. Nine of ten
    searches need no more than four guesses. These are made for all: a processor loses more by guessing wrongly how many
    a search will need than by a guess too many. Returns the largest code.
    """
    words, low, spread, guess = searches
    code_mask = code_mask_of(form)
    largest = np.int64(-1)
    for j in range(n):
        key, first, n_grams, g = keys[np.uint64(words[j])], low[j], spread[j], guess[j]
        _, _, guess[j] = _closer(bits, halves, form, key, first, n_grams, first, first + n_grams - 1, g)
        prefetch(bits, gram_word(form, guess[j]))
    for j in range(n):
        i, begin, n_grams = np.uint64(words[j]), low[j], spread[j]
        key, first, last, g = keys[i], begin, begin + n_grams - 1, guess[j]
        first, last, g = _closer(bits, halves, form, key, begin, n_grams, first, last, g)
        first, last, g = _closer(bits, halves, form, key, begin, n_grams, first, last, g)
        gram = gram_at(bits, halves, form, g)
        if gram >> form.code_bits != key and first <= last:
            g, gram = find_key(bits, halves, form, key, begin, n_grams, g)
        is_found = g >= 0 and gram >> form.code_bits == key
        code = gram & code_mask if is_found else np.int64(0)
        entries[i] = g if is_found else np.int64(-1)
        codes[i] = code
        largest = max(largest, code if is_found else np.int64(-1))
    return largest
