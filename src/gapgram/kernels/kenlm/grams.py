"""All grams of a binary file of KenLM, read back.

A trie holds its grams one after the other. A hash table holds keys alone: which words a key is of is found by trying
all pairs of a shorter gram and a word before it that may make one. A gram has both the gram without its oldest word and
the gram without its newest word in the file, so that pairs are tried of those that agree in what is between.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.intrinsics import read_8, read_single
from gapgram.kernels.kenlm.arrays import AT, ENTRY, N_GRAMS, about
from gapgram.kernels.kenlm.lookup import (
    backoff_at,
    find_in_list,
    find_key,
    one_word,
    pointer_at,
    prob_at,
    word_at,
)
from gapgram.kernels.kenlm.words import find_hash, hash_word

_BITS_A_KEY = 5  # that say whether there may be a key, as a power of two: one in 2**5 that is not there passes
_AT_ONCE = 1 << 12  # pairs that are looked at before those that may be there are looked up


@kernel
def single_words(file):
    """(log10 probabilities, backoffs, whether nothing is longer, where longer ones begin) of all words.

    The last two are of a probing file and of a trie, in this order.
    """
    n = file.n_words
    probs, backoffs = np.empty(n, np.float32), np.empty(n, np.float32)
    leaves, begins = np.empty(n, np.bool_), np.zeros(n + 1, np.uint64)
    for word in range(n):
        probs[word], backoffs[word], begins[word], begins[word + 1], leaves[word] = one_word(word, file)
    return probs, backoffs, leaves, begins


@kernel
def first_twice(text, begins, file):
    """The first of the listed words that the file knows by the id of another; -1 where there is none."""
    for word in range(1, begins.size - 1):
        if find_hash(hash_word(text, begins[word], begins[word + 1] - 1), file) != word:
            return word
    return -1


@kernel
def grams_of_trie(k, file):
    """(oldest words, log10 probabilities, backoffs, where longer ones begin) of all grams of k + 1 words of a trie."""
    n, longest = about(k, N_GRAMS, file), k == file.order - 1
    words = np.empty(n, np.int64)
    probs, backoffs = np.empty(n, np.float32), np.zeros(n, np.float32)
    begins = np.zeros(n + 1, np.uint64)
    for entry in range(n):
        words[entry], probs[entry] = word_at(entry, k, file), prob_at(entry, k, file)
        if not longest:
            backoffs[entry], begins[entry] = backoff_at(entry, k, file), pointer_at(entry, k, file)
    if not longest:
        begins[n] = pointer_at(n, k, file)
    return words, probs, backoffs, begins


@kernel
def contexts_in_trie(k, words, suffixes, contexts, begins, file):
    """For each gram of k + 1 words, three at least, the entry of the gram without its newest word; -1 if it is missing.

    words: the oldest word of each; suffixes: the entry of the gram without it.
    contexts: of each gram of k words; begins: where the grams of k words begin that a gram of k - 1 words ends.
    """
    out = np.empty(words.size, np.int64)
    for i in range(words.size):
        between = contexts[suffixes[i]]  # the gram without its oldest and newest words
        out[i] = find_in_list(k - 1, words[i], np.int64(begins[between]), np.int64(begins[between + 1]), file)
    return out


@kernel
def keys_there(k, file):
    """Bits that say which keys of k + 1 words there may be; which bit is a key's is told by shifting it by so many."""
    begin, n, entry = about(k, AT, file), about(k, N_GRAMS, file), about(k, ENTRY, file)
    found = 0
    for i in range(n):
        found += read_8(file.memory, begin + i * entry) != 0
    width = 10
    while (1 << width) < found << _BITS_A_KEY:
        width += 1
    bits, shift = np.zeros(1 << (width - 6), np.uint64), np.uint64(64 - width)
    for i in range(n):
        at = read_8(file.memory, begin + i * entry) >> shift
        bits[at >> np.uint64(6)] |= np.uint64(1) << (at & np.uint64(63))
    return bits, shift


@kernel
def _may_be_there(base, begin, end, factors, bits, shift, out):
    """The numbers of the factors from begin to end whose key may be there; returns how many."""
    n = 0
    for j in range(begin, end):
        at = (base ^ factors[np.uint64(j)]) >> shift
        out[np.uint64(n)] = j
        n += np.int64(bits[at >> np.uint64(6)] >> (at & np.uint64(63)) & np.uint64(1))
    return n


@kernel
def pairs_there(k, first, last, bases, groups, factors, group_begins, bits, shift, file):
    """The pairs of gram i, first … last - 1, and an older word of its group whose key is that of a gram of k + 1 words.

    bases, groups: of the grams, their keys times SHORTER_FACTOR. factors: of the older words, one more than their ids
    times OLDER_FACTOR, group by group. Bases and factors rise in a group, so that what is read of the bits is near to
    what was read before. Returns (gram, number of the older word, byte of the entry) of each pair.
    """
    out, n = np.empty((64, 3), np.int64), 0
    maybe = np.empty(_AT_ONCE, np.int64)
    begin = first
    while begin < last:
        # The grams of one group
        end = begin + 1
        while end < last and groups[end] == groups[begin]:
            end += 1
        # Some of its words at a time, with all of its grams
        most = group_begins[groups[begin] + 1]
        for a in range(group_begins[groups[begin]], most, _AT_ONCE):
            for i in range(begin, end):
                for m in range(_may_be_there(bases[i], a, min(a + _AT_ONCE, most), factors, bits, shift, maybe)):
                    offset = find_key(bases[i] ^ factors[maybe[m]], k, file)
                    if offset >= 0:
                        if n == out.shape[0]:
                            out = np.concatenate((out, np.empty_like(out)))
                        out[n, 0], out[n, 1], out[n, 2] = i, maybe[m], offset
                        n += 1
        begin = end
    return out[:n].copy()


@kernel
def figures_there(offsets, longest, file):
    """(keys, log10 probabilities, backoffs, whether nothing is longer) of the entries of a hash table at some bytes."""
    n = offsets.size
    keys, leaves = np.empty(n, np.uint64), np.ones(n, np.bool_)
    probs, backoffs = np.empty(n, np.float32), np.zeros(n, np.float32)
    for i in range(n):
        keys[i], prob = read_8(file.memory, offsets[i]), read_single(file.memory, offsets[i] + 8)
        probs[i] = -abs(prob)
        if not longest:
            backoffs[i] = read_single(file.memory, offsets[i] + 12)
            leaves[i] = np.signbit(prob)
    return keys, probs, backoffs, leaves
