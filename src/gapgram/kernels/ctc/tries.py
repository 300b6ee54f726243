"""Pairs of numbers and what they lead to, in a hash table; words letter by letter in a trie made of such pairs.

A table is int64 [slot, 2]: a pair (`pair_of`) and a number, or EMPTY. Its length is a power of two, and at most half of
its slots are taken. In a trie the pair is a node and a letter, and leads to the node after that letter; node 0 is the
beginning, and a node has a larger number than the one that leads to it.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel

EMPTY = -1
NONE = -1  # where a node or a word is missing
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def pair_of(first, second):
    """Two numbers of at most 31 bits as one."""
    return (np.int64(first) << 32) | np.int64(second)


@kernel
def place_of(slots, pair):
    """The slot that holds a pair, or the empty one where it belongs."""
    mask = slots.shape[0] - 1
    at = np.int64((np.uint64(pair) * _GOLDEN) >> np.uint64(32)) & mask
    while slots[at, 0] != pair and slots[at, 0] != EMPTY:
        at = (at + 1) & mask
    return at


@kernel
def led_to(slots, first, second):
    """What a pair leads to; NONE where it is not there."""
    at = place_of(slots, pair_of(first, second))
    return slots[at, 1] if slots[at, 0] != EMPTY else np.int64(NONE)


@kernel
def add_words(letters, begins, slots, first, n_nodes, ends):
    """Add words from number `first` on, until all are in the trie or its table is half full.

    letters: of all words, one after the other; word i has those from begins[i] to begins[i + 1]. A word with a letter
    below 0 cannot be spelled. ends: receives the node that each word ends in, or NONE.
    Returns (the first word that is not in, the number of nodes).
    """
    for i in range(first, begins.size - 1):
        begin, end = begins[i], begins[i + 1]
        if 2 * (n_nodes + end - begin) > slots.shape[0]:
            return i, n_nodes
        can_be_spelled = end > begin
        for k in range(begin, end):
            can_be_spelled = can_be_spelled and letters[k] >= 0
        ends[i] = NONE
        if not can_be_spelled:
            continue
        node = np.int64(0)
        for k in range(begin, end):
            pair = pair_of(node, letters[k])
            at = place_of(slots, pair)
            if slots[at, 0] == EMPTY:
                slots[at, 0], slots[at, 1] = pair, n_nodes
                n_nodes += 1
            node = slots[at, 1]
        ends[i] = node
    return begins.size - 1, n_nodes


@kernel
def copy_pairs(slots, larger):
    """Put the pairs of a table into an empty one."""
    for i in range(slots.shape[0]):
        if slots[i, 0] != EMPTY:
            at = place_of(larger, slots[i, 0])
            larger[at, 0], larger[at, 1] = slots[i, 0], slots[i, 1]


@kernel
def raise_to_parents(slots, values):
    """Give each node the largest of its own value and those of all nodes that it leads to."""
    parents = np.zeros(values.size, np.int64)
    for i in range(slots.shape[0]):
        if slots[i, 0] != EMPTY:
            parents[slots[i, 1]] = slots[i, 0] >> 32
    for node in range(values.size - 1, 0, -1):
        values[parents[node]] = max(values[parents[node]], values[node])
