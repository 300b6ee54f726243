"""Bytes cut into words, and the hashes of these.

A processor cannot foresee where a word ends: a loop over the bytes of each word would lose more time with wrong guesses
than it works. So bytes are judged, and words hashed, many together.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.intrinsics import CHUNK, bits_between
from gapgram.kernels.lanes import LANES, in_lanes
from gapgram.kernels.tables.bits import lowest_one

HASH_FACTOR = np.uint64(1099511628211)
_HASH_START, _FINISH = np.uint64(14695981039346656037), np.uint64(0xBF58476D1CE4E5B9)
# The same numbers for lanes
_START, _FACTOR, _LAST_FACTOR = (int(each.view(np.int64)) for each in (_HASH_START, HASH_FACTOR, _FINISH))


@kernel
def finished(h):
    """A hash after the last byte, so that all bits depend on all bytes."""
    h ^= h >> np.uint64(29)
    h *= _FINISH
    return h ^ (h >> np.uint64(32))


@kernel
def hash_word(text, begin, end):
    """FNV-1a of text[begin:end], finished."""
    h = _HASH_START
    for i in range(begin, end):
        h = (h ^ np.uint64(text[i])) * HASH_FACTOR
    return finished(h)


@kernel
def next_word(text, i):
    """(begin, end, hash) of the first word from i on; both that of the newline where the line has none."""
    byte = text[np.uint64(i)]
    while byte == 32 or (9 <= byte <= 13 and byte != 10):
        i += 1
        byte = text[np.uint64(i)]
    begin = i
    h = _HASH_START
    while byte > 32 or byte < 9 or 13 < byte < 32:
        h = (h ^ np.uint64(byte)) * HASH_FACTOR
        i += 1
        byte = text[np.uint64(i)]
    return begin, i, finished(h)


@kernel
def cut(text, at, begins, ends):
    """Fill `begins` and `ends` with those of the next words from text[at] on; a newline ends where it begins.

    Returns how many there are, and where the next one is to be looked for. A processor cannot foresee where a word
    ends: so all bytes of a chunk are judged together, and there is no loop over the bytes of a word.
    """
    n, one = 0, np.uint64(1)
    while at < text.size and n + CHUNK <= begins.size:
        base = min(at, text.size - CHUNK)
        if base < 0:
            begins[n], ends[n], _ = next_word(text, at)
            at = ends[n] + (begins[n] == ends[n])
            n += 1
            continue
        newlines = bits_between(text, base, 10, 10)
        white = bits_between(text, base, 9, 13) | bits_between(text, base, 32, 32)
        # What lies before `at` was dealt with.
        done = (one << np.uint64(at - base)) - one
        white |= done
        items = (newlines & ~done) | (~white & (white << one | one))
        at = base + CHUNK
        while items != np.uint64(0):
            bit = lowest_one(items)
            rest = white >> np.uint64(bit)
            if rest == np.uint64(0):  # the word goes on behind the chunk
                at = base + bit
                if bit == 0:
                    begins[n], ends[n], _ = next_word(text, at)
                    at = ends[n]
                    n += 1
                break
            begins[n] = base + bit
            ends[n] = base + bit + lowest_one(rest)
            n += 1
            items &= items - one
    return n, at


@in_lanes
def _hash_beginnings(lanes, text, last, begins, ends, hashes, longer):
    """The hash of each word of at most eight bytes; of the others that of the first eight, not finished, and a list.

    last: the last byte with seven behind it.
    """
    begin = lanes.read(begins)
    size, first = lanes.read(ends) - begin, lanes.minimum(begin, last)
    left, h = lanes.shift_right(lanes.gather_u64_at_bytes(text, first), (begin - first) * 8), lanes.splat(_START)
    for i in range(8):
        h = lanes.where(size > i, (h ^ (left & 255)) * _FACTOR, h)
        left = lanes.shift_right(left, 8)
    finished = (h ^ lanes.shift_right(h, 29)) * _LAST_FACTOR
    lanes.write(hashes, lanes.where(size > 8, h, finished ^ lanes.shift_right(finished, 32)))
    lanes.append(longer, size > 8)


@kernel
def hash_words(text, n, begins, ends, hashes, longer):
    """The hashes of n words, as `next_word` has them; arrays have room for LANES more."""
    own = hashes.view(np.uint64)
    if text.size < 8:
        for k in range(n):
            own[k] = hash_word(text, begins[k], ends[k])
        return
    longer[0] = 0
    for k in range(n, n + LANES):  # there is no word
        begins[k] = ends[k] = 0
    _hash_beginnings(n + -n % LANES, text, text.size - 8, begins, ends, hashes, longer)
    for j in range(1, longer[0] + 1):
        k = longer[j]
        h = own[k]
        for i in range(begins[k] + 8, ends[k]):
            h = (h ^ np.uint64(text[np.uint64(i)])) * HASH_FACTOR
        own[k] = finished(h)
