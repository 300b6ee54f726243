"""Pairs of words of a text, at a distance: the neighbours that classes are found by (`kernels.classes.exchange`)."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.counting.sorting import add_up
from gapgram.kernels.text.special_words import END_ID


@kernel
def positions_of_pairs(ids, begin, end, distance, range_of, n_ranges):
    """The positions, of begin … end-1, of words that have another `distance` later in their sentence.

    Returns (positions, starts): positions[starts[r]:starts[r+1]] are those of the words of range r (`range_of` each).
    """
    end = min(end, ids.size - distance)
    starts = np.zeros(n_ranges + 1, np.int64)
    range_at = np.full(max(0, end - begin), -1, np.int16)
    for t in range(begin, end):
        inside = True
        for d in range(distance):
            if ids[t + d] == END_ID:
                inside = False
        if inside:
            r = range_of[ids[t]] if n_ranges > 1 else 0
            range_at[t - begin] = r
            starts[r + 1] += 1
    add_up(starts)
    fill = starts[:-1].copy()
    positions = np.empty(starts[n_ranges], np.int32)
    for t in range(begin, end):
        r = range_at[t - begin]
        if r >= 0:
            positions[fill[r]] = t
            fill[r] += 1
    return positions, starts


@kernel
def pairs_at(ids, positions, first_word, last_word, distance):
    """Every pair of a word, of first … last-1, at one of some positions and the one `distance` later, by both in order.

    Returns (starts, others, times, itself): the other words that follow word first + w are others[starts[w]] up to
    others[starts[w+1]], and itself[w] is how often it follows itself.
    """
    n_words = last_word - first_word
    by_first = np.zeros(n_words + 1, np.int64)
    n_seconds = 0
    for i in range(positions.size):
        t = positions[i]
        by_first[ids[t] - first_word + 1] += 1
        n_seconds = max(n_seconds, np.int64(ids[t + distance]) + 1)
    add_up(by_first)
    # By the second word, then, in that order, by the first.
    by_second = np.zeros(n_seconds + 1, np.int64)
    for i in range(positions.size):
        by_second[ids[positions[i] + distance] + 1] += 1
    add_up(by_second)
    firsts = np.empty(positions.size, np.int32)
    seconds = np.empty(positions.size, np.int32)
    for i in range(positions.size):
        t = positions[i]
        at = by_second[ids[t + distance]]
        by_second[ids[t + distance]] += 1
        firsts[at] = ids[t] - first_word
        seconds[at] = ids[t + distance]
    sorted_seconds = np.empty(positions.size, np.int32)
    fill = by_first[:-1].copy()
    for i in range(positions.size):
        sorted_seconds[fill[firsts[i]]] = seconds[i]
        fill[firsts[i]] += 1
    # Equal pairs, once each.
    starts = np.zeros(n_words + 1, np.int64)
    itself = np.zeros(n_words, np.int32)
    others = np.empty(positions.size, np.int32)
    times = np.empty(positions.size, np.int32)
    used = 0
    for w in range(n_words):
        starts[w] = used
        previous = -1
        for i in range(by_first[w], by_first[w + 1]):
            second = sorted_seconds[i]
            if second == first_word + w:
                itself[w] += 1
            elif second == previous:
                times[used - 1] += 1
            else:
                previous = second
                others[used] = second
                times[used] = 1
                used += 1
    starts[n_words] = used
    return starts, others[:used].copy(), times[:used].copy(), itself


@kernel
def turned(starts, others, times, first_word, last_word):
    """The same pairs by the second word, of first … last-1, then the first."""
    new_starts = np.zeros(last_word - first_word + 1, np.int64)
    for other in others:
        if first_word <= other < last_word:
            new_starts[other - first_word + 1] += 1
    add_up(new_starts)
    fill = new_starts[:-1].copy()
    new_others = np.empty(new_starts[-1], np.int32)
    new_times = np.empty(new_starts[-1], np.int32)
    for w in range(starts.size - 1):
        for i in range(starts[w], starts[w + 1]):
            if first_word <= others[i] < last_word:
                at = fill[others[i] - first_word]
                fill[others[i] - first_word] += 1
                new_others[at] = w
                new_times[at] = times[i]
    return new_starts, new_others, new_times
