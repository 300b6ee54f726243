"""What a learned gate looks at: for each pattern how well its context is known, and the nearest words.

Everything is a row of one table of logits, [row, pattern]; the rows of a position's features add up:

    pattern p, bucket b                    p * BUCKETS + b
    w words available                      n_patterns * BUCKETS + w
    the word at offset k, word bucket b    … + order + (k - 1) * WORD_BUCKETS + b
"""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.jit import kernel

BUCKETS = 64
_LEVELS, _SPREADS = 21, 3
FREQUENT_WORDS = 256
WORD_BUCKETS = FREQUENT_WORDS + 40


@kernel
def context_bucket(total, n1, n2, n3):
    """The bucket of a context: 0 never seen, else by its total (steps of about 1.6) and how varied it is."""
    if total <= 0:
        return 0
    level = min(int(np.log2(total) * 1.5 + 1e-9), _LEVELS - 1)
    varied = (n1 + n2 + n3) / total
    spread = 2 if varied > 0.75 else 1 if varied > 0.35 else 0
    return 1 + level * _SPREADS + spread


@kernel
def context_buckets(rows):
    """The bucket of each row of (total, N1, N2, N3+, missing); what is missing counts as grams seen once."""
    out = np.empty(rows.shape[0], np.int32)
    for i in range(rows.shape[0]):
        out[i] = context_bucket(rows[i, 0], rows[i, 1] + rows[i, 4], rows[i, 2], rows[i, 3])
    return out


@kernel
def word_bucket(word):
    """The bucket of a word: its own for the most frequent, else by the order of magnitude of its id."""
    if word < FREQUENT_WORDS:
        return np.int64(word)
    return np.int64(FREQUENT_WORDS + math.frexp(float(word))[1])


@kernel
def n_gate_rows(n_patterns, order):
    """How many rows a gate table has."""
    return n_patterns * BUCKETS + order + (order - 1) * WORD_BUCKETS


@kernel
def word_row(n_patterns, order, offset, bucket):
    """The row of the word at an offset."""
    return n_patterns * BUCKETS + order + (offset - 1) * WORD_BUCKETS + bucket
