"""One more word after a state, as decoders ask for it: one column of lookups a word, many states at once.

A state is a row of whole numbers, its *key*: everything that the probabilities of all later words depend on.

    available           how many words a prediction after the state sees
    words               where there is a gate, a word of the same bucket for each of the n-1 last words, nearest first
    slots               the grams found: slot (q, d) holds the gram of pattern q that ends at the d-th last word, or -1

Which slots there are, and who reads them, is the *plan* (`gapgram.queries.states`). A gram that no context reads any
more, or that only leads to contexts never seen, becomes -1: states that differ in nothing else are equal, and looked
up to the same bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import brief, kernel
from gapgram.kernels.lookup.lookup import locate, new_found
from gapgram.kernels.probability.chains import probabilities_of
from gapgram.kernels.probability.gate import FREQUENT_WORDS
from gapgram.kernels.probability.scores import log10_of
from gapgram.kernels.tables.arrays import N_CONTEXTS, REACH
from gapgram.kernels.tables.model_arrays import Positions
from gapgram.kernels.tables.read import context_at


class Plan(NamedTuple):
    """What a state of a model holds.

    slots           [slot, 3]: pattern, distance, and the slot of the same pattern one word nearer (-1: none)
    reader_base, readers    for each slot the patterns whose contexts it is, now or some words later
    spans           [pattern]: the length of a contiguous gram, 0 for patterns with gaps or of classes
    gated           whether the last words are kept for a gate
    forgetful       whether words that no context was seen with leave nothing behind, not even that they were there
    """

    slots: np.ndarray
    reader_base: np.ndarray
    readers: np.ndarray
    spans: np.ndarray
    gated: bool
    forgetful: bool


@kernel
def gate_word(word):
    """The smallest word that a gate cannot tell from this one (`gate.word_bucket`)."""
    if word < FREQUENT_WORDS:
        return np.int64(word)
    return np.int64(1) << (math.frexp(float(word))[1] - 1)


@kernel
def is_seen(tables, p, context):
    """Whether a context of pattern p was seen: it has statistics, or grams."""
    begin, end, row = context_at(tables, p, min(context, tables.places[p, N_CONTEXTS] - 1))
    return row != 0 or end > begin


@kernel
def width_of(plan, order):
    """How many numbers a key has."""
    return 1 + (order - 1 if plan.gated else 0) + plan.slots.shape[0]


@kernel
def _next_keys(keys, words, entries, at, plan, order, tables, out):
    """The keys after words that were located in the columns from `at` on."""
    slots, reader_base, readers = plan.slots, plan.reader_base, plan.readers
    base = order if plan.gated else 1
    for i in range(words.size):
        if plan.gated:
            out[i, 1] = gate_word(words[i])
            for k in range(2, order):
                out[i, k] = keys[i, k - 1]
        longest = np.int64(0)
        for s in range(slots.shape[0]):
            pattern, nearer = slots[s, 0], slots[s, 2]
            gram = entries[pattern, at + i] if nearer < 0 else np.int64(keys[i, base + nearer])
            seen = False
            if gram >= 0:
                for r in range(reader_base[s], reader_base[s + 1]):
                    seen = seen or is_seen(tables, readers[r], gram)
            if seen:
                longest = max(longest, tables.places[pattern, REACH] + slots[s, 1])
            out[i, base + s] = gram if seen else -1
        out[i, 0] = longest if plan.forgetful else min(np.int64(keys[i, 0]) + 1, order - 1)


@kernel
def extend(keys, words, stride, plan, model, out, scores, lengths):
    """Score one word after each of at most `stride` states.

    Row i of `out` receives the key after words[i], scores[i] log10 of the word's probability (the bits that
    `kernels.probability.scoring.score_positions` has for it), lengths[i] the length of the longest contiguous gram
    found.

    The tables of `model` are those of the model with every distance multiplied by `stride`: so `locate`, which
    looks d columns back for what was d words ago, finds that of all states side by side.
    """
    n, n_patterns, order = words.size, model.discounts.shape[0], model.order
    slots, spans, base = plan.slots, plan.spans, order if plan.gated else 1
    at = (order - 1) * stride
    found = new_found(n_patterns, at + n)
    entries = found.entries
    available = np.empty(n, np.int16)
    for i in range(n):
        available[i] = min(max(keys[i, 0], 0), order - 1)
    for s in range(slots.shape[0]):
        pattern, first = slots[s, 0], at - slots[s, 1] * stride
        for i in range(n):
            entries[pattern, first + i] = keys[i, base + s]
    locate(words, available, found, at, model.tables)
    _next_keys(keys, words, entries, at, plan, order, model.tables, out)
    ids = np.zeros((n, order), np.int32)
    for i in range(n):
        ids[i, order - 1] = words[i]
        if plan.gated:
            for k in range(1, order):
                ids[i, order - 1 - k] = keys[i, k]
    probabilities_of(Positions(ids.reshape(-1), order - 1, order, available, at), found, model, scores)
    for i in range(n):
        scores[i] = log10_of(scores[i])
        lengths[i] = 1
        for p in range(1, n_patterns):
            if entries[p, at + i] >= 0:
                lengths[i] = max(lengths[i], spans[p])


@brief
def extend_one(plan, model, none, width, key, word):
    """Score one word after the state of a key.

    none: an empty array of the kind of numbers that keys hold. width: how many a key has.
    Returns (log10 of the probability, length of the longest contiguous gram that was found, 0 where the key is none of
    this model, the key after the word).
    """
    out = np.empty(width, none.dtype)
    if len(key) != width * none.itemsize:
        return 0.0, 0, out[:0].view(np.int8)
    keys = np.frombuffer(key, none.dtype).reshape(1, -1)
    scores = np.empty(1)
    lengths = np.empty(1, np.int64)
    words = np.full(1, word, np.int32)
    extend(keys, words, 1, plan, model, out.reshape(1, -1), scores, lengths)
    return scores[0], lengths[0], out.view(np.int8)
