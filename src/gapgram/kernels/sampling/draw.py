"""Sentences drawn from a model without its distributions.

A prediction is a mixture: each pattern decides a share of it by its discounted counts, and a rest goes evenly to all
words (`kernels.probability.probabilities`). So a word is drawn exactly by drawing the pattern that decides, by the
shares, and then a gram of the pattern's list, by the discounted counts; for a pattern of classes that is a class, and a
word of it is drawn by the probabilities given the class. A gram of a long list is found by running sums, kept for every
64th gram.

Many sentences are drawn side by side, each in a column of its own; where one ends another begins. Random numbers belong
to a sentence and a position in it, so that nothing depends on what is drawn beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel, noinline
from gapgram.kernels.probability.gate import gate_weights
from gapgram.kernels.probability.probabilities import discounted, share
from gapgram.kernels.probability.query import locate, new_found
from gapgram.kernels.probability.successors import find_spans
from gapgram.kernels.tables.arrays import N_GRAMS, clustering_of, first_class
from gapgram.kernels.tables.model_arrays import BACKOFF, Positions
from gapgram.kernels.tables.read import RUN, read_grams
from gapgram.kernels.tables.search import first_at_least
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID

STEP_BITS = 6
STEP = 1 << STEP_BITS  # grams from one running sum to the next
MOST_TRIES = 10_000  # to draw a word that is not <unk>
HIDING = 3 * MOST_TRIES  # the number of the draw that says whether a word is hidden
_GOLDEN, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class RunningSums(NamedTuple):
    """What the grams of each pattern, and the words of each class, are worth up to one of them.

    first       int64 [pattern]: where the sums of a pattern begin
    of_grams    float64: of the discounted counts before grams 0, 64, 128 … of a pattern
    of_members  float64 [member + 1]: of the probabilities given the class, before each of `members`
    """

    first: np.ndarray
    of_grams: np.ndarray
    of_members: np.ndarray


@kernel
def sum_grams(tables, p, discounts, out):
    """Fill `out` with the discounted counts of pattern p before every 64th gram."""
    words, counts = np.empty(RUN, np.int64), np.empty(RUN, np.int64)
    total = 0.0
    for first in range(0, tables.places[p, N_GRAMS], RUN):
        n = min(RUN, tables.places[p, N_GRAMS] - first)
        read_grams(tables, p, first, words[:n], counts[:n])
        for i in range(n):
            if (first + i) & (STEP - 1) == 0:
                out[(first + i) >> STEP_BITS] = total
            total += discounted(discounts, p, counts[i]) if counts[i] > 0 else 0.0


@kernel
def _mixed(h):
    """Bits that all depend on all bits of a number (the end of splitmix64)."""
    h = (h ^ (h >> np.uint64(30))) * _MIX_1
    h = (h ^ (h >> np.uint64(27))) * _MIX_2
    return h ^ (h >> np.uint64(31))


@kernel
def random_number(seed, sentence, position, draw):
    """A number from 0 up to 1 for a draw at a position of a sentence."""
    h = _mixed(np.uint64(seed) + _GOLDEN)
    h = _mixed(h + np.uint64(sentence) * _GOLDEN)
    h = _mixed(h + (np.uint64(position) << np.uint64(20)) + np.uint64(draw))
    return np.float64(np.int64(h >> np.uint64(11))) * (1.0 / 9007199254740992.0)


@kernel
def _worth_before(tables, p, discounts, sums, g, words, counts):
    """The discounted counts of pattern p before gram g."""
    first = g >> STEP_BITS << STEP_BITS
    if first == g:
        at = g >> STEP_BITS
        if g < tables.places[p, N_GRAMS]:
            return sums.of_grams[sums.first[p] + at]
        first -= STEP  # the end of the table: there is no sum there
    total = sums.of_grams[sums.first[p] + (first >> STEP_BITS)]
    read_grams(tables, p, first, words[: g - first], counts[: g - first])
    for i in range(g - first):
        total += discounted(discounts, p, counts[i]) if counts[i] > 0 else 0.0
    return total


@kernel
def _draw_gram(tables, p, discounts, sums, begin, end, u, words, counts):
    """The last word, or class, of one of grams begin … end-1 of pattern p, drawn by their discounted counts."""
    low = _worth_before(tables, p, discounts, sums, begin, words, counts)
    goal = low + u * (_worth_before(tables, p, discounts, sums, end, words, counts) - low)
    # The last running sum that is not beyond the goal, then the grams after it one by one.
    first = sums.first[p]
    block = first_at_least(sums.of_grams, first + (begin >> STEP_BITS) + 1, first + ((end - 1) >> STEP_BITS) + 1, goal)
    at = max((block - 1 - first) << STEP_BITS, 0)
    total = sums.of_grams[block - 1]
    n = min(STEP, end - at)
    read_grams(tables, p, at, words[:n], counts[:n])
    drawn = np.int64(-1)
    for i in range(n):
        worth = discounted(discounts, p, counts[i]) if counts[i] > 0 else 0.0
        total += worth
        if at + i >= begin and worth > 0.0:
            drawn = max(words[i], 0)
            if total > goal:
                break
    return drawn


@kernel
def _draw_member(model, sums, c, u):
    """A word of class c, drawn by its probability given the class."""
    begin, end = model.member_base[c], model.member_base[c + 1]
    goal = sums.of_members[begin] + u * (sums.of_members[end] - sums.of_members[begin])
    at = first_at_least(sums.of_members, begin + 1, end, goal) - 1
    while at + 1 < end and sums.of_members[at + 1] <= goal:
        at += 1
    return np.int64(model.members[at])


@kernel
def _draw_word(model, sums, spans, rows, shares, rest, i, numbers, words, counts):
    """A word for column i, by what each pattern decides; numbers: three random ones."""
    tables = model.tables
    left = numbers[0] * (rest + _decided(model, rows, shares, i))
    for p in range(shares.size - 1, -1, -1):
        mass = shares[p] * (1.0 - model.row_values[rows[p, i], BACKOFF]) if shares[p] > 0.0 else 0.0
        if left < mass:
            drawn = _draw_gram(
                tables, p, model.discounts, sums, spans[0, p, i], spans[1, p, i], numbers[1], words, counts
            )
            if drawn >= 0 and clustering_of(tables.places, p) > 0:
                drawn += first_class(tables.places, p)
                return _draw_member(model, sums, min(drawn, model.member_base.size - 2), numbers[2])
            return min(drawn, tables.places[0, N_GRAMS] - 1)
        left -= mass
    # Evenly among all words but <s>.
    word = np.int64(numbers[1] * (tables.places[0, N_GRAMS] - 1))
    return word if word < START_ID else word + 1


@kernel
def _decided(model, rows, shares, i):
    """The part of the prediction that patterns decide."""
    total = 0.0
    for p in range(shares.size):
        if shares[p] > 0.0:
            total += shares[p] * (1.0 - model.row_values[rows[p, i], BACKOFF])
    return total


@noinline
def _draw_columns(positions, sentences, lengths, begin, seed, hidden, model, sums, spans, rows, drawn):
    """Fill `drawn` with the next word of each column: the beginning's where it is not over, else one that is drawn."""
    gate = gate_weights(positions, rows, model)
    shares, numbers = np.empty(rows.shape[0]), np.empty(3)
    words, counts = np.empty(STEP, np.int64), np.empty(STEP, np.int64)
    for i in range(sentences.size):
        if sentences[i] < 0:
            drawn[i] = END_ID
        elif lengths[i] < 0:
            drawn[i] = START_ID
        elif lengths[i] < begin.size:
            drawn[i] = begin[lengths[i]]
        else:
            rest = share(positions, i, rows, gate, model, shares)
            drawn[i] = UNKNOWN_ID
            for draw in range(MOST_TRIES):
                for k in range(3):
                    numbers[k] = random_number(seed, sentences[i], lengths[i], 3 * draw + k)
                drawn[i] = _draw_word(model, sums, spans, rows, shares, rest, i, numbers, words, counts)
                if (drawn[i] != UNKNOWN_ID or hidden.size > 0) and drawn[i] >= 0:
                    break


@kernel
def _hide(sentences, lengths, first_drawn, seed, hidden, drawn, written):
    """Make unknown words of some that were drawn; `written` receives those, and ~word where one was hidden."""
    written[:] = drawn
    for i in range(drawn.size if hidden.size > 0 else 0):
        was_drawn = sentences[i] >= 0 and lengths[i] >= first_drawn and drawn[i] > END_ID
        if was_drawn and random_number(seed, sentences[i], lengths[i], HIDING) < hidden[drawn[i]]:
            written[i], drawn[i] = ~drawn[i], UNKNOWN_ID


@kernel
def draw_sentences(first, begin, max_words, seed, hidden, stride, model, sums, out, lengths):
    """Draw sentences number `first`, first + 1 …; out[s] receives the words of one, lengths[s] how many they are.

    begin: the words that each begins with. hidden: how probably each word, once drawn, is an unknown one to all that
    follow, and written as ~word; where it is empty none is, and <unk> is never drawn. The tables of `model` are those
    of the model with every distance multiplied by `stride`, the number of columns: so `locate`, which looks d columns
    back for what was d words ago, finds that of all sentences side by side.
    """
    order, n_patterns = model.order, model.discounts.shape[0]
    at = (order - 1) * stride
    found = new_found(n_patterns, at + stride)
    found.entries[:] = -1
    rows, spans = np.empty((n_patterns, stride), np.int64), np.empty((2, n_patterns, stride), np.int64)
    ids, available = np.zeros((stride, order), np.int32), np.zeros(stride, np.int16)
    drawn, written = np.empty(stride, np.int32), np.empty(stride, np.int32)
    # Which sentence each column has, -1: none; and how many words it has so far, -1: not even <s>.
    sentences, so_far = np.full(stride, -1, np.int64), np.full(stride, -1, np.int64)
    begun, over = 0, 0
    while over < lengths.size:
        for i in range(stride):
            if sentences[i] < 0 and begun < lengths.size:
                sentences[i], so_far[i], available[i] = first + begun, -1, 0
                begun += 1
        find_spans(available, found.entries, at, model.tables, spans, rows)
        positions = Positions(ids.reshape(-1), order - 1, order, available, 0)
        _draw_columns(positions, sentences, so_far, begin, seed, hidden, model, sums, spans, rows, drawn)
        _hide(sentences, so_far, begin.size, seed, hidden, drawn, written)
        locate(drawn, available, found, at, model.tables)
        # All moves back by one word.
        found.entries[:, :at] = found.entries[:, stride : at + stride]
        for i in range(stride):
            for k in range(order - 2):
                ids[i, k] = ids[i, k + 1]
            if order > 1:
                ids[i, order - 2] = drawn[i]
            available[i] = min(available[i] + 1, order - 1)
            if sentences[i] < 0:
                continue
            s = sentences[i] - first
            if so_far[i] >= 0 and drawn[i] != END_ID:
                out[s, so_far[i]] = written[i]
            so_far[i] += drawn[i] != END_ID
            if drawn[i] == END_ID or so_far[i] >= max_words:
                lengths[s] = so_far[i]
                sentences[i] = -1
                over += 1
