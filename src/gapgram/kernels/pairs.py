"""Pairs of words of a text, at a distance: the neighbours that classes are found by (`kernels.exchange`)."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.jit import kernel
from gapgram.kernels.sorting import add_up, starts_by_word
from gapgram.kernels.special_words import END_ID


@kernel
def pairs_at(ids, first_word, last_word, distance):
    """Every pair of a word, of first … last-1, and the one `distance` later in its sentence, by both in order.

    Returns (starts, others, times): the words that follow word first + w are others[starts[w]:starts[w+1]].
    """
    n = 0
    n_seconds = 0
    allowed = np.zeros(ids.size, np.uint8)
    by_first = np.zeros(last_word - first_word + 1, np.int64)
    for t in range(ids.size - distance):
        if ids[t] < first_word or ids[t] >= last_word:
            continue
        inside = True
        for d in range(distance):
            if ids[t + d] == END_ID:
                inside = False
        if inside:
            allowed[t] = 1
            by_first[ids[t] - first_word + 1] += 1
            n_seconds = max(n_seconds, np.int64(ids[t + distance]) + 1)
            n += 1
    add_up(by_first)
    # By the second word, then, in that order, by the first.
    by_second = np.zeros(n_seconds + 1, np.int64)
    for t in range(ids.size):
        if allowed[t]:
            by_second[ids[t + distance] + 1] += 1
    add_up(by_second)
    firsts = np.empty(n, np.int32)
    seconds = np.empty(n, np.int32)
    for t in range(ids.size):
        if allowed[t]:
            at = by_second[ids[t + distance]]
            by_second[ids[t + distance]] += 1
            firsts[at] = ids[t] - first_word
            seconds[at] = ids[t + distance]
    sorted_seconds = np.empty(n, np.int32)
    fill = by_first[:-1].copy()
    for i in range(n):
        sorted_seconds[fill[firsts[i]]] = seconds[i]
        fill[firsts[i]] += 1
    # Equal pairs, once each.
    starts = np.zeros(last_word - first_word + 1, np.int64)
    others = np.empty(n, np.int32)
    times = np.empty(n, np.int32)
    used = 0
    for w in range(last_word - first_word):
        starts[w] = used
        previous = -1
        for i in range(by_first[w], by_first[w + 1]):
            if sorted_seconds[i] == previous:
                times[used - 1] += 1
            else:
                previous = sorted_seconds[i]
                others[used] = previous
                times[used] = 1
                used += 1
    starts[last_word - first_word] = used
    return starts, others[:used].copy(), times[:used].copy()


@kernel
def turned(starts, others, times):
    """The same pairs by the second word, then the first."""
    n_words = starts.size - 1
    new_starts = starts_by_word(others, n_words)
    fill = new_starts[:-1].copy()
    new_others = np.empty(others.size, np.int32)
    new_times = np.empty(others.size, np.int32)
    for w in range(n_words):
        for i in range(starts[w], starts[w + 1]):
            at = fill[others[i]]
            fill[others[i]] += 1
            new_others[at] = w
            new_times[at] = times[i]
    return new_starts, new_others, new_times


@kernel
def take_out_itself(starts, others, times):
    """Take pairs of a word and itself out, in place; returns how often each word had one."""
    n_words = starts.size - 1
    itself = np.zeros(n_words, np.int32)
    used = 0
    begin = starts[0]
    for w in range(n_words):
        end = starts[w + 1]
        for i in range(begin, end):
            if others[i] == w:
                itself[w] = times[i]
            else:
                others[used] = others[i]
                times[used] = times[i]
                used += 1
        begin = end
        starts[w + 1] = used
    return itself
