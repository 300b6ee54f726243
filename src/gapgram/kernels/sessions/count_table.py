"""Decayed counts of words after contexts, in a hash table: what a reader has read.

A table has open addressing and is at most half full. A context has an entry with the sum of its counts; each word that
followed it has one with its own count. The entries of a context's words are linked. An entry is four numbers side by
side, so that it is read at once:

    KEY         hash of view and context, or of these and the word; 0 where the slot is empty
    COUNT       float64: the decayed count when it was last changed
    TIME        the number of words read by then
    LINK        following + 1, in the lower 32 bits: the slot of the next word of the same context, or -1; of a context
                that of its first word. The upper half is the word; of a context -1 - how many words followed it

`cells` and `values` are the same memory, [4 * slots], as int64 and as float64; `used` [1] counts the slots taken.

A reader has two tables: one that is shared with its copies and never changed, and one of its own, which is looked at
first and holds what was read since.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.intrinsics import prefetch

AGO = 512  # words back for which decays are at hand, and multiples of so many

KEY, COUNT, TIME, LINK = 0, 1, 2, 3  # of an entry
LOW = np.int64((1 << 32) - 1)
NO_WORDS = np.int64(-1) << 32  # the link of a context that nothing followed


class CountTable(NamedTuple):
    """The table of the module's head."""

    cells: np.ndarray
    values: np.ndarray
    used: np.ndarray


@kernel
def mixed(a, b):
    """A hash of a hash and a number; never 0."""
    h = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(b + 7) * np.uint64(0xC2B2AE3D27D4EB4F)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(32)
    return np.int64(h | np.uint64(1))


@kernel
def find(table, key):
    """Where the entry of a key lies, or -1."""
    last = table.cells.size - 1
    at = (key << 2) & last
    while table.cells[at] != 0:
        if table.cells[at] == key:
            return at
        at = (at + 4) & last
    return np.int64(-1)


@kernel
def ask_for(table, key):
    """Begin to bring the entry of a key near."""
    prefetch(table.cells, (key << 2) & (table.cells.size - 1))


@kernel
def _begin(table, at, key):
    """Make a free slot the entry of a key: a context with a count of 0 and no words."""
    table.cells[at + KEY] = key
    table.values[at + COUNT] = 0.0
    table.cells[at + TIME] = 0
    table.cells[at + LINK] = NO_WORDS
    table.used[0] += 1


@kernel
def insert(table, key):
    """Where the entry of a key lies that was not there: a context with a count of 0 and no words."""
    last = table.cells.size - 1
    at = (key << 2) & last
    while table.cells[at] != 0:
        at = (at + 4) & last
    _begin(table, at, key)
    return at


@kernel
def following_of(table, at):
    """Where the next word of the same context lies, or a context's first; -1 where there is none."""
    return ((table.cells[at + LINK] & LOW) - 1) << 2


@kernel
def set_following(table, at, following):
    """Link an entry to the next word of the same context."""
    table.cells[at + LINK] = (table.cells[at + LINK] & ~LOW) | ((following >> 2) + 1)


@kernel
def word_of(table, at):
    """The word of an entry; of a context -1 - how many words followed it."""
    return table.cells[at + LINK] >> 32


@kernel
def owned(shared, own, key):
    """(where a key lies in the own table, whether it was put there now, whether it is new altogether)."""
    last = own.cells.size - 1
    at = (key << 2) & last
    while own.cells[at] != 0:
        if own.cells[at] == key:
            return at, False, False
        at = (at + 4) & last
    _begin(own, at, key)
    old = find(shared, key)
    if old < 0:
        return at, True, True
    own.values[at + COUNT] = shared.values[old + COUNT]
    own.cells[at + TIME] = shared.cells[old + TIME]
    own.cells[at + LINK] = shared.cells[old + LINK] & ~LOW
    return at, True, False


@kernel
def left(decays, v, ago):
    """What is left of a count after so many words: of the last ones, of each AGO before them."""
    if ago < AGO:
        return decays[v, ago]
    if ago < AGO * AGO:
        return decays[v, ago % AGO] * decays[v, AGO + ago // AGO]
    return decays[v, 1] ** float(ago)


@kernel
def count_of(shared, own, key, decays, v, now):
    """(the decayed count of a key, how many words followed it); -1 where it was never read."""
    at = find(own, key)
    if at >= 0:
        return own.values[at + COUNT] * left(decays, v, now - own.cells[at + TIME]), -1 - word_of(own, at)
    at = find(shared, key)
    if at >= 0:
        return shared.values[at + COUNT] * left(decays, v, now - shared.cells[at + TIME]), -1 - word_of(shared, at)
    return -1.0, np.int64(0)


@kernel
def move_table(old, new):
    """Copy all entries of a table into another, empty and larger one."""
    moved = np.empty(old.cells.size >> 2, np.int64)
    for at in range(0, old.cells.size, 4):
        if old.cells[at] != 0:
            there = insert(new, old.cells[at + KEY])
            moved[at >> 2] = there
            new.values[there + COUNT] = old.values[at + COUNT]
            new.cells[there + TIME] = old.cells[at + TIME]
            new.cells[there + LINK] = old.cells[at + LINK] & ~LOW
    for at in range(0, old.cells.size, 4):
        if old.cells[at] != 0 and following_of(old, at) >= 0:
            set_following(new, moved[at >> 2], moved[following_of(old, at) >> 2])


@kernel
def merge_table(own, whole):
    """Put the entries of a reader's own table into a copy of the shared one, whose entries they replace."""
    for slot in range(0, own.cells.size, 4):
        if own.cells[slot] == 0 or word_of(own, slot) >= 0:
            continue
        context = find(whole, own.cells[slot])
        if context < 0:
            context = insert(whole, own.cells[slot])
        whole.values[context + COUNT] = own.values[slot + COUNT]
        whole.cells[context + TIME] = own.cells[slot + TIME]
        whole.cells[context + LINK] = (own.cells[slot + LINK] & ~LOW) | (whole.cells[context + LINK] & LOW)
        gram = following_of(own, slot)
        while gram >= 0:
            there = find(whole, own.cells[gram])
            if there < 0:
                there = insert(whole, own.cells[gram])
                whole.cells[there + LINK] = own.cells[gram + LINK] & ~LOW
                set_following(whole, there, following_of(whole, context))
                set_following(whole, context, there)
            whole.values[there + COUNT] = own.values[gram + COUNT]
            whole.cells[there + TIME] = own.cells[gram + TIME]
            gram = following_of(own, gram)
