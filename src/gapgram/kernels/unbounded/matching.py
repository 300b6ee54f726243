"""The longest end of what was read of a sentence that is in a text, word by word, and places that go on after a gap.

A state is a row of numbers:

    LENGTH, LOW, HIGH       the longest end, of `order` to MOST words: its places are LOW … HIGH - 1 in order; 0: none
    N_POINTERS              how many pointers there are
    the last `order` words, the oldest first, -1 where there is none
    the pointers            PLACE, BEFORE, SINCE: a place of the text whose word is expected next, how many words were
                            the same up to the last that was not, and how many since

Where a word follows none of the places of the longest end, and they are few, they become pointers: they go on behind
the word that was another. A pointer ends where two words in a row are others. Equations (47) and (48) of
docs/ideas/mathematics.md.

While weights are learned each place of the text is left out of itself: `own` is the place of the word, else -1.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.text.special_words import END_ID, START_ID
from gapgram.kernels.unbounded.suffixes import MOST, find_gram, narrow, word_after, word_at

LENGTH, LOW, HIGH, N_POINTERS, FIRST_WORD = 0, 1, 2, 3, 4
POINTERS = 8
PLACE, BEFORE, SINCE = 0, 1, 2


@kernel
def state_size(order):
    """How many numbers a state has."""
    return FIRST_WORD + order + 3 * POINTERS


@kernel
def begin_matching(order, state):
    """The state in which nothing was read."""
    state[:] = 0
    state[FIRST_WORD : FIRST_WORD + order] = -1


@kernel
def is_state(index, state):
    """Whether numbers are such as a state has: those of another model may be any."""
    length, order = state[LENGTH], index.order
    fits = length == 0 or (order <= length <= MOST and 0 <= state[LOW] < state[HIGH] <= index.suffixes.size)
    fits = fits and 0 <= state[N_POINTERS] <= POINTERS
    for k in range(FIRST_WORD, FIRST_WORD + order):
        fits = fits and -1 <= state[k] < 1 << 31
    for k in range(FIRST_WORD + order, FIRST_WORD + order + 3 * (state[N_POINTERS] if fits else 0)):
        fits = fits and 0 <= state[k] < 1 << 31
    return fits


@kernel
def _end_of(index, words, n, length):
    """Where the places of the last `length` of n words begin and end."""
    low, high = find_gram(index, words, n - length)
    for k in range(index.order, length):
        if high > low:
            low, high = narrow(index, low, high, k, words[n - length + k])
    return low, high


@kernel
def _match_anew(index, words, n, most, least, state):
    """Find the longest end, of `most` words at most, of n words; `least` places do not count."""
    length, order = np.int64(0), index.order
    low, high = find_gram(index, words, n - order) if n >= order else (np.int64(0), np.int64(0))
    if high - low > least:
        # Longer ends have fewer places: steps are doubled until one has none, then halved
        length, step, doubling = np.int64(order), np.int64(1), True
        while step > 0:
            longer = length + step
            found = False
            if longer <= most:
                a, b = _end_of(index, words, n, longer)
                found = b - a > least
                if found:
                    length, low, high = longer, a, b
            doubling = doubling and found
            step = step * 2 if doubling else step >> 1
    state[LENGTH], state[LOW], state[HIGH] = length, low, high


@kernel
def _move_pointers(index, word, own, broken, state):
    """Let pointers pass a word, and, where the longest end is broken by it, let its places become pointers."""
    base = FIRST_WORD + index.order
    pointers, n = state[base:].reshape(-1, 3), np.int64(0)
    for i in range(state[N_POINTERS]):
        place, before, since = pointers[i]
        expected = word_at(index, place)
        if expected == word:
            since += 1
        elif since == 0 or expected == END_ID:
            continue
        else:
            before, since = before + since, np.int64(0)
        pointers[n, PLACE], pointers[n, BEFORE], pointers[n, SINCE] = place + 1, before, since
        n += 1
    size = state[HIGH] - state[LOW] - (own >= 0)
    if broken and size <= POINTERS:
        dropped = max(n + size - POINTERS, 0)  # the oldest
        for i in range(dropped, n):
            pointers[i - dropped] = pointers[i]
        n = max(n - dropped, 0)
        for i in range(state[LOW], state[HIGH]):
            place = np.int64(index.suffixes[i]) + state[LENGTH]
            is_new = place != own and word_at(index, place) != END_ID
            for k in range(n):
                is_new = is_new and pointers[k, PLACE] != place + 1
            if is_new and n < POINTERS:
                pointers[n, PLACE], pointers[n, BEFORE], pointers[n, SINCE] = place + 1, state[LENGTH], 0
                n += 1
    state[N_POINTERS] = n


@kernel
def match_word(index, word, own, low, high, state):
    """Go on to the next word; low, high: of the places of the longest end those that it follows (`expect`)."""
    order, length = index.order, state[LENGTH]
    words = state[FIRST_WORD : FIRST_WORD + order]
    if word == START_ID:
        begin_matching(order, state)
        words[order - 1] = START_ID
        return
    least = 1 if own >= 0 else 0
    goes_on = high - low > least
    if state[N_POINTERS] > 0 or (length > 0 and not goes_on):
        _move_pointers(index, word, own, length > 0 and not goes_on, state)
    for k in range(order - 1):
        words[k] = words[k + 1]
    words[order - 1] = word
    if length > 0 and goes_on and length < MOST:
        state[LENGTH], state[LOW], state[HIGH] = length + 1, low, high
    elif length > 0:
        read = np.empty(length + 1, np.int64)
        for k in range(length):
            read[k] = word_after(index, state[LOW], k)
        read[length] = word
        _match_anew(index, read, length + 1, MOST // 2 if goes_on else length, least, state)
    elif words[0] >= 0:
        _match_anew(index, words, order, order, least, state)


@kernel
def expect(index, state, word):
    """Of the places of the longest end those that a word follows: where they begin and end."""
    if state[LENGTH] == 0:
        return np.int64(0), np.int64(0)
    return narrow(index, state[LOW], state[HIGH], state[LENGTH], word)


@kernel
def followers_of(index, low, high, depth, own, most):
    """How many different words follow places that are equal for so many words; `most` at most."""
    n = np.int64(0)
    while low < high and n < most:
        word = word_after(index, low, depth)
        _, end = narrow(index, low, high, depth, word)
        n += end - low > (own >= 0 and word_at(index, own) == word)
        low = end
    return n


@kernel
def best_pointers(index, state, word, seen):
    """(words that the best pointers have in common with what was read, since the last that was another, how many they
    are, how many of them expect a word, how many different words they expect); `seen`: room for these words."""
    pointers = state[FIRST_WORD + index.order :].reshape(-1, 3)
    best, since, n, n_word, n_seen = np.int64(-1), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(state[N_POINTERS]):
        best = max(best, pointers[i, BEFORE] + pointers[i, SINCE])
    for i in range(state[N_POINTERS]):
        if pointers[i, BEFORE] + pointers[i, SINCE] == best:
            expected, is_new = word_at(index, pointers[i, PLACE]), True
            since = max(since, pointers[i, SINCE])
            n += 1
            n_word += expected == word
            for k in range(n_seen):
                is_new = is_new and seen[k] != expected
            if is_new:
                seen[n_seen] = expected
                n_seen += 1
    return best, since, n, n_word, n_seen
