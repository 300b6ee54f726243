"""Dropping grams: the tables that are left, how grams of patterns belong together, what a gram is worth.

Tables of one pattern are arrays as `gapgram.counts.counts.Piece` has them, or taken apart: context c is followed by
grams begins[c] to begins[c+1], sorted by key.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.counting.distinct_rows import empty_row_set, grown, is_full, row_number, rows_of
from gapgram.kernels.probability.probabilities import discounted
from gapgram.kernels.tables.arrays import COUNT_MASK, ROW_BITS, ROW_MASK
from gapgram.kernels.tables.model_arrays import BACKOFF, SCALE
from gapgram.kernels.tables.search import first_at_least

GAIN = 0.9


class Followers(NamedTuple):
    """Some contexts of a pattern and the grams that follow them: context c is followed by grams begins[c] to
    begins[c+1].

    counts      int64 [gram]
    begins      int64 [context + 1]
    rows        int32 [context]: the row of its statistics, among those of the pattern
    """

    counts: np.ndarray
    begins: np.ndarray
    rows: np.ndarray


class Estimate(NamedTuple):
    """What a pattern makes of counts.

    pattern     its number
    discounts   float64 [pattern, 4]: of all patterns (`kernels.tables.model_arrays`)
    row_values  float64 [row, 4]: of the rows of this pattern
    odds        float64 [row]: of falling back, over the usual
    """

    pattern: int
    discounts: np.ndarray
    row_values: np.ndarray
    odds: np.ndarray


@kernel
def pruned_tables(grams, contexts, rows, kept, kept_contexts):
    """(grams, contexts, rows) of a pattern with only some of its grams, and of its tail's.

    The count of a gram that goes is missing from its context, also where nothing else is left of it.
    """
    n_grams = np.int64(0)
    for g in range(kept.size):
        n_grams += kept[g]
    n_contexts = np.int64(0)
    for c in range(kept_contexts.size):
        n_contexts += kept_contexts[c]
    new_grams = np.empty(n_grams, np.int64)
    new_contexts = np.empty(n_contexts, np.int64)
    row_set = empty_row_set()
    to_gram = np.int64(0)
    to_context = np.int64(0)
    for c in range(contexts.size):
        begin = contexts[c] >> ROW_BITS
        end = contexts[c + 1] >> ROW_BITS if c + 1 < contexts.size else np.int64(grams.size)
        old = rows[contexts[c] & ROW_MASK]
        first = to_gram
        n = np.zeros(4, np.int64)
        missing = old[4]
        for g in range(begin, end):
            count = grams[g] & COUNT_MASK
            if kept[g]:
                new_grams[to_gram] = grams[g]
                to_gram += 1
                n[min(count, 3)] += 1
            else:
                missing += count
        if kept_contexts[c]:
            row = np.int64(0)
            if old[0] > 0:
                row_set = grown(row_set) if is_full(row_set) else row_set
                row = row_number(row_set, old[0], n[1], n[2], n[3], missing)
            new_contexts[to_context] = first << ROW_BITS | row
            to_context += 1
    return new_grams, new_contexts, rows_of(row_set)


@kernel
def needed(kept, begins, out):
    """Mark in `out` every context that has a gram left."""
    for c in range(begins.size - 1):
        for g in range(begins[c], begins[c + 1]):
            if kept[g]:
                out[c] = True
                break


@kernel
def find_grams(contexts, keys, part_begins, part_keys):
    """For each pair of a context of a table (-1: none) and a key the number of the gram; -1 where there is none."""
    out = np.full(keys.size, -1, np.int64)
    for g in range(keys.size):
        context = contexts[g]
        if context < 0:
            continue
        end = part_begins[context + 1]
        i = first_at_least(part_keys, part_begins[context], end, keys[g])
        if i < end and part_keys[i] == keys[g]:
            out[g] = i
    return out


@kernel
def add_occurrences(numbers, occurrences, out):
    """Add to the grams with these numbers what the grams that hold them occur more often than once."""
    for g in range(numbers.size):
        if numbers[g] >= 0:
            out[numbers[g]] += occurrences[g] - 1


@kernel
def gram_probabilities(counts, contexts, context_rows, estimate, below):
    """P(w | h) under one pattern of grams with these contexts, `below` being that of the patterns below it.

    Equation (15) of docs/ideas/mathematics.md.
    """
    row_values = estimate.row_values
    out = np.empty(counts.size)
    for g in range(counts.size):
        row = context_rows[contexts[g]]
        left = discounted(estimate.discounts, estimate.pattern, counts[g])
        out[g] = left * row_values[row, SCALE] + row_values[row, BACKOFF] * below[g]
    return out


@kernel
def losses(followers, estimate, below, expected, mean_weight):
    """What text of the same length is expected to lose with each gram if it alone goes, in nats.

    Equations (31) and (32) of docs/ideas/mathematics.md.

    That is the relative entropy of the context's distribution with and without the gram, for each time that
    the gram is `expected`. The pattern decides `mean_weight` of a prediction, on average. Words that never follow the
    context gain by what goes, and so do those that follow it and stay; each are taken as one, and what they gain is
    counted somewhat short.
    """
    counts, begins, row_values, odds = followers.counts, followers.begins, estimate.row_values, estimate.odds
    out = np.zeros(counts.size)
    for c in range(begins.size - 1):
        # The context: what it keeps, what it passes on, and how much of that goes to words that follow it.
        begin, end = begins[c], begins[c + 1]
        row = followers.rows[c]
        scale = row_values[row, SCALE]
        gamma = row_values[row, BACKOFF]
        known = 0.0
        for g in range(begin, end):
            known += below[g]
        known = min(known, 1.0)
        for g in range(begin, end):
            # The probability of the gram's word, of the other followers and of all other words, with the gram …
            own = max(discounted(estimate.discounts, estimate.pattern, counts[g]), 0.0)
            p = own * scale + gamma * below[g]
            shrink = 1.0 / (1.0 + scale * (odds[row] - 1.0) * own)
            new_gamma = (gamma + odds[row] * own * scale) * shrink
            others_below = max(known - below[g], 0.0)
            others = max(1.0 - gamma - own * scale, 0.0)
            new_others = others * shrink + new_gamma * others_below
            others += gamma * others_below
            unseen = gamma * (1.0 - known)
            new_unseen = new_gamma * (1.0 - known)
            # … and what each loses or gains where it goes.
            cost = _relative_entropy(p, mean_weight * (new_gamma * below[g] - p))
            gain = -_relative_entropy(others, mean_weight * (new_others - others))
            gain -= _relative_entropy(unseen, mean_weight * (new_unseen - unseen))
            out[g] = expected[g] * max(cost - GAIN * gain, 0.0) / p
    return out


@kernel
def _relative_entropy(p, change):
    """p ln(p / (p + change)), 0 where p is."""
    return p * math.log(p / max(p + change, 1e-300)) if p > 0.0 else 0.0
