"""Bytes to word ids: a hash table of words that is also the vocabulary of a model.

A table is four arrays. `pool` holds the bytes of all words one after the other, word i being
`pool[offsets[i]:offsets[i+1]]`. `slots` (a power of two long, at most half full) holds for each word
its id and 31 bits of its hash, `tag << 32 | id`, or -1. `counts[i]` is how often it was met.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import inlined, kernel
from gapgram.kernels.intrinsics import CHUNK, part_of, prefetch
from gapgram.kernels.lanes import LANES
from gapgram.kernels.text.cut_words import HASH_FACTOR, cut, finished, hash_word, hash_words, next_word
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID

# What is done with a word of the text that is <unk>, <s> or </s>.
REFUSE_SPECIAL, SKIP_SPECIAL, ALLOW_UNKNOWN = 0, 1, 2

# Why `encode_lines` or `learn_lines` returned; the last, why `kernels.probability.query.score_lines` did not begin.
DONE, TABLE_FULL, SPECIAL_FOUND, NOT_UTF8 = 0, 1, 2, 3

_BATCH = 256  # words that are looked up together


@kernel
def keyed(h, key):
    """The hash that a table with a key uses; with key 0 the hash itself."""
    if key == np.uint64(0):
        return h
    return finished((h ^ key) * HASH_FACTOR)


@kernel
def first_slot(h, slots):
    """The slot where a word with this hash is looked for first."""
    return np.int64(h & np.uint64(0x7FFFFFFF)) & (slots.size - 1)


@inlined
def _eight_bytes(text, i):
    """text[i : i + 8] as one number, which is one instruction."""
    i, word = np.uint64(i), np.uint64(0)
    word |= np.uint64(text[i])
    word |= np.uint64(text[i + np.uint64(1)]) << np.uint64(8)
    word |= np.uint64(text[i + np.uint64(2)]) << np.uint64(16)
    word |= np.uint64(text[i + np.uint64(3)]) << np.uint64(24)
    word |= np.uint64(text[i + np.uint64(4)]) << np.uint64(32)
    word |= np.uint64(text[i + np.uint64(5)]) << np.uint64(40)
    word |= np.uint64(text[i + np.uint64(6)]) << np.uint64(48)
    return word | np.uint64(text[i + np.uint64(7)]) << np.uint64(56)


@inlined
def _are_equal(text, begin, pool, start, size):
    """Whether text[begin : begin + size] is pool[start : start + size], both of which are there."""
    i = 0
    if begin + size + 8 <= text.size and start + size + 8 <= pool.size:
        # Eight bytes at a time, the last time fewer: a processor foresees how often better than where a word ends.
        while size - i > 8:
            if _eight_bytes(text, begin + i) != _eight_bytes(pool, start + i):
                return False
            i += 8
        differing = _eight_bytes(text, begin + i) ^ _eight_bytes(pool, start + i)
        return size == i or differing << np.uint64(64 - 8 * (size - i)) == np.uint64(0)
    while i < size and pool[np.uint64(start + i)] == text[np.uint64(begin + i)]:
        i += 1
    return i == size


@kernel
def find_slot(text, begin, end, h, slots, pool, offsets):
    """The slot of a word, or the empty slot where it belongs."""
    mask, n_words, size = slots.size - 1, offsets.size - 1, end - begin
    tag = np.int64(h >> np.uint64(33))
    at = first_slot(h, slots)
    slot = slots[np.uint64(at)]
    left = slots.size  # a damaged table may have no empty slot
    while slot >= 0 and left > 0:
        left -= 1
        word = slot & 0xFFFFFFFF
        if slot >> 32 == tag and word < n_words:
            start = offsets[np.uint64(word)]
            is_there = offsets[np.uint64(word + 1)] - start == size and 0 <= start <= pool.size - size
            if is_there and _are_equal(text, begin, pool, start, size):
                return at
        at = (at + 1) & mask
        slot = slots[np.uint64(at)]
    return at


@kernel
def find_word(text, slots, pool, offsets):
    """The id of one word given as bytes; -1 where the table does not hold it."""
    h = hash_word(text, 0, text.size)
    return word_in(slots[find_slot(text, 0, text.size, h, slots, pool, offsets)], offsets)


@kernel
def word_in(slot, offsets):
    """The word of a slot; -1 where it is empty, or of a word that is not there."""
    word = slot & 0xFFFFFFFF
    return word if slot >= 0 and word < offsets.size - 1 else np.int64(-1)


@inlined
def _enter(text, begin, end, h, at, slots, pool, offsets, counts, n):
    """Give text[begin:end], with this hash, the number n in a table of n words; at: its slot."""
    slots[at] = np.int64(h >> np.uint64(33)) << 32 | np.int64(n)
    for k in range(end - begin):
        pool[offsets[n] + k] = text[begin + k]
    offsets[n + 1] = offsets[n] + end - begin
    counts[n] = 0


@kernel
def fill_slots(slots, pool, offsets, n, key):
    """Enter the first n words of the pool into empty slots; the key is 0 where the table is part of a file."""
    for at in range(slots.size):
        slots[at] = -1
    for word in range(n):
        begin, end = offsets[word], offsets[word + 1]
        h = keyed(hash_word(pool, begin, end), key)
        at = find_slot(pool, begin, end, h, slots, pool, offsets)
        slots[at] = np.int64(h >> np.uint64(33)) << 32 | word


@kernel
def add_words(from_pool, from_offsets, from_counts, from_n, slots, pool, offsets, counts, n, key, numbers):
    """Add the words of one table and their counts to another of n words, which has room for all.

    `numbers` receives the number of each word there; returns how many there are then.
    """
    hashes = np.empty(_BATCH, np.uint64)
    for first in range(0, from_n, _BATCH):
        some = min(_BATCH, from_n - first)
        # Slots are asked for, then what they lead to.
        for i in range(some):
            hashes[i] = keyed(hash_word(from_pool, from_offsets[first + i], from_offsets[first + i + 1]), key)
            prefetch(slots, first_slot(hashes[i], slots))
        for i in range(some):
            slot = slots[first_slot(hashes[i], slots)]
            if slot >= 0:
                prefetch(offsets, slot & 0xFFFFFFFF)
                prefetch(counts, slot & 0xFFFFFFFF)
        for word in range(first, first + some):
            begin, end, h = from_offsets[word], from_offsets[word + 1], hashes[word - first]
            at = find_slot(from_pool, begin, end, h, slots, pool, offsets)
            if slots[at] < 0:
                _enter(from_pool, begin, end, h, at, slots, pool, offsets, counts, n)
                n += 1
            number = slots[at] & 0xFFFFFFFF
            counts[number] += from_counts[word]
            numbers[word] = number
    return n


@kernel
def refused(word, special):
    """Whether a text may not hold this word, by the rule for special words."""
    return 0 <= word <= END_ID and (special == REFUSE_SPECIAL or word != UNKNOWN_ID)


@kernel
def encode_lines(text, special, keep_empty, slots, pool, offsets, out):
    """Encode lines as `<s> ids </s>` into `out`; words that the table does not hold are <unk>.

    Lines without words are left out, or, if `keep_empty`, written as `<s> </s>`.

    Every line of `text` ends in a newline. `out` must have room for 2 ids a byte and 2 more. Returns
    (why it stopped, where: the start of the line it could not take, ids written, lines, empty lines).
    """
    used = 0
    lines = 0
    empty = 0
    line_begin = 0
    line_used = 0
    # Of words, and of ends of lines, each is cut, then its slot read, then its word: no read waits for another.
    room = min(_BATCH, text.size) + CHUNK
    scratch = np.empty((4, room + LANES), np.int64)
    begins, ends, signed_hashes, longer = scratch[0], scratch[1], scratch[2], scratch[3]
    hashes, at = signed_hashes.view(np.uint64), 0
    while at < text.size:
        n, at = cut(text, at, part_of(begins, 0, room), part_of(ends, 0, room))
        hash_words(text, n, begins, ends, signed_hashes, longer)
        for k in range(n):
            prefetch(slots, first_slot(hashes[k], slots))
        for k in range(n):
            prefetch(offsets, slots[np.uint64(first_slot(hashes[k], slots))] & 0xFFFFFFFF)
        for k in range(n):
            slot = slots[np.uint64(first_slot(hashes[k], slots))]
            prefetch(pool, offsets[np.uint64(max(word_in(slot, offsets), 0))])
        for k in range(n):
            if used == line_used:
                out[np.uint64(used)] = START_ID
                used += 1
            if begins[k] < ends[k]:
                slot = slots[np.uint64(find_slot(text, begins[k], ends[k], hashes[k], slots, pool, offsets))]
                word = word_in(slot, offsets)
                if not (special == SKIP_SPECIAL and 0 <= word <= END_ID):
                    if refused(word, special):
                        return SPECIAL_FOUND, line_begin, line_used, lines, empty
                    out[np.uint64(used)] = max(word, UNKNOWN_ID)
                    used += 1
                continue
            out[np.uint64(used)] = END_ID
            used += 1
            if used == line_used + 2:
                empty += 1
                if not keep_empty:
                    used = line_used
            lines += 1
            line_used = used
            line_begin = ends[k] + 1
    return DONE, line_begin, used, lines, empty


@kernel
def learn_lines(text, line_begin, special, keep_empty, slots, pool, offsets, counts, n, key, out):
    """Encode the lines from `line_begin` on, adding new words to a table of n words and counting all.

    As `encode_lines`; returns (why it stopped, where, words in the table, ids written, lines, empty
    lines, sum of the hashes of the sentences). A line that does not fit into the table is not counted.
    The table's key decides where its words lie, and nothing else: neither ids nor hashes of sentences.
    """
    used = 0
    lines = 0
    empty = 0
    digest = np.uint64(0)
    while line_begin < text.size:
        line_used = used
        out[np.uint64(used)] = START_ID
        used += 1
        line_hash = np.uint64(0x9E3779B97F4A7C15)
        status = DONE
        begin, end, h = next_word(text, line_begin)
        while begin < end and status == DONE:
            slot_hash = keyed(h, key)
            at = find_slot(text, begin, end, slot_hash, slots, pool, offsets)
            word = slots[at] & 0xFFFFFFFF if slots[at] >= 0 else np.int64(-1)
            if refused(word, special) and special != SKIP_SPECIAL:
                status = SPECIAL_FOUND
            elif word < 0 and (
                n >= counts.size or 2 * (n + 1) > slots.size or offsets[n] + end - begin > pool.size
            ):
                status = TABLE_FULL
            elif not (special == SKIP_SPECIAL and 0 <= word <= END_ID):
                if word < 0:
                    word = np.int64(n)
                    _enter(text, begin, end, slot_hash, at, slots, pool, offsets, counts, n)
                    n += 1
                counts[word] += 1
                line_hash = (line_hash ^ h) * np.uint64(0xBF58476D1CE4E5B9)
                line_hash ^= line_hash >> np.uint64(31)
                out[np.uint64(used)] = word
                used += 1
            begin, end, h = next_word(text, end)
        if status != DONE:
            for j in range(line_used + 1, used):
                counts[out[j]] -= 1
            return status, line_begin, n, line_used, lines, empty, digest
        if used == line_used + 1 and not keep_empty:
            used = line_used
            empty += 1
        else:
            out[np.uint64(used)] = END_ID
            used += 1
            digest += line_hash
        lines += 1
        line_begin = end + 1
    return DONE, line_begin, n, used, lines, empty, digest


@kernel
def are_words(ids, begins, n_words):
    """Whether all ids are those of a vocabulary of so many words, and `<s>` stands nowhere but first in a sequence."""
    n_wrong, n_starts = 0, 0
    for t in range(ids.size):
        n_wrong += ids[t] < 0
        n_wrong += ids[t] >= n_words
        n_starts += ids[t] == START_ID
    for s in range(begins.size - 1):
        if begins[s] < begins[s + 1]:
            n_starts -= ids[begins[s]] == START_ID
    return n_wrong == 0 and n_starts == 0
