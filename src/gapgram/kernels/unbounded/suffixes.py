"""A text of ids, its places sorted by the words from there to the end of their sentence, and its n-grams by hash.

    text        int32: `<s> … </s>` for every sentence, in the order of the text
    suffixes    int32: its places; equal ones, and those that are equal for MOST + 1 words, in the order of the text
    slots       uint64: a hash table with linear probing of the n-grams of `order` words that words follow. An entry is
                size << 39 | tag << 31 | where the places of the n-gram begin in `suffixes`; 0 is an empty slot

Large files are not looked through when they are opened: kernels believe no place, and read inside their arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import inlined, kernel
from gapgram.kernels.intrinsics import prefetch
from gapgram.kernels.text.special_words import END_ID, START_ID

MOST = 1000  # words of a context that are looked for
MOST_SIZE = (1 << 25) - 1  # of an n-gram's places, as its slot says it
TOGETHER = 32  # positions that are looked for at a time
_RUN = 8  # places that are sorted by insertion


class TextIndex(NamedTuple):
    """The arrays of the module's head."""

    text: np.ndarray
    suffixes: np.ndarray
    slots: np.ndarray
    order: int


@inlined
def word_at(index, place):
    """The word at a place of the text; `</s>` where it has none."""
    return np.int64(index.text[np.uint64(place)]) if 0 <= place < index.text.size else np.int64(END_ID)


@inlined
def word_after(index, i, depth):
    """The word so many words after the i-th place in order."""
    return word_at(index, np.int64(index.suffixes[np.uint64(i)]) + depth)


@kernel
def _keys_at(text, places, begin, end, depth, bits, keys):
    """The next words of each place as one number; nothing follows the end of a sentence."""
    n_words = 62 // bits
    for i in range(begin, end):
        key, at, ended = np.int64(0), places[i] + depth, False
        for k in range(n_words):
            word = np.int64(0)
            if not ended and at + k < text.size:
                word = np.int64(text[at + k]) + 1
                ended = word == END_ID + 1
            key = key << bits | word
        keys[i - begin] = key


@kernel
def _is_ended(key, bits):
    """Whether a sentence ends in the words of a key."""
    mask, ended = (np.int64(1) << bits) - 1, False
    for _ in range(62 // bits):
        ended = ended or (key & mask) in (0, END_ID + 1)
        key >>= bits
    return ended


@kernel
def _sort_by_keys(keys, places, begin, n, other_keys, other_places):
    """Sort n places by their keys, keeping the order of equal ones: short runs by insertion, then merged."""
    for first in range(0, n, _RUN):
        for i in range(first + 1, min(first + _RUN, n)):
            key, place, j = keys[i], places[begin + i], i
            while j > first and keys[j - 1] > key:
                keys[j], places[begin + j] = keys[j - 1], places[begin + j - 1]
                j -= 1
            keys[j], places[begin + j] = key, place
    width = _RUN
    while width < n:
        for first in range(0, n, 2 * width):
            middle, last = min(first + width, n), min(first + 2 * width, n)
            a, b = first, middle
            for at in range(first, last):
                if a < middle and (b >= last or keys[a] <= keys[b]):
                    other_keys[at], other_places[at] = keys[a], places[begin + a]
                    a += 1
                else:
                    other_keys[at], other_places[at] = keys[b], places[begin + b]
                    b += 1
        keys[:n] = other_keys[:n]
        places[begin : begin + n] = other_places[:n]
        width *= 2


@kernel
def sort_suffixes(text, starts, first_word, last_word, bits, places):
    """Sort the places of some words, which are sorted by word and then by place; bits: that hold any id + 1.

    starts: where the places of each word begin.
    """
    most = np.int64(1)
    for word in range(first_word, last_word):
        most = max(most, starts[word + 1] - starts[word])
    keys, other_keys, other_places = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int32)
    # Groups that are yet to be sorted: where they begin and end, and how many words they have in common
    groups = np.empty((1024, 3), np.int64)
    for word in range(first_word, last_word):
        n_groups = 0
        if starts[word + 1] - starts[word] > 1 and word != END_ID:
            groups[0, 0], groups[0, 1], groups[0, 2], n_groups = starts[word], starts[word + 1], 1, 1
        while n_groups > 0:
            n_groups -= 1
            begin, end, depth = groups[n_groups]
            n = end - begin
            _keys_at(text, places, begin, end, depth, bits, keys)
            _sort_by_keys(keys, places, begin, n, other_keys, other_places)
            depth += 62 // bits
            first = 0
            for i in range(1, n + 1):
                if i == n or keys[i] != keys[first]:
                    if i - first > 1 and depth <= MOST and not _is_ended(keys[first], bits):
                        if n_groups == groups.shape[0]:
                            larger = np.empty((2 * n_groups, 3), np.int64)
                            larger[:n_groups] = groups
                            groups = larger
                        groups[n_groups, 0], groups[n_groups, 1], groups[n_groups, 2] = begin + first, begin + i, depth
                        n_groups += 1
                    first = i


@inlined
def hash_of(words, begin, order):
    """A hash of some words."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for k in range(begin, begin + order):
        h = (h ^ np.uint64(words[k])) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
    return h


@inlined
def slot_of(h, n_slots):
    """Where the entry of a hash is looked for first."""
    return np.int64(((h >> np.uint64(32)) * np.uint64(n_slots)) >> np.uint64(32))


@inlined
def tag_of(h):
    """What an entry keeps of a hash."""
    return np.int64(h & np.uint64(255))


@kernel
def _same_words(text, a, b, n):
    """Whether the n words from two places are the same."""
    same = True
    for k in range(n):
        same = same and text[a + k] == text[b + k]
    return same


@kernel
def _is_gram(text, place, order):
    """Whether a sentence has so many words from a place, and one after them."""
    fits = place + order < text.size
    for k in range(order if fits else 0):
        fits = fits and text[place + k] != END_ID
    return fits


@kernel
def count_grams(text, suffixes, order):
    """How many different n-grams of `order` words are followed by a word."""
    n, before = np.int64(0), np.int64(-1)
    for i in range(suffixes.size):
        place = np.int64(suffixes[i])
        if _is_gram(text, place, order) and (before < 0 or not _same_words(text, before, place, order)):
            n += 1
            before = place
    return n


@kernel
def fill_slots(text, suffixes, order, slots):
    """Enter all n-grams; the slots are more, and empty."""
    begin = np.int64(-1)
    for i in range(suffixes.size + 1):
        place, is_gram = np.int64(-1), False
        if i < suffixes.size:
            place = np.int64(suffixes[i])
            is_gram = _is_gram(text, place, order)
            if is_gram and begin >= 0 and _same_words(text, np.int64(suffixes[begin]), place, order):
                continue
        if begin >= 0:
            h = hash_of(text, np.int64(suffixes[begin]), order)
            at = slot_of(h, slots.size)
            while slots[at] != 0:
                at = at + 1 if at + 1 < slots.size else 0
            slots[at] = np.uint64(min(i - begin, MOST_SIZE) << 39 | tag_of(h) << 31 | begin)
        begin = i if is_gram else np.int64(-1)


@kernel
def narrow(index, low, high, depth, word):
    """Of places low … high - 1 in order, equal for so many words, those that go on with a word: where they begin, end.
    """
    if high - low == 1:
        return low, low + (word_after(index, low, depth) == word)
    a, b = low, high
    while a < b:
        middle = (a + b) >> 1
        if word_after(index, middle, depth) < word:
            a = middle + 1
        else:
            b = middle
    begin, b = a, high
    step = 1  # what is sought lies near: most words follow few times
    while a + step < high and word_after(index, a + step, depth) <= word:
        a += step
        step *= 2
    b = min(a + step, high)
    while a < b:
        middle = (a + b) >> 1
        if word_after(index, middle, depth) <= word:
            a = middle + 1
        else:
            b = middle
    return begin, a


@kernel
def find_gram(index, words, begin):
    """Where the places of an n-gram of `order` words begin and end; (0, 0) where the text does not have it."""
    n, order = index.slots.size, index.order
    if n == 0:
        return np.int64(0), np.int64(0)
    h = hash_of(words, begin, order)
    at, tag = slot_of(h, n), tag_of(h)
    for _ in range(n):
        entry = np.int64(index.slots[np.uint64(at)])
        if entry == 0:
            break
        if entry >> 31 & 255 == tag:
            low = entry & 0x7FFFFFFF
            high = low + (entry >> 39)
            if high <= index.suffixes.size:
                same = True
                for k in range(order):
                    same = same and word_after(index, low, k) == words[begin + k]
                if same:
                    return low, high
        at = at + 1 if at + 1 < n else 0
    return np.int64(0), np.int64(0)


@kernel
def _narrow_all(index, active, depths, words, lows, highs):
    """`narrow` for several searches at a time, in place: while the memory of one is fetched others go on."""
    first, last = np.empty(active.size, np.int64), np.empty(active.size, np.int64)
    for k in range(active.size):
        first[k], last[k] = lows[active[k]], highs[active[k]]
    for side in range(2):  # where places of the word begin; where they end
        goes_on = True
        while goes_on:
            goes_on = False
            for k in range(active.size):
                prefetch(index.suffixes, min((first[k] + last[k]) >> 1, index.suffixes.size - 1))
            for k in range(active.size):
                if first[k] < last[k]:
                    place = np.int64(index.suffixes[np.uint64((first[k] + last[k]) >> 1)]) + depths[active[k]]
                    prefetch(index.text, min(max(place, 0), index.text.size - 1))
            for k in range(active.size):
                if first[k] < last[k]:
                    i, middle = active[k], (first[k] + last[k]) >> 1
                    word = word_after(index, middle, depths[i])
                    if word < words[i] or (side == 1 and word == words[i]):
                        first[k] = middle + 1
                    else:
                        last[k] = middle
                    goes_on = True
        for k in range(active.size):
            i = active[k]
            if side == 1:
                highs[i] = first[k]
            else:
                lows[i] = first[k]
                found = first[k] < highs[i] and word_after(index, first[k], depths[i]) == words[i]
                last[k] = highs[i] if found else first[k]


@kernel
def longest_matches(index, starts, ids, begins, lengths, counts, lows):
    """Of each position of sentences how many words from there on the text has side by side, and how often, and where
    its places begin in order; starts: where the places of each word begin."""
    order, ends, n_left = index.order, np.empty(ids.size, np.int64), np.empty(ids.size, np.int64)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            n_left[t] = min(begins[s + 1] - t, MOST)
    searches = np.empty((4, TOGETHER), np.int64)
    depths, words, first, last = searches[0], searches[1], searches[2], searches[3]
    for begin in range(0, ids.size, TOGETHER):
        n = min(TOGETHER, ids.size - begin)
        for i in range(n):
            if n_left[begin + i] > order and index.slots.size > 0:
                prefetch(index.slots, slot_of(hash_of(ids, begin + i, order), index.slots.size))
        for i in range(n):
            t = begin + i
            low, high = find_gram(index, ids, t) if n_left[t] > order else (np.int64(0), np.int64(0))
            lengths[t] = order if high > low else 0
            if high <= low:
                low, high = starts[ids[t]], starts[ids[t] + 1]
                lengths[t] = np.int64(high > low)
            lows[t], ends[t] = low, high
        active = np.arange(n)
        while active.size > 0:
            n_active = 0
            for k in range(active.size):
                t = begin + active[k]
                if 0 < lengths[t] < n_left[t]:
                    i = active[k]
                    active[n_active] = i
                    n_active += 1
                    depths[i], words[i] = lengths[t], ids[t + lengths[t]]
                    first[i], last[i] = lows[t], ends[t]
            active = active[:n_active]
            _narrow_all(index, active, depths, words, first, last)
            n_active = 0
            for k in range(active.size):
                i, t = active[k], begin + active[k]
                if last[i] > first[i]:
                    lows[t], ends[t] = first[i], last[i]
                    lengths[t] += 1
                    active[n_active] = i
                    n_active += 1
            active = active[:n_active]
    for t in range(ids.size):
        counts[t] = ends[t] - lows[t]


@kernel
def find_words(index, words):
    """Where the places of some words, as many as they are, begin and end among all places in order."""
    low, high = np.int64(0), np.int64(index.suffixes.size)
    for k in range(words.size):
        if high > low:
            low, high = narrow(index, low, high, k, np.int64(words[k]))
    return low, high


@kernel
def find_places(text, some, begin, offsets, words, class_of, reach, out):
    """Fill the places of a text where words, or such of their classes where `class_of` has any, stand at distances
    before, `reach` at most, in one sentence; returns how many. some: places to look at, so many words before; empty:
    all from the first on."""
    n, last_class = np.int64(0), class_of.size - 1
    for i in range(out.size):
        at = np.int64(some[i]) + begin if some.size > 0 else np.int64(i)
        if i + 16 < some.size:
            prefetch(text, min(np.int64(some[i + 16]) + begin, text.size - 1))
        if not reach <= at < text.size:
            continue
        n_same = 0
        while n_same < offsets.size:
            word, wanted = np.int64(text[at - offsets[n_same]]), words[n_same]
            if last_class >= 0:
                word, wanted = np.int64(class_of[max(min(word, last_class), 0)]), np.int64(class_of[wanted])
            if word != wanted:
                break
            n_same += 1
        is_sentence = n_same == offsets.size
        for k in range(reach if is_sentence else 0):
            is_sentence = is_sentence and text[at - k] != START_ID
        if is_sentence:
            out[n] = at
            n += 1
    return n
