"""Windows as few bytes, for the way from one machine to another.

The windows of a blob are sorted by their own word (`gapgram.counting.band`). Each is written as its own word less
that of the window before it in the blob, the word before it plus one (0 where there is none), and the words after it
up to and with `</s>`. Numbers have seven bits a byte, lowest first; the high bit of a byte says that more follow.
Frequent words have small ids, so that most numbers take one or two bytes.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.text.special_words import END_ID, START_ID

NUMBER_BYTES = 5  # that a number takes at most


@kernel
def _put(number, out, at):
    while number >= 128:
        out[at] = number & 127 | 128
        number >>= 7
        at += 1
    out[at] = number
    return at + 1


@kernel
def _get(data, at):
    number = np.int64(data[at] & 127)
    shift = 7
    while data[at] >= 128:
        at += 1
        number |= np.int64(data[at] & 127) << shift
        shift += 7
    return number, at + 1


@kernel
def pack_windows(ids, positions, begin, end, first_word, order, out):
    """Write the windows at positions[begin:end], sorted by word, into `out`; returns the bytes written.

    `first_word` is at most the first of the words. `out` must have room for order + 1 numbers a window.
    """
    at = 0
    previous = np.int64(first_word)
    for i in range(begin, end):
        t = positions[i]
        word = np.int64(ids[t])
        at = _put(word - previous, out, at)
        previous = word
        at = _put(np.int64(ids[t - 1]) + 1 if word != START_ID else np.int64(0), out, at)
        d = 0
        while d < order - 1 and ids[t + d] != END_ID:
            d += 1
            at = _put(np.int64(ids[t + d]), out, at)
    return at


@kernel
def count_packed(data, first_word, order, counts):
    """Add to counts[w] how many windows of a blob have the word `first_word + w`."""
    at = 0
    word = np.int64(0)
    while at < data.size:
        step, at = _get(data, at)
        word += step
        counts[word] += 1
        _, at = _get(data, at)
        d = 0
        last = word + first_word
        while d < order - 1 and last != END_ID:
            last, at = _get(data, at)
            d += 1


@kernel
def unpack_windows(data, first_word, order, next_rows, out):
    """Write the windows of a blob into rows of `out`, which holds -1 everywhere before.

    A window of the word `first_word + w` goes to row next_rows[w], which moves on.
    """
    at = 0
    word = np.int64(0)
    while at < data.size:
        step, at = _get(data, at)
        word += step
        row = next_rows[word]
        next_rows[word] += 1
        left, at = _get(data, at)
        last = word + first_word
        out[row, 0] = left - 1
        out[row, 1] = last
        d = 0
        while d < order - 1 and last != END_ID:
            last, at = _get(data, at)
            d += 1
            out[row, 1 + d] = last
