"""Bytes to word ids: a hash table of words that is also the vocabulary of a model.

A table is four arrays. `pool` holds the bytes of all words one after the other, word i being
`pool[offsets[i]:offsets[i+1]]`. `slots` (a power of two long, at most half full) holds for each word
its id and 31 bits of its hash, `tag << 32 | id`, or -1. `counts[i]` is how often it was met.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.jit import kernel

UNKNOWN, START, END = 0, 1, 2  # ids of <unk>, <s>, </s> in every table

# What is done with a word of the text that is <unk>, <s> or </s>.
REFUSE_SPECIAL, SKIP_SPECIAL, ALLOW_UNKNOWN = 0, 1, 2

# Why `encode_lines` returned.
DONE, TABLE_FULL, SPECIAL_FOUND = 0, 1, 2


@kernel
def hash_word(text, begin, end):  # type: ignore[no-untyped-def]
    """FNV-1a of text[begin:end], finished so that all bits depend on all bytes."""
    h = np.uint64(14695981039346656037)
    for i in range(begin, end):
        h = (h ^ np.uint64(text[i])) * np.uint64(1099511628211)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


@kernel
def find_slot(text, begin, end, h, slots, pool, offsets):  # type: ignore[no-untyped-def]
    """The slot of a word, or the empty slot where it belongs."""
    mask = slots.size - 1
    tag = np.int64(h >> np.uint64(33))
    at = np.int64(h & np.uint64(0x7FFFFFFF)) & mask
    while slots[at] >= 0:
        if slots[at] >> 32 == tag:
            word = slots[at] & 0xFFFFFFFF
            start = offsets[word]
            if offsets[word + 1] - start == end - begin:
                same = True
                for i in range(end - begin):
                    if pool[start + i] != text[begin + i]:
                        same = False
                        break
                if same:
                    return at
        at = (at + 1) & mask
    return at


@kernel
def find_word(text, slots, pool, offsets):  # type: ignore[no-untyped-def]
    """The id of one word given as bytes; -1 where the table does not hold it."""
    h = hash_word(text, 0, text.size)
    slot = slots[find_slot(text, 0, text.size, h, slots, pool, offsets)]
    return slot & 0xFFFFFFFF if slot >= 0 else np.int64(-1)


@kernel
def fill_slots(slots, pool, offsets, n):  # type: ignore[no-untyped-def]
    """Enter the first n words of the pool into empty slots."""
    slots[:] = -1
    for word in range(n):
        begin, end = offsets[word], offsets[word + 1]
        h = hash_word(pool, begin, end)
        at = find_slot(pool, begin, end, h, slots, pool, offsets)
        slots[at] = np.int64(h >> np.uint64(33)) << 32 | word


@kernel
def encode_lines(text, begin, learn, special, slots, pool, offsets, counts, n, out):  # type: ignore[no-untyped-def]
    """Encode the lines of text[begin:] as `<s> ids </s>` into `out`, skipping lines without words.

    Every line of `text` ends in a newline. `learn`: unknown words are added to the table and counted;
    otherwise they become <unk>. `out` must have room for 2 ids a byte and 2 more. Returns
    (why it stopped, where: the start of the line it could not take, number of words in the table,
    ids written, lines read, lines without words, sum of the sentences' hashes).
    """
    used = 0
    lines = 0
    empty = 0
    digest = np.uint64(0)
    capacity = counts.size if learn else np.int64(0)
    i = begin
    while i < text.size:
        line_begin, line_used = i, used
        out[used] = START
        used += 1
        line_hash = np.uint64(0x9E3779B97F4A7C15)
        status = DONE
        while True:
            while text[i] == 32 or (9 <= text[i] <= 13 and text[i] != 10):
                i += 1
            if text[i] == 10:
                break
            word_begin = i
            while text[i] > 32 or text[i] < 9 or 13 < text[i] < 32:
                i += 1
            h = hash_word(text, word_begin, i)
            at = find_slot(text, word_begin, i, h, slots, pool, offsets)
            word = slots[at] & 0xFFFFFFFF if slots[at] >= 0 else np.int64(-1)
            if 0 <= word <= END:
                if special == SKIP_SPECIAL:
                    continue
                if special == REFUSE_SPECIAL or word != UNKNOWN:
                    status = SPECIAL_FOUND
                    break
            if word < 0:
                if not learn:
                    word = np.int64(UNKNOWN)
                elif n >= capacity or 2 * (n + 1) > slots.size or offsets[n] + i - word_begin > pool.size:
                    status = TABLE_FULL
                    break
                else:
                    word = np.int64(n)
                    slots[at] = np.int64(h >> np.uint64(33)) << 32 | word
                    pool[offsets[n] : offsets[n] + i - word_begin] = text[word_begin:i]
                    offsets[n + 1] = offsets[n] + i - word_begin
                    counts[n] = 0
                    n += 1
            if learn:
                counts[word] += 1
            line_hash = (line_hash ^ h) * np.uint64(0xBF58476D1CE4E5B9)
            line_hash ^= line_hash >> np.uint64(31)
            out[used] = word
            used += 1
        if status != DONE:
            if learn:
                for j in range(line_used + 1, used):
                    counts[out[j]] -= 1
            return status, line_begin, n, line_used, lines, empty, digest
        i += 1
        lines += 1
        if used == line_used + 1:
            used = line_used
            empty += 1
        else:
            out[used] = END
            used += 1
            digest += line_hash
    return DONE, i, n, used, lines, empty, digest
