"""Whether the numbers of a model fit its tables: where predictions start and fall back, and what they give and pass on.

Checked whenever a file is opened, by Python and by the library for C alike; the numbers of each row of statistics, and
the words of classes, where tables are small or all is to be checked.
"""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.gate import BUCKETS, WORD_BUCKETS
from gapgram.kernels.tables.arrays import FIRST_ROW, N_ROWS, REACH
from gapgram.kernels.tables.model_arrays import BACKOFF, BUCKET, SCALE, WEIGHT
from gapgram.kernels.tables.structure import Fault

LEAST_WEIGHT = 1e-100
CLOSE = 1e-9  # to one, of what a context gives and passes on

# What is wrong with numbers; the first is nothing.
FAULTS = (
    "",
    "a pattern that does not fall back on smaller ones",
    "a pattern that falls back on none",
    "a pattern that leans to none that it falls back on",
    "a pattern that falls back on another twice",
    "a prediction that starts from none, or from words that are not known",
    "a prediction that starts from a pattern twice",
    "a discount of more than the count",
    "{found} features of a gate, expected {expected}",
    "{found} bounds of {expected} classes",
    "{found} words of classes, expected {expected}",
    "a context that passes on more than all, or has no weight",
    "a context in no bucket of the gate",
    "a context of {pattern} that does not give and pass on one in all",
    "words of classes that are not those of the tables",
)
(
    NO_FAULT, UPWARDS, NOWHERE, NO_LEANING, TWICE_BELOW, STARTS, TWICE_STARTED, DISCOUNT, GATE, BOUNDS, MEMBERS,
    WEIGHTS, BUCKETS_OF_ROWS, SUMS, CLASSES,
) = range(len(FAULTS))  # fmt: skip


@kernel
def _fault(number, p, found, expected):
    return Fault(np.int64(number), np.int64(p), np.int64(0), np.int64(found), np.int64(expected))


@kernel
def _fault_of_edges(model):
    """A graph in which a prediction could go round, or end nowhere."""
    base, to, places = model.edge_base, model.edge_to, model.tables.places
    for p in range(base.size - 1):
        total = 0.0
        for e in range(base[p], base[p + 1]):
            if p == 0 or to[e] >= p or places[to[e], REACH] > places[p, REACH]:
                return UPWARDS
            total += model.edge_weight[e]
            for other in range(base[p], e):
                if to[other] == to[e]:
                    return TWICE_BELOW
            if to[e] > 0 and base[to[e]] == base[to[e] + 1]:
                return NOWHERE
        if base[p + 1] - base[p] > 1 and total < LEAST_WEIGHT:
            return NO_LEANING
    for start in model.starts:
        if start > 0 and base[start] == base[start + 1]:
            return NOWHERE
    return NO_FAULT


@kernel
def _fault_of_starts(model):
    """A prediction that looks at words that are not known."""
    base, starts, places = model.start_base, model.starts, model.tables.places
    if base.size - 1 != model.order:
        return STARTS
    for known in range(model.order):
        if base[known] == base[known + 1]:
            return STARTS
        for s in range(base[known], base[known + 1]):
            if places[starts[s], REACH] > known:
                return STARTS
            for other in range(base[known], s):
                if starts[other] == starts[s]:
                    return TWICE_STARTED
    return NO_FAULT


@kernel
def _rows_are_sound(p, model):
    """Whether rows of a pattern give and pass on one in all."""
    rows, values, discounts = model.tables.rows, model.row_values, model.discounts
    first, n = model.tables.places[p, FIRST_ROW], model.tables.places[p, N_ROWS]
    for row in range(first, first + n):
        taken = rows[row, 1] * discounts[p, 1] + rows[row, 2] * discounts[p, 2] + rows[row, 3] * discounts[p, 3]
        given = max(rows[row, 0] - rows[row, 4] - taken, 0.0) * values[row, SCALE] + values[row, BACKOFF]
        if rows[row, 0] > 0 and not abs(given - 1.0) <= CLOSE:
            return False
        if rows[row, 0] == 0 and values[row, BACKOFF] != 1.0:
            return False
    return True


@kernel
def _members_are_sound(model):
    """Whether the words of each class, and what it gives each, are those that `class_of` and the counts make."""
    class_of, counts, base = model.tables.class_of, model.tables.word_counts, model.member_base
    if class_of.size == 0:
        return True
    n_words, next_member, totals = counts.size, base.copy(), np.zeros(base.size)
    for i in range(class_of.size):
        own = class_of[i]
        if own < 0 or own >= base.size - 1:
            return False
        at = next_member[own]
        if at >= base[own + 1] or model.members[at] != i % n_words:
            return False
        next_member[own] += 1
        totals[own] += counts[i % n_words]
    for i in range(class_of.size):
        if model.given_class[i] != counts[i % n_words] / max(totals[class_of[i]], 1.0):
            return False
    return True


@kernel
def fault_of_numbers(model, n_classes, whole):
    """What is wrong with the numbers of a model, a `Fault`; `whole`: those of every row of statistics, too."""
    n, order, tables = model.discounts.shape[0], model.order, model.tables
    number = _fault_of_edges(model)
    if number == NO_FAULT:
        number = _fault_of_starts(model)
    for p in range(n):
        for k in range(4):
            if number == NO_FAULT and not model.discounts[p, k] <= k:
                number = DISCOUNT
    if number != NO_FAULT:
        return _fault(number, 0, 0, 0)
    features = n * BUCKETS + order + (order - 1) * WORD_BUCKETS
    if model.gate_table.size > 0 and model.gate_table.shape[0] != features:
        return _fault(GATE, 0, model.gate_table.shape[0], features)
    if model.member_base.size != (n_classes + 1 if n_classes > 0 else 0):
        return _fault(BOUNDS, 0, model.member_base.size, n_classes)
    for size in (model.given_class.size, model.members.size):
        if size != tables.class_of.size:
            return _fault(MEMBERS, 0, size, tables.class_of.size)
    if not whole:
        return _fault(NO_FAULT, 0, 0, 0)
    values = model.row_values
    for row in range(values.shape[0]):
        if values[row, BACKOFF] > 1.0 or values[row, WEIGHT] < LEAST_WEIGHT:
            return _fault(WEIGHTS, 0, 0, 0)
        bucket = values[row, BUCKET]
        if bucket != math.floor(bucket) or bucket >= BUCKETS:
            return _fault(BUCKETS_OF_ROWS, 0, 0, 0)
    for p in range(n):
        if not _rows_are_sound(p, model):
            return _fault(SUMS, p, 0, 0)
    return _fault(NO_FAULT if _members_are_sound(model) else CLASSES, 0, 0, 0)
