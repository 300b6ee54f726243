"""What states of a model hold: for each context the place it is found at, and where that will be looked for.

Made once, when a model is opened, for Python and for the library for C.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.query import only_chains
from gapgram.kernels.probability.stepping import READER, SLOT, Plan
from gapgram.kernels.tables.arrays import FIRST_ROW, NEAREST, OF_CLASSES, REACH, TAIL
from gapgram.kernels.tables.model_arrays import BACKOFF


@kernel
def _is_forgetful(model):
    """Whether a longer context that was never seen gives the bits of the shorter one: a chain, each value times 1.

    So it is for modified Kneser-Ney. With gaps, or several patterns to start from, it matters that a word was there.
    """
    places, starts, start_base = model.tables.places, model.starts, model.start_base
    if not only_chains(model.edge_base) or starts.size != start_base.size - 1:
        return False
    for p in range(1, places.shape[0]):
        if places[p, NEAREST] != 1 or model.row_values[places[p, FIRST_ROW], BACKOFF] != 1.0:
            return False
    falls = True
    for known in range(1, starts.size):  # each falls back on where a prediction with a word less starts
        falls = falls and model.edge_to[model.edge_base[starts[known]]] == starts[known - 1]
    return falls


@kernel
def plan_of(model):
    """(the `Plan` of a model, what `stepping.extend_chain` knows of each pattern).

    The latter are its SLOT, that of a key in which its context lies, and a READER, whose contexts its grams are; 0
    where it has none.
    """
    places, n = model.tables.places, model.tables.places.shape[0]
    slots, at = np.empty((n * model.order, 3), np.int64), np.zeros((n, 2), np.int64)
    reader_base, readers = np.zeros(n * model.order + 1, np.int64), np.empty(n * model.order, np.int64)
    n_slots, n_readers = 0, 0
    for tail in range(n):
        farthest = np.int64(0)
        for p in range(n):
            if places[p, REACH] > 0 and places[p, TAIL] == tail:
                farthest = max(farthest, places[p, NEAREST])
        for distance in range(1, farthest + 1):
            slots[n_slots, 0], slots[n_slots, 1] = tail, distance
            slots[n_slots, 2] = n_slots - 1 if distance > 1 else -1
            for p in range(n):
                if places[p, REACH] > 0 and places[p, TAIL] == tail and places[p, NEAREST] >= distance:
                    readers[n_readers] = p
                    n_readers += 1
                    if places[p, NEAREST] == distance:
                        at[p, SLOT], at[tail, READER] = n_slots, p
            n_slots += 1
            reader_base[n_slots] = n_readers
    spans = np.zeros(n, np.int64)
    spans[0] = 1
    for p in range(1, n):
        if places[p, NEAREST] == 1 and places[p, OF_CLASSES] == 0 and spans[places[p, TAIL]] > 0:
            spans[p] = places[p, REACH] + 1
    gated = model.gate_table.size > 0 and model.starts.size > model.start_base.size - 1 and model.order > 1
    plan = Plan(
        slots[:n_slots].copy(), reader_base[: n_slots + 1].copy(), readers[:n_readers].copy(), spans, gated,
        _is_forgetful(model),
    )  # fmt: skip
    return plan, at


@kernel
def is_quick(model):
    """Whether `stepping.extend_chain` can do a step: chains, and starting patterns listed in their order."""
    rises = only_chains(model.edge_base)
    for known in range(model.start_base.size - 1):
        for s in range(model.start_base[known] + 1, model.start_base[known + 1]):
            rises = rises and model.starts[s] > model.starts[s - 1]
    return rises
