"""Grams of a binary file of KenLM, one word longer at a time, from the newest word to the oldest.

A gram is where it was found: two numbers that lead on to longer grams. Of a probing file the first is its key; of a
trie they are where the list of longer grams begins and ends. What a file says about places is checked before it
is followed.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.intrinsics import read_4, read_8, read_single
from gapgram.kernels.kenlm.arrays import (
    AT,
    BACKOFF_BITS,
    BACKOFFS_AT,
    ENTRY,
    HEADS_AT,
    N_GRAMS,
    N_HEADS,
    NEXT_BITS,
    PROB_BITS,
    PROBING,
    PROBS_AT,
    WORD_BITS,
    about,
    read_bits,
)
from gapgram.kernels.kenlm.words import MOST_PROBES

MISSING, FOUND, DAMAGED = 0, 1, -1

_GUESSES = 8  # entries that are guessed in a list before it is halved
_FEW = 8  # grams among which halving is as fast
SHORTER_FACTOR, OLDER_FACTOR = np.uint64(8978948897894561157), np.uint64(17894857484156487943)
_MINUS = np.uint32(1 << 31)  # the sign of a float
_ZERO, _NOTHING = np.float32(0.0), np.uint64(0)


@kernel
def extends(backoff):
    """Whether a context may be followed by something the model knows: its backoff is any other than minus zero."""
    return np.float32(backoff).view(np.uint32) != _MINUS


@kernel
def one_word(word, file):
    """(log10 probability, backoff, the gram, whether nothing is longer) of one of the file's ids."""
    at = about(0, AT, file) + word * about(0, ENTRY, file)
    prob, backoff = read_single(file.memory, at), read_single(file.memory, at + 4)
    if file.kind == PROBING:
        # The sign tells whether a longer gram ends in this one; the probability itself is never above 1.
        return -abs(prob), backoff, np.uint64(word), _NOTHING, read_4(file.memory, at) & _MINUS != 0
    begin, end = read_8(file.memory, at + 8), read_8(file.memory, at + 24)
    return prob, backoff, begin, end, begin == end


@kernel
def longer(k, word, first, second, file):
    """The gram of k + 1 words that has one older word more than the gram (first, second).

    Returns (MISSING, FOUND or DAMAGED, log10 probability, backoff, the gram, whether nothing is longer).
    """
    if file.kind == PROBING:
        return _longer_by_hash(k, word, first, file)
    return _longer_in_trie(k, word, first, second, file)


@kernel
def longer_key(key, word):
    """The key of a gram that has one older word more than that of a key."""
    return (key * SHORTER_FACTOR) ^ (np.uint64(word + 1) * OLDER_FACTOR)


@kernel
def find_key(key, k, file):
    """The byte at which a key is in the hash table of grams of k + 1 words; -1 if it is not, -2 if it is damaged."""
    begin, n, entry = about(k, AT, file), about(k, N_GRAMS, file), about(k, ENTRY, file)
    at, end = begin + np.int64(key % np.uint64(n)) * entry, begin + n * entry
    for _ in range(min(n, MOST_PROBES)):
        there = read_8(file.memory, at)
        if there == key:
            return at
        if there == 0:
            return np.int64(-1)
        at += entry
        if at == end:
            at = begin
    return np.int64(-2)


@kernel
def _longer_by_hash(k, word, shorter, file):
    key = longer_key(shorter, word)
    at = find_key(key, k, file)
    if at < 0:
        return at + 1, _ZERO, _ZERO, _NOTHING, _NOTHING, True
    prob = -abs(read_single(file.memory, at + 8))
    if k == file.order - 1:
        return FOUND, prob, _ZERO, _NOTHING, _NOTHING, True
    leaf = read_4(file.memory, at + 8) & _MINUS != 0
    return FOUND, prob, read_single(file.memory, at + 12), key, _NOTHING, leaf


@kernel
def _longer_in_trie(k, word, begin, end, file):
    if begin > end or end > np.uint64(about(k, N_GRAMS, file)):
        return DAMAGED, _ZERO, _ZERO, _NOTHING, _NOTHING, True
    entry = find_in_list(k, word, np.int64(begin), np.int64(end), file)
    if entry < 0:
        return MISSING, _ZERO, _ZERO, _NOTHING, _NOTHING, True
    prob = prob_at(entry, k, file)
    if k == file.order - 1:
        return FOUND, prob, _ZERO, _NOTHING, _NOTHING, True
    first, last = np.uint64(pointer_at(entry, k, file)), np.uint64(pointer_at(entry + 1, k, file))
    return FOUND, prob, backoff_at(entry, k, file), first, last, first == last


@kernel
def find_in_list(k, word, begin, end, file):
    """The entry of a word in a sorted list of grams; -1 where it is not there."""
    at, entry, bits = about(k, AT, file), about(k, ENTRY, file), about(k, WORD_BITS, file)
    low, high = begin - 1, end  # before and after it
    below, above = np.int64(-1), about(0, N_GRAMS, file)  # the words there
    guesses = 0
    while high - low > 1:
        if guesses < _GUESSES and high - low > _FEW:
            # As far between the two as the word is between theirs
            middle = low + 1 + np.int64((word - below) / (above - below + 1) * (high - low - 1))
            middle = max(low + 1, min(middle, high - 1))
            guesses += 1
        else:
            middle = (low + high) >> 1
        found = read_bits(file.memory, at + middle * entry, bits)
        if found == word:
            return middle
        if found < word:
            low, below = middle, found
        else:
            high, above = middle, found
    return np.int64(-1)


@kernel
def word_at(entry, k, file):
    """The oldest word of a gram of a trie."""
    return read_bits(file.memory, about(k, AT, file) + entry * about(k, ENTRY, file), about(k, WORD_BITS, file))


@kernel
def _figures_at(entry, k, file):
    """The bit at which the figures of a gram of a trie begin."""
    return about(k, AT, file) + entry * about(k, ENTRY, file) + about(k, WORD_BITS, file)


@kernel
def prob_at(entry, k, file):
    """The log10 probability of a gram of a trie."""
    at, bits, figures = _figures_at(entry, k, file), about(k, PROB_BITS, file), about(k, PROBS_AT, file)
    if figures == 0:
        # All but the sign, which is always minus
        return -np.uint32(read_bits(file.memory, at, bits)).view(np.float32)
    # Quantised probabilities follow quantised backoffs.
    return read_single(file.memory, figures + 4 * read_bits(file.memory, at + about(k, BACKOFF_BITS, file), bits))


@kernel
def backoff_at(entry, k, file):
    """The log10 backoff of a gram of a trie that is not of the longest ones."""
    at, bits, figures = _figures_at(entry, k, file), about(k, BACKOFF_BITS, file), about(k, BACKOFFS_AT, file)
    if figures == 0:
        return np.uint32(read_bits(file.memory, at + about(k, PROB_BITS, file), bits)).view(np.float32)
    return read_single(file.memory, figures + 4 * read_bits(file.memory, at, bits))


@kernel
def pointer_at(entry, k, file):
    """Where the list of grams begins that have one older word more than a gram of a trie."""
    bits = about(k, NEXT_BITS, file)
    low_bits = read_bits(file.memory, about(k, AT, file) + (entry + 1) * about(k, ENTRY, file) - bits, bits)
    n_heads = about(k, N_HEADS, file)
    if n_heads == 0:
        return low_bits
    return _head_of(entry, about(k, HEADS_AT, file), n_heads, file) << bits | low_bits


@kernel
def _head_of(entry, at, n, file):
    """The upper bits of the pointer of a gram: the last of a rising list whose number is not above its entry."""
    low, high = np.int64(0), n
    while low < high:
        middle = (low + high) >> 1
        if read_8(file.memory, at + 8 * middle) <= np.uint64(entry):
            low = middle + 1
        else:
            high = middle
    return max(low - 1, np.int64(0))
