"""One more word after a state, as decoders ask for it: one column of lookups a word, many states at once.

A state is a row of whole numbers, its *key*: everything that the probabilities of all later words depend on.

    available           how many words a prediction after the state sees
    words               where there is a gate, a word of the same bucket for each of the n-1 last words, nearest first
    slots               the grams found: slot (q, d) holds the gram of pattern q that ends at the d-th last word, or -1

Which slots there are, and who reads them, is the *plan* (`gapgram.queries.states`). A gram that no context reads any
more, or that only leads to contexts never seen, becomes -1: states that differ in nothing else are equal, and looked
up to the same bits.

`extend` takes many states at once, of any lattice, by the same lookup as a text: their columns lie side by side. Where
every pattern falls back on one other, `extend_chain` and `extend_rows` need no columns, but the numbers of one word;
what they compute, and in which order, is the same: the results have the same bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import brief, kernel
from gapgram.kernels.intrinsics import part_of_row, prefetch
from gapgram.kernels.probability.gate import (
    BUCKETS,
    FREQUENT_WORDS,
    bucket_of_row,
    exponentials,
    sum_logits,
    word_bucket,
    word_row,
)
from gapgram.kernels.probability.probabilities import discounted, given_class
from gapgram.kernels.probability.query import fallback_of, find_gram, locate, new_found, probabilities_of
from gapgram.kernels.probability.scores import log10_of
from gapgram.kernels.tables.arrays import (
    FIRST_ROW,
    N_CONTEXTS,
    N_ROWS,
    NEAREST,
    REACH,
    STRIDE,
    Tables,
    clustering_of,
    code_mask_of,
    first_class,
    format_of,
    gram_at,
    halves_of,
)
from gapgram.kernels.tables.keys import key_of
from gapgram.kernels.tables.model_arrays import BACKOFF, SCALE, WEIGHT, Positions
from gapgram.kernels.tables.read import context_at, first_listed, listed_count, prefetch_context
from gapgram.kernels.tables.search import first_guess, gram_word

SLOT, READER = 0, 1  # columns of what is known of each pattern
NEAR = 1 << 12  # numbers of a kind that are found at a time: more would have to be brought from farther away
CLOSE = 32  # records of contexts, among which guessing one pays
FEWEST = 16  # states that are looked up together, if there are as many


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
def _write_key(word, held, base, plan, order, tables, entries, out):
    """The key after the word."""
    if plan.gated:
        out[1] = gate_word(word)
        for k in range(2, order):
            out[k] = held[k - 1]
    longest = np.int64(0)
    for s in range(plan.slots.shape[0]):
        pattern, nearer = plan.slots[s, 0], plan.slots[s, 2]
        place = entries[pattern] if nearer < 0 else np.int64(held[base + nearer])
        # A place that no context reads, or that only leads to contexts never seen, is forgotten
        seen = False
        if place >= 0:
            for r in range(plan.reader_base[s], plan.reader_base[s + 1]):
                if is_seen(tables, plan.readers[r], place):
                    seen = True
                    break
        if seen:
            longest = max(longest, tables.places[pattern, REACH] + plan.slots[s, 1])
        out[base + s] = place if seen else -1
    out[0] = longest if plan.forgetful else min(np.int64(held[0]) + 1, order - 1)


@kernel
def extend(keys, words, plan, model, out, scores, lengths):
    """Score one word after each of some states.

    Row i of `out` receives the key after words[i], scores[i] log10 of the word's probability (the bits that
    `kernels.probability.query.score_positions` has for it), lengths[i] the length of the longest contiguous gram
    found.
    """
    n_patterns, order = model.discounts.shape[0], model.order
    stride = min(max(NEAR // (n_patterns * order), FEWEST), words.size)
    found, tables = new_found(n_patterns, order * stride), _side_by_side(model.tables, stride)
    for first in range(0, words.size, max(stride, 1)):
        last = min(first + stride, words.size)
        _extend_some(
            keys[first:last], words[first:last], stride, plan, model, tables, found, out[first:last],
            scores[first:last], lengths[first:last],
        )  # fmt: skip


@kernel
def _side_by_side(tables, stride):
    """Tables for so many states: `locate`, which looks d columns back for what was d words ago, finds that of each."""
    places = tables.places.copy()
    for p in range(places.shape[0]):
        places[p, NEAREST] *= stride
    return Tables(
        tables.grams, tables.large_at, tables.large_counts, tables.contexts, places, tables.parts, tables.rows,
        tables.class_of, tables.word_counts, tables.packed, tables.packed_places,
    )  # fmt: skip


@kernel
def _extend_some(keys, words, stride, plan, model, tables, found, out, scores, lengths):
    """`extend` for at most `stride` states, with the tables for so many; `found` has order * stride columns."""
    n, n_patterns, order, at = words.size, model.discounts.shape[0], model.order, (model.order - 1) * stride
    slots, spans, base, entries = plan.slots, plan.spans, order if plan.gated else 1, found.entries
    available = np.empty(n, np.int16)
    for i in range(n):
        available[i] = min(max(keys[i, 0], 0), order - 1)
    for s in range(slots.shape[0]):
        pattern, first = slots[s, 0], at - slots[s, 1] * stride
        for i in range(n):
            entries[pattern, first + i] = keys[i, base + s]
    locate(words, available, found, at, tables)
    for i in range(n):
        _write_key(words[i], keys[i], base, plan, order, model.tables, entries[:, at + i], out[i])
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
    extend(keys, words, plan, model, out.reshape(1, -1), scores, lengths)
    return scores[0], lengths[0], out.view(np.int8)


class OneWord(NamedTuple):
    """What is found of one word, for each pattern.

    keys                the key of the word, or of its class
    first, spread       the grams of its context: the first, and how many there are
    rows                the row of its context, -1 where the sentence is too short
    entries             its gram or -1
    values              its probability
    """

    keys: np.ndarray
    first: np.ndarray
    spread: np.ndarray
    rows: np.ndarray
    entries: np.ndarray
    values: np.ndarray


@kernel
def _ask_for_grams(word, held, base, available, at, model, one):
    """Fill what is known of a word's contexts, and ask for all memory that `_look_up` reads.

    A read that waits for another costs as much as two: here all are under way together.
    """
    tables, places = model.tables, model.tables.places
    n_words, key = tables.word_counts.size, np.int64(0)
    for p in range(places.shape[0]):
        if 0 < places[p, REACH] <= available:
            prefetch_context(tables, p, np.int64(held[base + at[p, SLOT]]))
    for p in range(places.shape[0]):
        form, row = format_of(places, p), np.int64(-1)
        one.first[p], one.spread[p], guess = 0, 0, np.int64(0)
        if places[p, REACH] == 0:
            # The word itself, or its class; the patterns up to the next such one have its key.
            number, clustering = word, clustering_of(places, p)
            if clustering > 0 and word < n_words:
                number = np.int64(tables.class_of[np.uint64((clustering - 1) * n_words + word)])
                number -= first_class(places, p)
            number = number if 0 <= number < form.n_grams else np.int64(0)
            key, row, guess = key_of(number, form.key_bits), context_at(tables, p, 0)[2], number
            one.first[p] = number
        elif available >= places[p, REACH]:
            row, context = np.int64(0), min(np.int64(held[base + at[p, SLOT]]), form.n_contexts - 1)
            if context >= 0:
                begin, end, row = context_at(tables, p, context)
                one.first[p], one.spread[p] = begin, end - begin
                guess = first_guess(key, begin, end - begin, form.key_bits)
        if row >= 0:
            row = places[p, FIRST_ROW] + min(row, places[p, N_ROWS] - 1)
            prefetch(part_of_row(model.row_values, row, 0, 4), 0)
            if one.spread[p] > 0 or places[p, REACH] == 0:
                prefetch(tables.grams, gram_word(form, guess))
            # The next key is made of a context that lies near this one, if it is not it.
            reader = at[p, READER]
            if reader > 0 and one.spread[p] * places[reader, STRIDE] <= CLOSE:
                prefetch_context(tables, reader, guess)
        one.keys[p], one.rows[p] = key, row


@kernel
def _was_seen_in_parts(p, root, entries, parts):
    """Whether the grams that skip one word more were seen: a gram was only seen if each of its parts was."""
    missing = 0
    for k in range(parts.shape[1]):
        missing += parts[p, k] > root and entries[parts[p, k]] < 0
    return missing == 0


@kernel
def _look_up(word, held, base, available, at, model, one):
    """Fill what is found of a word after a key."""
    tables, places, parts, row_values = model.tables, model.tables.places, model.tables.parts, model.row_values
    bits, halves = tables.grams, halves_of(tables)
    _ask_for_grams(word, held, base, available, at, model, one)
    root, given = 0, 1.0
    for p in range(places.shape[0]):
        form, row = format_of(places, p), one.rows[p]
        entry, gram = np.int64(-1), np.int64(0)
        if places[p, REACH] == 0:
            root, entry = p, one.first[p]
            gram, given = gram_at(bits, halves, form, entry), given_class(model, clustering_of(places, p), word)
        elif one.spread[p] > 0 and _was_seen_in_parts(p, root, one.entries, parts):
            entry, gram = find_gram(bits, halves, form, one.keys[p], one.first[p], one.spread[p])
            if entry >= 0 and at[p, READER] > 0:
                prefetch_context(tables, at[p, READER], entry)
        one.entries[p] = entry
        # Its probability under this pattern, from that under the pattern it falls back on
        fallen = one.values[fallback_of(model.edge_base, model.edge_to, p)] if p > 0 else model.uniform
        if row >= 0:
            count = _count(tables, p, entry, gram)
            kept = discounted(model.discounts, p, count) * row_values[row, SCALE]
            fallen = fallen * row_values[row, BACKOFF] + kept * given
        one.values[p] = fallen


@kernel
def _count(tables, p, entry, gram):
    """The count of a gram from its bits; 0 where it was not found."""
    if entry < 0:
        return np.int64(0)
    code_mask = code_mask_of(format_of(tables.places, p))
    code = gram & code_mask
    return listed_count(tables, p, entry, code) if code >= first_listed(tables, code_mask) else code


@kernel
def _mixed(held, available, model, one):
    """The probabilities under the patterns that a prediction starts from, mixed: equations (16) and (17)."""
    row_values, start_base, starts = model.row_values, model.start_base, model.starts
    first, last = start_base[available], start_base[available + 1]
    if last - first == 1:
        return one.values[starts[first]]
    n_patterns, table = one.values.size, model.gate_table.reshape(-1)
    weights = np.ones(n_patterns)
    if table.size > 0:
        features, logits = np.empty(n_patterns + model.order + 1, np.int64), np.empty(n_patterns)
        # The rows of the gate's table that add up: of the words available, of each pattern's context, of the last words
        features[0] = (n_patterns * BUCKETS + available) * n_patterns
        n_features = 1
        for s in range(first, last):
            bucket = bucket_of_row(row_values, one.rows[starts[s]])
            features[n_features] = (starts[s] * BUCKETS + bucket) * n_patterns
            n_features += 1
        for k in range(1, available + 1):
            row = word_row(n_patterns, model.order, k, word_bucket(np.int64(held[k])))
            features[n_features] = row * n_patterns
            n_features += 1
        sum_logits(table, features, 1, n_features, logits)
        exponentials(logits, weights)
    total = 0.0
    mixed = 0.0
    for s in range(first, last):
        p = starts[s]
        weight = row_values[np.uint64(max(one.rows[p], 0)), WEIGHT] * weights[p]
        total += weight
        mixed += weight * one.values[p]
    return mixed / total if total > 0.0 else 0.0


@kernel
def _step(word, held, base, plan, at, model, one, out):
    """log10 of the probability of a word after a key; fills what is found of it, and the key after it."""
    available = min(max(np.int64(held[0]), 0), model.order - 1)
    _look_up(word, held, base, available, at, model, one)
    _write_key(word, held, base, plan, model.order, model.tables, one.entries, out)
    return log10_of(_mixed(held, available, model, one))


@kernel
def _new_one(n_patterns):
    numbers = np.empty((5, n_patterns), np.int64)
    return OneWord(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], np.empty(n_patterns))


@brief
def extend_chain(plan, at, model, none, width, key, word):
    """`extend_one` where every pattern falls back on one other.

    at: [pattern]: its SLOT, that of a key in which its context lies, and a READER, whose contexts its grams are, or 0.
    """
    out = np.empty(width, none.dtype)
    if len(key) != width * none.itemsize:
        return 0.0, 0, out[:0].view(np.int8)
    held, base, one = np.frombuffer(key, none.dtype), model.order if plan.gated else 1, _new_one(at.shape[0])
    score = _step(np.int64(word), held, base, plan, at, model, one, out)
    length = 1
    for p in range(1, at.shape[0]):
        if one.entries[p] >= 0:
            length = max(length, plan.spans[p])
    return score, length, out.view(np.int8)


@kernel
def extend_rows(plan, at, model, states, asked, n, answers):
    """Step from row to row of `states`, a key each: log10 of the probabilities go to `answers`.

    asked: [i], from which row, the word, and the row of the key after it, -1 where it is not needed.
    """
    base, one = model.order if plan.gated else 1, _new_one(at.shape[0])
    not_kept = np.empty(states.shape[1], states.dtype)
    for i in range(n):
        out = states[asked[i, 2]] if asked[i, 2] >= 0 else not_kept
        answers[i] = _step(np.int64(asked[i, 1]), states[asked[i, 0]], base, plan, at, model, one, out)
