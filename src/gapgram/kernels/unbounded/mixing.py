"""What followed the longest end of a context in the training text, beside what a model says: scores and distributions.

Three sources are mixed as those of a session are (`kernels.sessions.history_gate`): the model, the longest end, and the
pointers behind a gap (`kernels.unbounded.matching`). The rows of the gate are

    the longest end: its length, how many places it has, how many words follow     0: none
    the pointers: words since the gap, words in common                             ENDS: none
    how many pointers, how many words they expect, how long the longest end is     ENDS + GAPS: none
    the last word, its bucket                                                      ENDS + GAPS + CROWDS + bucket

Equations (47) to (50) of docs/ideas/mathematics.md.
"""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.gate import WORD_BUCKETS, word_bucket
from gapgram.kernels.sessions.history_gate import weigh_sources
from gapgram.kernels.text.special_words import START_ID
from gapgram.kernels.unbounded.matching import (
    BEFORE,
    FIRST_WORD,
    HIGH,
    LENGTH,
    LOW,
    N_POINTERS,
    PLACE,
    POINTERS,
    SINCE,
    begin_matching,
    best_pointers,
    expect,
    followers_of,
    is_state,
    match_word,
    state_size,
)
from gapgram.kernels.unbounded.suffixes import find_words, narrow, word_after, word_at

SOURCES, FEATURES = 3, 4
LENGTHS, SIZES, FOLLOWERS = 10, 10, 4
ENDS, GAPS, CROWDS = 1 + LENGTHS * SIZES * FOLLOWERS, 1 + 6 * 10, 1 + 4 * 4 * 3
ROWS = ENDS + GAPS + CROWDS + WORD_BUCKETS


@kernel
def magnitude(x):
    """A bucket of a number from 1 on: 1 to 4, then by about half as much again: 9 from 26 on."""
    if x < 5:
        return max(x, 1)
    return 5 + (x > 6) + (x > 9) + (x > 15) + (x > 25)


@kernel
def _length_bucket(longer):
    """The bucket of a length, given how many words more than the least it has."""
    if longer < 6:
        return longer
    return 6 + (longer > 7) + (longer > 11) + (longer > 19)


@kernel
def features_of(index, state, own, rows, given, seen):
    """Fill the rows of the gate, and who takes part: given[source] is 0, or -1."""
    given[0], given[1], given[2] = 0.0, -1.0, -1.0
    rows[0], rows[1], rows[2] = 0, ENDS, ENDS + GAPS
    length, size = state[LENGTH], state[HIGH] - state[LOW] - (own >= 0)
    if length > 0 and size > 0:
        given[1] = 0.0
        n = np.int64(1) if size == 1 else followers_of(index, state[LOW], state[HIGH], length, own, FOLLOWERS)
        of_size = min(int(math.log2(float(size)) * 1.5 + 1e-9), SIZES - 1)
        rows[0] = 1 + (_length_bucket(length - index.order) * SIZES + of_size) * FOLLOWERS + max(n, 1) - 1
    if state[N_POINTERS] > 0:
        best, since, n, _, n_words = best_pointers(index, state, np.int64(-1), seen)
        given[2] = 0.0
        rows[1] = ENDS + 1 + min(since, 5) * 10 + magnitude(best)
        of_length = 0 if length == 0 or size <= 0 else 1 + (length > index.order + 1) + (length > index.order + 4)
        rows[2] = ENDS + GAPS + 1 + (of_length * 4 + min(n, 4) - 1) * 3 + min(n_words, 3) - 1
    last = max(state[FIRST_WORD + index.order - 1], 0)
    rows[3] = ENDS + GAPS + CROWDS + word_bucket(last)


@kernel
def give_word(index, state, own, word, low, high, given, seen):
    """Fill what the sources that take part give a word; low, high: what `expect` says of it."""
    if given[1] >= 0.0:
        left_out = 1 if own >= 0 else 0  # the word of its own place
        given[1] = float(high - low - left_out) / float(state[HIGH] - state[LOW] - left_out)
    if given[2] >= 0.0:
        _, _, n, n_word, _ = best_pointers(index, state, word, seen)
        given[2] = float(n_word) / float(n)


@kernel
def mixed(index, logits, state, word, score, numbers, given, weights):
    """log10 of the probability of a word, that of the model being `score`; the state goes on to the one after it.

    numbers, given, weights: room for FEATURES + POINTERS numbers, and for SOURCES.
    """
    rows, seen = numbers[:FEATURES], numbers[FEATURES:]
    if word == START_ID:
        match_word(index, word, np.int64(-1), np.int64(0), np.int64(0), state)
        return score
    low, high = expect(index, state, word)
    if state[LENGTH] > 0 or state[N_POINTERS] > 0:
        features_of(index, state, np.int64(-1), rows, given, seen)
        weigh_sources(logits, rows, given, weights)
        give_word(index, state, np.int64(-1), word, low, high, given, seen)
        given[0] = 10.0**score
        probability = 0.0
        for s in range(SOURCES):
            probability += weights[s] * max(given[s], 0.0)
        score = math.log10(probability) if probability > 0.0 else score
    match_word(index, word, np.int64(-1), low, high, state)
    return score


@kernel
def _room():
    """Room for `mixed`."""
    return np.empty(FEATURES + POINTERS, np.int64), np.empty(SOURCES), np.empty(SOURCES)


@kernel
def mix_sequences(index, logits, ids, begins, scores):
    """Mix the model's scores of each position of sequences, in place, with what followed in the text."""
    state, flat = np.empty(state_size(index.order), np.int64), logits.reshape(-1)
    numbers, given, weights = _room()
    for s in range(begins.size - 1):
        begin_matching(index.order, state)
        for t in range(begins[s], begins[s + 1]):
            scores[t] = mixed(index, flat, state, np.int64(ids[t]), scores[t], numbers, given, weights)


@kernel
def read_words(index, ids, state):
    """Let a state read some words."""
    for t in range(ids.size):
        word = np.int64(ids[t])
        low, high = expect(index, state, word)
        match_word(index, word, np.int64(-1), low, high, state)


@kernel
def mix_steps(index, logits, states, words, scores, out):
    """Mix the model's scores of a word after each of some states, in place; `out` receives the states after them."""
    flat, (numbers, given, weights) = logits.reshape(-1), _room()
    for i in range(words.size):
        out[i] = states[i]
        if not is_state(index, out[i]):
            begin_matching(index.order, out[i])
        scores[i] = mixed(index, flat, out[i], np.int64(words[i]), scores[i], numbers, given, weights)


@kernel
def positions_left_out(index, ids, begins, is_own, rows, shares):
    """Fill the rows of the gate and what the text gives each position of sentences, [position, source].

    is_own: the sentences are of the text; each position is left out of it.
    """
    state, seen = np.empty(state_size(index.order), np.int64), np.empty(POINTERS, np.int64)
    for s in range(begins.size - 1):
        begin_matching(index.order, state)
        first = np.int64(-1)
        if is_own:
            low, high = find_words(index, ids[begins[s] : begins[s + 1]])
            first = np.int64(index.suffixes[low]) if high > low else first
        for t in range(begins[s], begins[s + 1]):
            word, own = np.int64(ids[t]), first + t - begins[s] if first >= 0 else np.int64(-1)
            low, high = expect(index, state, word)
            features_of(index, state, own, rows[t], shares[t], seen)
            give_word(index, state, own, word, low, high, shares[t], seen)
            match_word(index, word, own, low, high, state)


@kernel
def weights_after(index, logits, state, weights):
    """Fill the weights of the sources after a state; returns how many words may follow at most."""
    rows, given, seen = np.empty(FEATURES, np.int64), np.empty(SOURCES), np.empty(POINTERS, np.int64)
    features_of(index, state, np.int64(-1), rows, given, seen)
    weigh_sources(logits.reshape(-1), rows, given, weights)
    return (state[HIGH] - state[LOW] if state[LENGTH] > 0 else 0) + state[N_POINTERS]


@kernel
def list_followers(index, state, weights, n_words, words, shares):
    """Fill the words that follow in the text, and what the text gives each: a word may be listed twice. How many."""
    n, low, high = np.int64(0), state[LOW], state[HIGH]
    while state[LENGTH] > 0 and low < high:
        word = word_after(index, low, state[LENGTH])
        _, end = narrow(index, low, high, state[LENGTH], word)
        end = max(end, low + 1)
        words[n] = min(word, n_words - 1)
        shares[n] = weights[1] * float(end - low) / float(high - state[LOW])
        n, low = n + 1, end
    best, _, n_best, _, _ = best_pointers(index, state, np.int64(-1), np.empty(POINTERS, np.int64))
    pointers = state[FIRST_WORD + index.order :].reshape(-1, 3)
    for i in range(state[N_POINTERS]):
        if pointers[i, BEFORE] + pointers[i, SINCE] == best:
            words[n] = min(word_at(index, pointers[i, PLACE]), n_words - 1)
            shares[n] = weights[2] / float(n_best)
            n += 1
    return n
