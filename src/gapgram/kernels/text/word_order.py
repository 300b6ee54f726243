"""The order of the words of a table (`kernels.text.words`): by falling count, then by their bytes."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.counting.sorting import sort_with

FIRST = 8  # bytes of a word that fit into a number


@kernel
def first_bytes(pool, offsets, first, last):
    """The first bytes of words first … last-1 as numbers that have their order; zeros where a word is shorter."""
    out = np.zeros(last - first, np.uint64)
    for word in range(first, last):
        begin, end = offsets[word], offsets[word + 1]
        for i in range(FIRST):
            byte = np.uint64(pool[begin + i]) if begin + i < end else np.uint64(0)
            out[word - first] = out[word - first] << np.uint64(8) | byte
    return out


@kernel
def order_words(counts, numbers):
    """The order of words by falling count, then by their numbers, then as they come."""
    highest = np.int64(0)
    for count in counts:
        highest = max(highest, count)
    order = np.arange(counts.size)
    keys = numbers.copy()
    sort_with(keys, order)
    for i in range(order.size):
        keys[i] = np.uint64(highest - counts[order[i]])
    sort_with(keys, order)
    return order


@kernel
def renumber(ids, numbers, out):
    """Write the number of each id, numbers[id]."""
    for i in range(ids.size):
        out[i] = numbers[np.uint64(ids[i])]


@kernel
def _before(pool, offsets, a, b):
    """Whether word a comes before word b, whose first bytes are the same."""
    a_at, a_end, b_at, b_end = offsets[a], offsets[a + 1], offsets[b], offsets[b + 1]
    for i in range(min(a_end - a_at, b_end - b_at)):
        if pool[a_at + i] != pool[b_at + i]:
            return pool[a_at + i] < pool[b_at + i]
    return a_end - a_at < b_end - b_at


@kernel
def sort_ties(order, counts, numbers, first, pool, offsets):
    """Sort, in place, each run of words with the same count and first bytes by all their bytes.

    order: of words, less `first`, by falling count and then by `numbers`, their first bytes.
    """
    begin = 0
    while begin < order.size:
        end = begin + 1
        word = order[begin]
        while end < order.size and counts[order[end]] == counts[word] and numbers[order[end]] == numbers[word]:
            end += 1
        if end - begin > 1:
            _merge_sort(order[begin:end], first, pool, offsets)
        begin = end


@kernel
def _merge_sort(order, first, pool, offsets):
    merged = np.empty_like(order)
    width = 1
    while width < order.size:
        for begin in range(0, order.size, 2 * width):
            middle, end = min(begin + width, order.size), min(begin + 2 * width, order.size)
            a, b = begin, middle
            for i in range(begin, end):
                if b >= end or (a < middle and not _before(pool, offsets, first + order[b], first + order[a])):
                    merged[i] = order[a]
                    a += 1
                else:
                    merged[i] = order[b]
                    b += 1
        for i in range(order.size):
            order[i] = merged[i]
        width *= 2


@kernel
def gathered(pool, offsets, words):
    """(pool, offsets) of these words, in this order."""
    new_offsets = np.zeros(words.size + 1, np.int64)
    for i in range(words.size):
        new_offsets[i + 1] = new_offsets[i] + offsets[words[i] + 1] - offsets[words[i]]
    out = np.empty(new_offsets[-1], np.uint8)
    for i in range(words.size):
        begin, to = offsets[words[i]], new_offsets[i]
        for k in range(new_offsets[i + 1] - to):
            out[to + k] = pool[begin + k]
    return out, new_offsets
