"""Positions of a text, sorted into groups of equal grams.

A text is `ids`, sentences `<s> … </s>` one after the other, and `reach`, for each position the distance
back to its `<s>`, capped. A node of the tree of patterns holds the positions at which a pattern has a
gram, sorted by the words of the gram, the oldest word first, then by position: `positions`, with group g
(one distinct gram) being `positions[starts[g]:starts[g+1]]`. The nodes below it append a word at a
distance, so they only sort inside the groups.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.jit import kernel

REPEATED, ONCE = 1, 2  # marks of the first occurrence of a gram


@kernel
def distances(ids, start, cap):
    """For each position the distance back to the `start` word of its sentence, at most `cap`."""
    reach = np.empty(ids.size, np.uint8)
    distance = 0
    for t in range(ids.size):
        if ids[t] == start:
            distance = 0
        reach[t] = min(distance, cap)
        distance += 1
    return reach


@kernel
def positions_by_word(ids, n_words):
    """All positions sorted by word: the root of the tree, one group a word, empty ones included."""
    starts = np.zeros(n_words + 1, np.int64)
    for t in range(ids.size):
        starts[ids[t] + 1] += 1
    for w in range(n_words):
        starts[w + 1] += starts[w]
    fill = starts[:-1].copy()
    positions = np.empty(ids.size, np.int32)
    for t in range(ids.size):
        positions[fill[ids[t]]] = t
        fill[ids[t]] += 1
    return positions, starts


@kernel
def sort_by_word(keys, n, spare, buckets, word_bits):
    """Sort keys[:n] = word << 32 | position, given in order of position."""
    if n <= 32:
        for i in range(1, n):
            key = keys[i]
            j = i - 1
            while j >= 0 and keys[j] > key:
                keys[j + 1] = keys[j]
                j -= 1
            keys[j + 1] = key
    elif n <= 768:
        keys[:n].sort()
    else:
        digit = (word_bits + 1) // 2
        mask = (1 << digit) - 1
        _radix_pass(keys, n, spare, buckets, 32, mask)
        _radix_pass(spare, n, keys, buckets, 32 + digit, mask)


@kernel
def _radix_pass(source, n, target, buckets, shift, mask):
    buckets[: mask + 2] = 0
    for i in range(n):
        buckets[(source[i] >> shift & mask) + 1] += 1
    for b in range(mask + 1):
        buckets[b + 1] += buckets[b]
    for i in range(n):
        b = source[i] >> shift & mask
        target[buckets[b]] = source[i]
        buckets[b] += 1


@kernel
def refine(positions, starts, distance, reach_needed, ids, reach, only, marks, word_bits):
    """Append to every gram of a node the word `distance` places later.

    Only positions whose reach is at least `reach_needed` have such a gram. `only`, unless empty, keeps
    the positions that it marks. `marks`, unless empty, receives for the first position of every new gram
    whether it is repeated or occurs once. Returns (positions, starts) of the new node, and `begins`: the
    new grams that extend old gram g are begins[g] to begins[g+1].
    """
    n_groups = starts.size - 1
    longest = 1
    for g in range(n_groups):
        longest = max(longest, starts[g + 1] - starts[g])
    keys = np.empty(longest, np.int64)
    spare = np.empty(longest if longest > 768 else 1, np.int64)
    buckets = np.empty((1 << ((word_bits + 1) // 2)) + 1, np.int64)
    new_positions = np.empty(positions.size, np.int32)
    new_starts = np.empty(positions.size + 1, np.int32)
    begins = np.empty(n_groups + 1, np.int32)
    used = 0
    grams = 0
    for g in range(n_groups):
        begins[g] = grams
        n = 0
        for i in range(starts[g], starts[g + 1]):
            t = positions[i] + distance
            if t < ids.size and reach[t] >= reach_needed and (only.size == 0 or only[t] > 0):
                keys[n] = np.int64(ids[t]) << 32 | t
                n += 1
        if n > 1:
            sort_by_word(keys, n, spare, buckets, word_bits)
        previous = np.int64(-1)
        for i in range(n):
            word = keys[i] >> 32
            if word != previous:
                new_starts[grams] = used
                grams += 1
                previous = word
            new_positions[used] = keys[i] & 0xFFFFFFFF
            used += 1
    begins[n_groups] = grams
    new_starts[grams] = used
    if marks.size:
        for g in range(grams):
            once = new_starts[g + 1] - new_starts[g] == 1
            marks[new_positions[new_starts[g]]] = ONCE if once else REPEATED
    return new_positions[:used].copy(), new_starts[: grams + 1].copy(), begins
