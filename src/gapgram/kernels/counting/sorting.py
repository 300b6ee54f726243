"""Places of a text, sorted into groups of equal grams.

A text is `ids`, here windows laid one after the other (`gapgram.counting.band`), and `reach`, for each
place how far back its grams may reach. A node of the tree of patterns holds the positions at which a pattern
has a gram, sorted by the oldest word of the gram, then by the keys of the others (`kernels.tables.arrays`), then by
position: `positions`, with group g (one distinct gram) being `positions[starts[g]:starts[g+1]]`. The nodes below
it append a word at a distance, so they only sort inside the groups.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.tables.keys import key_of
from gapgram.kernels.text.special_words import END_ID, START_ID

_DIGIT = 8  # bits that keys are sorted by at a time
_FEW_LEFT = 8  # words that are compared with each other
_FEW, _MANY = 32, 768  # keys that are sorted by putting each where it belongs, and by whole halves of their bits


@kernel
def sort_with(keys, items):
    """Sort keys, none below 0, and items, each with its own; what has the same key stays in its order."""
    highest = np.uint64(0)
    for key in keys:
        highest = max(highest, key)
    source, source_items = keys, items
    target, target_items = np.empty_like(keys), np.empty_like(items)
    begins = np.empty((1 << _DIGIT) + 1, np.int64)
    mask, shift = np.uint64((1 << _DIGIT) - 1), np.uint64(0)
    # Digit by digit: few places are written to at a time, and all is read from front to back.
    while shift < 64 and highest >> shift > 0:
        begins[:] = 0
        for i in range(source.size):
            begins[(source[i] >> shift & mask) + np.uint64(1)] += 1
        add_up(begins)
        for i in range(source.size):
            digit = source[i] >> shift & mask
            at = begins[digit]
            begins[digit] = at + 1
            target[at], target_items[at] = source[i], source_items[i]
        source, target = target, source
        source_items, target_items = target_items, source_items
        shift += np.uint64(_DIGIT)
    if shift // np.uint64(_DIGIT) % np.uint64(2) == 1:
        keys[:], items[:] = source, source_items


@kernel
def windows_at(ids, positions, order):
    """[window, order + 1]: the word before each position, its own, and the order - 1 after it.

    -1 stands where there is none: before `<s>`, and after `</s>`.
    """
    out = np.full((positions.size, order + 1), -1, np.int32)
    for i in range(positions.size):
        t = positions[i]
        if ids[t] != START_ID:
            out[i, 0] = ids[t - 1]
        for d in range(order):
            out[i, 1 + d] = ids[t + d]
            if ids[t + d] == END_ID:
                break
    return out


@kernel
def window_reach(windows):
    """For each place of the windows laid one after the other what it reaches back to; 0 where there is no word.

    Place d after the oldest word reaches back d words, and one more where there is a word to their left.
    """
    width = windows.shape[1]
    reach = np.zeros(windows.size, np.uint8)
    for i in range(windows.shape[0]):
        left = 1 if windows[i, 0] >= 0 else 0
        reach[i * width] = left
        for d in range(width - 1):
            if windows[i, 1 + d] < 0:
                break
            reach[i * width + 1 + d] = d + left
    return reach


@kernel
def add_up(numbers):
    """Make each number the sum of all up to it: how many there are of each become where each begins."""
    for i in range(1, numbers.size):
        numbers[i] += numbers[i - 1]


@kernel
def starts_by_word(ids, n_words):
    """Where each word's begin, and the last word's end, once ids are sorted by word."""
    starts = np.zeros(n_words + 1, np.int64)
    for t in range(ids.size):
        starts[ids[t] + 1] += 1
    add_up(starts)
    return starts


@kernel
def positions_by_word(ids, n_words):
    """All positions sorted by word: the root of the tree, one group a word, empty ones included."""
    starts = starts_by_word(ids, n_words)
    fill = starts[:-1].copy()
    positions = np.empty(ids.size, np.int32)
    for t in range(ids.size):
        positions[fill[ids[t]]] = t
        fill[ids[t]] += 1
    return positions, starts


@kernel
def count_words(ids, begin, end, counts):
    """Count the words at positions begin … end-1."""
    for t in range(begin, end):
        counts[ids[t]] += 1


@kernel
def begins_of_spans(counts):
    """Make how often each word is in each span, [span, word], where its positions there begin, sorted by word.

    Returns where each word's begin, and the last word's end.
    """
    n_words = counts.shape[1]
    starts = np.zeros(n_words + 1, np.int64)
    for s in range(counts.shape[0]):
        for w in range(n_words):
            starts[w + 1] += counts[s, w]
    add_up(starts)
    following = starts[:-1].copy()
    for s in range(counts.shape[0]):
        for w in range(n_words):
            n = counts[s, w]
            counts[s, w] = following[w]
            following[w] += n
    return starts


@kernel
def place_words(ids, begin, end, following, positions):
    """Put positions begin … end-1 where they belong, sorted by word; `following` says where the next of each goes."""
    for t in range(begin, end):
        positions[following[ids[t]]] = t
        following[ids[t]] += 1


@kernel
def sort_by_key(keys, n, spare, buckets, key_bits):
    """Sort keys[:n] = key of the word << 32 | position, given in order of position."""
    if n <= _FEW:
        for i in range(1, n):
            key = keys[i]
            j = i - 1
            while j >= 0 and keys[j] > key:
                keys[j + 1] = keys[j]
                j -= 1
            keys[j + 1] = key
        return
    # In two passes, or where buckets would be more than keys, in four.
    digit = (key_bits + 1) // 2 if n > _MANY else (key_bits + 3) // 4
    mask = (1 << digit) - 1
    for shift in range(32, 32 + key_bits, 2 * digit):
        _radix_pass(keys, n, spare, buckets, shift, mask)
        _radix_pass(spare, n, keys, buckets, shift + digit, mask)


@kernel
def _radix_pass(source, n, target, buckets, shift, mask):
    for b in range(mask + 2):
        buckets[b] = 0
    for i in range(n):
        buckets[(source[i] >> shift & mask) + 1] += 1
    for b in range(mask + 1):
        buckets[b + 1] += buckets[b]
    for i in range(n):
        b = source[i] >> shift & mask
        target[buckets[b]] = source[i]
        buckets[b] += 1


@kernel
def refine(positions, starts, distance, reach_needed, ids, reach, only, marks, key_bits):
    """Append to every gram of a node the word `distance` places later, or earlier where it is negative.

    Only places whose reach is at least `reach_needed` have such a gram; a word is never appended where
    there is none. `only`, unless empty, keeps the places that it marks. `marks`, unless empty, receives a
    mark at the first place of every new gram. Returns (positions, starts) of the new node, and `begins`: the
    new grams that extend old gram g are begins[g] to begins[g+1].
    """
    n_groups = starts.size - 1
    longest = 1
    for g in range(n_groups):
        longest = max(longest, starts[g + 1] - starts[g])
    keys = np.empty(longest, np.int64)
    spare = np.empty(longest if longest > _FEW else 1, np.int64)
    buckets = np.empty((1 << ((key_bits + 1) // 2)) + 1, np.int64)
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
            if ids[t] >= 0 and reach[t] >= reach_needed and (only.size == 0 or only[t] > 0):
                keys[n] = key_of(ids[t], key_bits) << 32 | t
                n += 1
        if n > 1:
            sort_by_key(keys, n, spare, buckets, key_bits)
        previous = np.int64(-1)
        for i in range(n):
            key = keys[i] >> 32
            if key != previous:
                new_starts[grams] = used
                grams += 1
                previous = key
            new_positions[used] = keys[i] & 0xFFFFFFFF
            used += 1
    begins[n_groups] = grams
    new_starts[grams] = used
    if marks.size:
        for g in range(grams):
            marks[new_positions[new_starts[g]]] = 1
    return new_positions[:used].copy(), new_starts[: grams + 1].copy(), begins


@kernel
def newest_words(positions, starts, ids):
    """The last word of each group's gram; no group is empty."""
    words = np.empty(starts.size - 1, np.int32)
    for g in range(words.size):
        words[g] = ids[positions[starts[g]]]
    return words


@kernel
def count_left(positions, starts, distance, ids, n_words):
    """How many different words stand `distance` places before each group's positions; where none does, how many
    positions the group has."""
    counts = np.empty(starts.size - 1, np.int64)
    last_seen = np.full(n_words, -1, np.int32)  # by which group each word was met, of the large ones
    for g in range(counts.size):
        begin, end = starts[g], starts[g + 1]
        n = 0
        for i in range(begin, end):
            word = ids[positions[i] - distance]
            if word < 0:
                continue
            if end - begin > _FEW_LEFT:
                n += last_seen[word] != g
                last_seen[word] = g
            else:
                is_new = True
                for j in range(begin, i):
                    if ids[positions[j] - distance] == word:
                        is_new = False
                        break
                n += is_new
        counts[g] = n if n > 0 else end - begin
    return counts
