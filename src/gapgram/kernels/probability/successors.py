"""The words that followed a context, pattern by pattern, and the distribution that they make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.gate import gate_weights
from gapgram.kernels.probability.probabilities import discounted, share
from gapgram.kernels.probability.query import locate_all
from gapgram.kernels.probability.scores import make_possible
from gapgram.kernels.tables.arrays import (
    FIRST_ROW,
    N_CONTEXTS,
    N_GRAMS,
    N_ROWS,
    NEAREST,
    REACH,
    TAIL,
    clustering_of,
    first_class,
)
from gapgram.kernels.tables.model_arrays import SCALE, Positions
from gapgram.kernels.tables.read import RUN, context_at, read_grams
from gapgram.kernels.text.special_words import START_ID


class Successors(NamedTuple):
    """The words that followed a context: a list for each pattern, and what they are worth.

    begin, end      int64 [pattern]: the list of pattern p is its grams begin[p] … end[p]-1; empty where the pattern
                    has no share, or is one of classes
    scale           float64 [pattern]: a discounted count of the list times this is its term of a probability
    floor           float: the term that every word has
    class_masses    float64 [class]: what all patterns of its clustering together give a class, whose words share it by
                    their probabilities given the class; empty without classes
    """

    begin: np.ndarray
    end: np.ndarray
    scale: np.ndarray
    floor: float
    class_masses: np.ndarray


@kernel
def find_spans(available, entries, at, tables, spans, rows):
    """Of every column the grams that follow its context under each pattern, and the row of its statistics.

    available: how many words are known in each. entries: as `kernels.probability.query.Found` has them, those of the
    words before the first column before `at`. spans: [begin or end, pattern, column]; rows: [pattern, column].
    """
    for p in range(rows.shape[0]):
        place = tables.places[p]
        for i in range(available.size):
            spans[0, p, i], spans[1, p, i], rows[p, i] = 0, 0, -1
            if place[REACH] <= available[i]:
                rows[p, i] = place[FIRST_ROW]
                number = entries[place[TAIL], at + i - place[NEAREST]] if place[REACH] > 0 else np.int64(0)
                if number >= 0:
                    begin, end, row = context_at(tables, p, min(number, place[N_CONTEXTS] - 1))
                    spans[0, p, i], spans[1, p, i] = begin, end
                    rows[p, i] += min(row, place[N_ROWS] - 1)


@kernel
def successors(context, model):
    """The `Successors` of a context, its oldest word first; it may be empty."""
    entries = locate_all(context, model.order, model.tables).entries
    return _successors_of(entries, context, min(context.size, model.order - 1), model)


@kernel
def _successors_of(entries, context, known, model):
    """The `Successors` of a context whose grams were found."""
    n_patterns = model.discounts.shape[0]
    available, rows = np.full(1, known, np.int16), np.empty((n_patterns, 1), np.int64)
    spans = np.empty((2, n_patterns, 1), np.int64)
    find_spans(available, entries, context.size, model.tables, spans, rows)
    begin, end = spans[0].reshape(-1), spans[1].reshape(-1)
    positions = Positions(context, context.size, 1, available, 0)
    shares = np.empty(n_patterns)
    rest = share(positions, 0, rows, gate_weights(positions, rows, model), model, shares)
    scale = np.zeros(n_patterns)
    for p in range(n_patterns):
        if shares[p] > 0.0:
            scale[p] = shares[p] * model.row_values[rows[p, 0], SCALE]
        else:
            end[p] = begin[p]
    masses = _class_masses(begin, end, scale, model)
    for p in range(n_patterns):
        if clustering_of(model.tables.places, p) > 0:
            end[p] = begin[p]
    return Successors(begin, end, scale, rest * model.uniform, masses)


@kernel
def _class_masses(begin, end, scale, model):
    """Of each class what the patterns of classes give it."""
    tables, discounts = model.tables, model.discounts
    n_classes = max(model.member_base.size - 1, 0)
    masses = np.zeros(n_classes)
    classes, counts = np.empty(RUN, np.int64), np.empty(RUN, np.int64)
    for p in range(begin.size):
        before = first_class(tables.places, p)
        for first in range(begin[p], end[p] if clustering_of(tables.places, p) > 0 else begin[p], RUN):
            n = min(RUN, end[p] - first)
            read_grams(tables, p, first, classes[:n], counts[:n])
            for i in range(n):
                if counts[i] > 0:
                    masses[min(before + classes[i], n_classes - 1)] += scale[p] * discounted(discounts, p, counts[i])
    return masses


@kernel
def member_term(member, masses, class_of, given_class):
    """What the patterns of a clustering give a word, `masses` being what they give each class.

    member: the place of the word in that clustering's part of `class_of`.
    """
    return masses[min(max(class_of[member], 0), masses.size - 1)] * given_class[member]


@kernel
def class_term(word, n_words, masses, class_of, given_class):
    """What the patterns of classes, of all clusterings, give a word; n_words: how many have classes."""
    total = 0.0
    for member in range(word, class_of.size, n_words):
        total += member_term(member, masses, class_of, given_class)
    return total


@kernel
def distribution(context, model):
    """The probability of every word of the vocabulary after a context."""
    out = np.empty(model.tables.places[0, N_GRAMS])
    _spread(successors(context, model), model, out)
    return out


@kernel
def distributions(keys, plan, model, out):
    """out[i]: the probability of every word after the state of a key (`kernels.probability.stepping`)."""
    n_patterns, n, slots = model.discounts.shape[0], model.order - 1, plan.slots
    base = model.order if plan.gated else 1
    for i in range(keys.shape[0]):
        known = min(max(np.int64(keys[i, 0]), 0), n)
        # The words and grams of the state, as if its text had been looked up.
        context, entries = np.zeros(n, np.int32), np.full((n_patterns, max(n, 1)), -1, np.int64)
        for k in range(1, n + 1 if plan.gated else 0):
            context[n - k] = keys[i, k]
        for s in range(slots.shape[0]):
            entries[slots[s, 0], n - slots[s, 1]] = keys[i, base + s]
        _spread(_successors_of(entries, context, known, model), model, out[i])


@kernel
def _spread(lists, model, out):
    """Fill the probability of every word from lists of those that follow."""
    tables, discounts = model.tables, model.discounts
    out[:] = lists.floor
    words, counts = np.empty(RUN, np.int64), np.empty(RUN, np.int64)
    for p in range(lists.begin.size):
        scale = lists.scale[p]
        for first in range(lists.begin[p], lists.end[p], RUN):
            n = min(RUN, lists.end[p] - first)
            read_grams(tables, p, first, words[:n], counts[:n])
            for i in range(n):
                if counts[i] > 0:
                    out[min(words[i], out.size - 1)] += scale * discounted(discounts, p, counts[i])
    masses, class_of, given_class = lists.class_masses, tables.class_of, model.given_class
    n_words = tables.word_counts.size
    for word in range(out.size if masses.size > 0 else 0):
        out[word] += class_term(word, n_words, masses, class_of, given_class)
    out[START_ID] = 0.0
    make_possible(out)


@kernel
def shares_of_last(ids, model):
    """(found, shares, rest): what was found of each of a few words, and who decides of the last after the others."""
    last = ids.size - 1
    found = locate_all(ids, model.order, model.tables)
    positions = Positions(ids, last, 1, np.full(1, min(last, model.order - 1), np.int16), last)
    shares = np.empty(model.discounts.shape[0])
    rest = share(positions, 0, found.rows, gate_weights(positions, found.rows, model), model, shares)
    return found, shares, rest
