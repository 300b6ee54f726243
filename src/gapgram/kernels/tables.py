"""Groups of equal grams to the two tables of a pattern.

A gram is `word << COUNT_BITS | count`, a context is `begin << ROW_BITS | row`: the grams that follow the
context start at `begin`, those of the next context end them, and `row` is the row of the pattern's table
of context statistics (total, N1, N2, N3+, missing); row 0 is the context never seen. Missing is how much of
the total belongs to grams that were pruned: it goes to the patterns below. Grams are sorted by context, then
by word. A context has no key of its own: it is a gram of another pattern, and its number there is its place
here.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.jit import kernel

COUNT_BITS = 36
ROW_BITS = 24
COUNT_MASK = (1 << COUNT_BITS) - 1
ROW_MASK = (1 << ROW_BITS) - 1

STATISTICS = 5
SMALL = 64  # totals below this, all from one gram, find their row without hashing


@kernel
def weigh(positions, starts, marks):
    """How many positions of each group are marked."""
    counts = np.zeros(starts.size - 1, np.int64)
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            counts[g] += marks[positions[i]] > 0
    return counts


@kernel
def row_of(total, n1, n2, n3, missing, slots, rows, n_rows):
    """The row of these statistics, appended where it is new: (row, number of rows)."""
    h = np.uint64(total) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ np.uint64(n1)) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(29)) ^ np.uint64(n2)) * np.uint64(0x94D049BB133111EB)
    h = (h ^ (h >> np.uint64(31)) ^ np.uint64(n3)) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30)) ^ np.uint64(missing)) * np.uint64(0xBF58476D1CE4E5B9)
    mask = slots.size - 1
    at = np.int64(h >> np.uint64(34)) & mask
    while slots[at] >= 0:
        r = slots[at]
        same = rows[r, 0] == total and rows[r, 1] == n1 and rows[r, 2] == n2 and rows[r, 3] == n3
        if same and rows[r, 4] == missing:
            return r, n_rows
        at = (at + 1) & mask
    slots[at] = n_rows
    rows[n_rows, 0], rows[n_rows, 1], rows[n_rows, 2], rows[n_rows, 3] = total, n1, n2, n3
    rows[n_rows, 4] = missing
    return n_rows, n_rows + 1


@kernel
def more_rows(slots, rows, n_rows):
    """(slots, rows) of twice the size, with the same rows."""
    bigger = np.zeros((2 * rows.shape[0], STATISTICS), np.int64)
    bigger[:n_rows] = rows[:n_rows]
    slots = np.full(2 * slots.size, -1, np.int64)
    again = 1
    for r in range(1, n_rows):
        row = bigger[r]
        _, again = row_of(row[0], row[1], row[2], row[3], row[4], slots, bigger, again)
    return slots, bigger


@kernel
def build_tables(words, counts, begins):
    """(grams, contexts, rows) of one pattern from the word and count of each gram, in order.

    The grams of context c are begins[c] to begins[c+1]. Rows are numbered as they are met, row 0 being
    all zeros, and `contexts` has no closing entry.
    """
    grams = np.empty(counts.size, np.int64)
    contexts = np.empty(begins.size - 1, np.int64)
    slots = np.full(1 << 12, -1, np.int64)
    rows = np.zeros((1 << 11, STATISTICS), np.int64)
    n_rows = 1
    small = np.full(SMALL, -1, np.int64)
    for c in range(begins.size - 1):
        total = np.int64(0)
        n1 = np.int64(0)
        n2 = np.int64(0)
        n3 = np.int64(0)
        for g in range(begins[c], begins[c + 1]):
            count = counts[g]
            grams[g] = np.int64(words[g]) << COUNT_BITS | count
            total += count
            if count == 1:
                n1 += 1
            elif count == 2:
                n2 += 1
            elif count > 2:
                n3 += 1
        row = np.int64(0)
        if total > 0:
            one = n1 + n2 + n3 == 1 and total < SMALL
            row = small[total] if one else np.int64(-1)
            if row < 0:
                if 2 * n_rows >= rows.shape[0]:
                    slots, rows = more_rows(slots, rows, n_rows)
                row, n_rows = row_of(total, n1, n2, n3, 0, slots, rows, n_rows)
                if one:
                    small[total] = row
        contexts[c] = np.int64(begins[c]) << ROW_BITS | row
    return grams, contexts, rows[:n_rows].copy()


@kernel
def place_contexts(contexts, first_gram, row_numbers, out):
    """Copy contexts whose grams now start at `first_gram`, with their rows renumbered."""
    for c in range(contexts.size):
        begin = (contexts[c] >> ROW_BITS) + first_gram
        out[c] = begin << ROW_BITS | row_numbers[contexts[c] & ROW_MASK]
