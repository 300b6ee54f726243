"""What a learned gate looks at: for each pattern how well its context is known, and the nearest words.

Equations (17), (19) and (20) of docs/ideas/mathematics.md.
Everything is a row of one table of logits, [row, pattern]; the rows of a position's features add up:

    pattern p, bucket b                    p * BUCKETS + b
    w words available                      n_patterns * BUCKETS + w
    the word at offset k, word bucket b    … + order + (k - 1) * WORD_BUCKETS + b
"""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.intrinsics import MOST_SIDE_BY_SIDE, add_row, part_of, sum_rows
from gapgram.kernels.tables.model_arrays import BUCKET

BUCKETS = 64
_LEVELS, _SPREADS = 21, 3
FREQUENT_WORDS = 256
WORD_BUCKETS = FREQUENT_WORDS + 40
LIMIT = 600.0  # of what the exponential is taken of
_TO_WHOLE = 6755399441055744.0  # 1.5 × 2**52: a number added to it is rounded, and is its last bits
_LOG2_E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10


@kernel
def context_bucket(total, n1, n2, n3):
    """The bucket of a context: 0 never seen, else by its total (steps of about 1.6) and how varied it is.

    Equation (19) of docs/ideas/mathematics.md.
    """
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
    """The bucket of a word: its own for the most frequent, else by the order of magnitude of its id.

    Equation (20) of docs/ideas/mathematics.md.
    """
    if word < FREQUENT_WORDS:
        return np.int64(word)
    return np.int64(FREQUENT_WORDS + math.frexp(float(word))[1])


@kernel
def word_row(n_patterns, order, offset, bucket):
    """The row of the word at an offset."""
    return n_patterns * BUCKETS + order + (offset - 1) * WORD_BUCKETS + bucket


@kernel
def add_logits(table, features, n_features, logits):
    """Add to the logits of all patterns the rows of one position's features, in their order.

    The sum of equation (17) of docs/ideas/mathematics.md.
    table: the gate table, flat. features: each the row of the table times the number of patterns.
    """
    n, eights = logits.size, n_features - n_features % 8
    # Eight rows at a time: a logit is read and written once for them, and several logits are added up together.
    for k in range(0, eights, 8):
        a, b, c, d = features[k], features[k + 1], features[k + 2], features[k + 3]
        e, f, g, h = features[k + 4], features[k + 5], features[k + 6], features[k + 7]
        for q in range(n):
            logit = logits[q] + table[np.uint64(a + q)]
            logit = logit + table[np.uint64(b + q)]
            logit = logit + table[np.uint64(c + q)]
            logit = logit + table[np.uint64(d + q)]
            logit = logit + table[np.uint64(e + q)]
            logit = logit + table[np.uint64(f + q)]
            logit = logit + table[np.uint64(g + q)]
            logits[q] = logit + table[np.uint64(h + q)]
    for k in range(eights, n_features):
        a = features[k]
        for q in range(n):
            logits[q] += table[np.uint64(a + q)]


@kernel
def sum_logits(table, features, step, n_features, logits):
    """Fill the logits of all patterns with the sums that `add_logits` makes of none; features are `step` apart."""
    n, first = logits.size, 0
    if n < 8:
        for q in range(n):
            logits[q] = 0.0
            for k in range(n_features):
                logits[q] += table[np.uint64(features[k * step] + q)]
        return
    while n - first > MOST_SIDE_BY_SIDE:
        sum_rows(table, features, step, n_features, first, MOST_SIDE_BY_SIDE, logits)
        first += MOST_SIDE_BY_SIDE
    if n - first < 8:  # some of the last eight are summed again
        first = n - 8
    sum_rows(table, features, step, n_features, first, n - first, logits)


@kernel
def add_to_row(sums, at, values, begin, n):
    """sums[at + q] += values[begin + q], for q = 0 … n - 1."""
    first = 0
    while n - first >= 8:
        some = min(n - first, MOST_SIDE_BY_SIDE)
        if 0 < n - first - some < 8:  # eight at least are to be left, or none
            some -= 8
        add_row(sums, at + first, values, begin + first, some)
        first += some
    for q in range(first, n):
        sums[at + q] += values[begin + q]


@kernel
def exponentials(values, out):
    """out[i] = exp(values[i]); numbers beyond ±LIMIT count as that.

    Equal to `math.exp` to within two units of the last place, and several times as fast, because processors do this for
    many numbers together: 2**k times the series of what is left, which is at most half of ln 2.
    """
    whole = np.empty(values.size)
    bits, powers = whole.view(np.int64), out.view(np.int64)
    for i in range(values.size):
        x = min(max(values[i], -LIMIT), LIMIT)
        whole[i] = x * _LOG2_E + _TO_WHOLE
        k = whole[i] - _TO_WHOLE
        x = x - k * _LN2_HIGH - k * _LN2_LOW
        series = 1.0 / 6227020800.0
        series = series * x + 1.0 / 479001600.0
        series = series * x + 1.0 / 39916800.0
        series = series * x + 1.0 / 3628800.0
        series = series * x + 1.0 / 362880.0
        series = series * x + 1.0 / 40320.0
        series = series * x + 1.0 / 5040.0
        series = series * x + 1.0 / 720.0
        series = series * x + 1.0 / 120.0
        series = series * x + 1.0 / 24.0
        series = series * x + 1.0 / 6.0
        series = series * x + 0.5
        series = series * x + 1.0
        out[i] = series * x + 1.0
    for i in range(values.size):
        powers[i] += bits[i] << 52


@kernel
def bucket_of_row(row_values, row):
    """The bucket of a context with the statistics of a row, which may be -1; 0 where a damaged file has none."""
    bucket = row_values[np.uint64(max(row, 0)), BUCKET]
    return int(bucket) if 0.0 <= bucket < BUCKETS else 0


@kernel
def list_words(positions, model, features):
    """Fill the features of how many words are available, row 0, and of these words, the rows after the patterns'."""
    ids, first, step, available = positions.ids, positions.first, positions.step, positions.available
    n, n_patterns, order = available.size, model.discounts.shape[0], model.order
    for i in range(n):
        features[0, i] = (n_patterns * BUCKETS + available[i]) * n_patterns
    if step != 1:
        for i in range(n):
            for k in range(1, available[i] + 1):
                row = word_row(n_patterns, order, k, word_bucket(ids[first + i * step - k]))
                features[n_patterns + k, i] = row * n_patterns
        return
    # Words that follow each other: the bucket of each, and of those before the first, is found once.
    far = min(order - 1, first)
    buckets = np.zeros(n + order, np.int64)
    for t in range(far + n - 1):
        buckets[order - far + t] = word_bucket(np.int64(ids[first - far + t]))
    for k in range(1, order):
        row, before, own = word_row(n_patterns, order, k, 0), part_of(buckets, order - k, n), features[n_patterns + k]
        for i in range(n):
            own[i] = (row + before[i]) * n_patterns


@kernel
def _all_features_from(n_patterns, model):
    """How many words a prediction sees whose features are all that there are, in their order; -1 where none is so."""
    start_base, starts, farthest = model.start_base, model.starts, model.order - 1
    if start_base[farthest + 1] - start_base[farthest] != n_patterns:
        return -1
    for p in range(n_patterns):
        if starts[start_base[farthest] + p] != p:
            return -1
    return farthest


@kernel
def gate_of(available, model, features):
    """float64 [position, pattern]: by what the gate multiplies the weight of each pattern; 1 without a gate.

    Equation (17) of docs/ideas/mathematics.md. features: int64 [1 + pattern + offset, position], rows of the gate table
    times the number of patterns; of positions beyond those of `available` nothing is asked.
    """
    n, n_patterns, table, m = available.size, model.discounts.shape[0], model.gate_table.reshape(-1), features.shape[1]
    gate = np.ones((m, n_patterns))
    if table.size == 0:
        return gate
    start_base, starts, flat = model.start_base, model.starts, features.reshape(-1)
    chosen, logits = np.empty(n_patterns + model.order + 1, np.int64), np.empty(n * n_patterns)
    sees_all = _all_features_from(n_patterns, model)
    for i in range(n):
        known = np.int64(available[i])
        if known == sees_all:
            features_of = part_of(flat, i, flat.size - i)
            sum_logits(table, features_of, m, n_patterns + model.order, part_of(logits, i * n_patterns, n_patterns))
            continue
        # Those of the patterns that the prediction starts from, and of the words that it sees
        chosen[0] = flat[i]
        n_features = 1
        for s in range(start_base[known], start_base[known + 1]):
            chosen[np.uint64(n_features)] = flat[np.uint64((1 + starts[np.uint64(s)]) * m + i)]
            n_features += 1
        for k in range(n_patterns + 1, n_patterns + 1 + known):
            chosen[np.uint64(n_features)] = flat[np.uint64(k * m + i)]
            n_features += 1
        sum_logits(table, chosen, 1, n_features, part_of(logits, i * n_patterns, n_patterns))
    exponentials(logits, part_of(gate.reshape(-1), 0, n * n_patterns))
    return gate


@kernel
def gate_weights(positions, rows, model):
    """`gate_of` for contexts with these rows: [pattern, column], as `kernels.probability.query.Found` has them."""
    n_patterns, n = rows.shape[0], positions.available.size
    features = np.empty((n_patterns + model.order, n), np.int64)
    if model.gate_table.size > 0:
        list_words(positions, model, features)
        for p in range(n_patterns):
            for i in range(n):
                bucket = bucket_of_row(model.row_values, rows[p, positions.column + i])
                features[1 + p, i] = (p * BUCKETS + bucket) * n_patterns
    return gate_of(positions.available, model, features)
