"""How -ln P of a position changes with what is fitted.

Every position is worked out by itself, how -ln P changes with the logits, the odds of falling back and the discounts of
its patterns: equations (16), (17), (21) and (24) of docs/ideas/mathematics.md. SIDE_BY_SIDE positions are worked out at
a time, eight of them as one number of the processor. What is a pattern's own is added up at once, over a *piece* of a
few positions. The slopes of the logits, of which there are many more, are kept, and added up by
`kernels.fitting.gradient`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapgram.kernels.barrier import APART
from gapgram.kernels.compiled import host_callable, inlined, kernel, noinline
from gapgram.kernels.fitting.sample import COUNT, N1, N2, N3, TOTAL
from gapgram.kernels.intrinsics import part_of
from gapgram.kernels.lanes import in_lanes
from gapgram.kernels.probability.gate import BUCKETS, exponentials, sum_logits

SIDE_BY_SIDE = 32  # positions; `_sum_of` adds up as many
NOT_ALLOWED = -np.inf  # the logit of a pattern that looks at more words than there are


class SamplePositions(NamedTuple):
    """Positions that are fitted to: `kernels.fitting.sample` says what each array holds."""

    statistics: Any
    features: Any
    given: Any
    log_prior: Any


class FixedNumbers(NamedTuple):
    """What is not fitted: the probability below all patterns, where each falls back, and its clustering."""

    uniform: Any
    down: Any
    clusterings: Any


class FittedNumbers(NamedTuple):
    """What is fitted, all of it in `flat`, and what follows from it: e to the power of the shifts, and discounts."""

    flat: Any
    table: Any
    shift: Any
    odds: Any
    lifted_by: Any
    discounts: Any


class Slopes(NamedTuple):
    """How -ln P of some positions changes.

    sums, logits: float64 [position, pattern], the rows of the gate table summed, and the slopes of the logits. rows:
    int32 [column, position], the rows of the gate table that they are of. probabilities: P of each position.
    shift, discounts: float64 [piece, pattern, bucket] and [piece, pattern, 3], added up over each piece. rooms:
    float64 [thread, `room_size`].
    """

    sums: Any
    logits: Any
    rows: Any
    shift: Any
    discounts: Any
    probabilities: Any
    rooms: Any


class Room(NamedTuple):
    """What is worked out of SIDE_BY_SIDE positions at a time: arrays by pattern, then by position.

    weight: first the logits. per_left: 1 by what discounts leave of the context's total. under: 1 by 1 - g + g e^c.
    value: in the end, the slopes of the logits; behind the patterns, the probability below all of them. given: by
    clustering, then by position. The others have a number a position: probability is P, scale how -ln P changes with
    it; by_shift, by_first, by_second and by_third are of one pattern, how -ln P changes with its shift and discounts.
    """

    buckets: Any
    lift: Any
    weight: Any
    count: Any
    total: Any
    n1: Any
    n2: Any
    n3: Any
    kept: Any
    gamma: Any
    reached: Any
    per_left: Any
    under: Any
    value: Any
    given: Any
    probability: Any
    scale: Any
    by_shift: Any
    by_first: Any
    by_second: Any
    by_third: Any


@host_callable
def room_size(n_patterns, n_clusterings):
    """How many numbers a thread's `Room` takes, and what keeps it away from others: they write to no common line."""
    return (14 * n_patterns + n_clusterings + 7) * SIDE_BY_SIDE + APART


@kernel
def room_of(me, slopes, n_patterns):
    """The room of thread `me`."""
    n = n_patterns * SIDE_BY_SIDE
    memory = slopes.rooms[me, : slopes.rooms.shape[1] - APART]
    own, others = memory[: 13 * n].reshape((13, -1)), memory[13 * n :]
    rest = others[n + SIDE_BY_SIDE :].reshape((-1, SIDE_BY_SIDE))
    return Room(
        own[0].view(np.int64), own[1], own[2], own[3], own[4], own[5], own[6], own[7], own[8], own[9], own[10], own[11],
        own[12], others[: n + SIDE_BY_SIDE], rest[6:].reshape(-1), rest[0], rest[1], rest[2], rest[3], rest[4], rest[5],
    )  # fmt: skip


@noinline
def sum_rows(features, table, begin, end, first, slopes):
    """Sum the rows of the gate table for positions begin … end-1, and note which these are.

    What is known of a position t is written to place t - first.
    """
    n_patterns, flat, sums = table.shape[1], table.reshape(-1), slopes.sums.reshape(-1)
    present = np.empty(features.shape[1], np.int64)
    for t in range(begin, end):
        n = 0
        for f in range(features.shape[1]):
            feature = features[t, f]
            slopes.rows[f, np.uint64(t - first)] = feature
            present[np.uint64(n)] = np.int64(feature) * n_patterns
            n += feature >= 0
        sum_logits(flat, present, 1, n, part_of(sums, (t - first) * n_patterns, n_patterns))


@kernel
def _gather(positions, fitted, sums, begin, end, first, room):
    """Put what is known of positions begin … end-1 side by side: by pattern, then by position.

    Places that are left are those of contexts that were never seen.
    """
    statistics, features, log_prior = positions.statistics, positions.features, positions.log_prior
    n_patterns, n = fitted.shift.shape[0], end - begin
    for i in range(n):
        t, place = np.uint64(begin + i), np.uint64(begin - first + i)
        for p in range(n_patterns):
            at = np.uint64(p * SIDE_BY_SIDE + i)
            feature = features[t, p]
            bucket = max(feature - p * BUCKETS, 0)
            room.buckets[at] = bucket
            room.lift[at] = fitted.lifted_by[p, np.uint64(bucket)]
            logit = sums[place, p] + log_prior[t, p]
            room.weight[at] = logit if feature >= 0 else NOT_ALLOWED
            room.count[at] = statistics[t, p, COUNT]
            room.total[at] = statistics[t, p, TOTAL]
            room.n1[at] = statistics[t, p, N1]
            room.n2[at] = statistics[t, p, N2]
            room.n3[at] = statistics[t, p, N3]
    for p in range(n_patterns if n < SIDE_BY_SIDE else 0):
        for at in range(p * SIDE_BY_SIDE + n, (p + 1) * SIDE_BY_SIDE):
            room.buckets[at], room.lift[at], room.weight[at], room.count[at] = 0, 1.0, 0.0, 0.0
            room.total[at], room.n1[at], room.n2[at], room.n3[at] = 0.0, 0.0, 0.0, 0.0
    given = positions.given
    for c in range(given.shape[1]):
        for i in range(n):
            room.given[c * SIDE_BY_SIDE + i] = given[begin + i, c]
        for i in range(n, SIDE_BY_SIDE):
            room.given[c * SIDE_BY_SIDE + i] = 0.0


@in_lanes
def _raise_to(lanes, values, at, most):
    """The larger of two numbers takes the place of the second."""
    lanes.write(most, lanes.maximum(lanes.read(most), lanes.read(values, at)))


@in_lanes
def _lower_by(lanes, values, at, most, out):
    """By how much numbers are below the largest."""
    lanes.write(out, lanes.read(values, at) - lanes.read(most), at)


@in_lanes
def _choose_power(lanes, powers, weights, at, totals):
    """A weight takes the place of its logarithm, and is added up; a pattern that a position does not allow has none."""
    weight = lanes.where(lanes.read(weights, at) > NOT_ALLOWED, lanes.read(powers, at), 0.0)
    lanes.write(weights, weight, at)
    lanes.write(totals, lanes.read(totals) + weight)


@in_lanes
def _divide_by(lanes, values, at, totals):
    """Shares of totals."""
    lanes.write(values, lanes.read(values, at) / lanes.read(totals), at)


@kernel
def weights_of(positions, fitted, sums, begin, end, first, room):
    """The weights of all patterns in the mixture, and what else is known of positions begin … end-1, side by side.

    Equation (17) of docs/ideas/mathematics.md.
    """
    _gather(positions, fitted, sums, begin, end, first, room)
    n, largest, total = room.weight.size, room.scale, room.probability  # these are filled later
    largest[:] = NOT_ALLOWED
    total[:] = 0.0
    for at in range(0, n, SIDE_BY_SIDE):
        _raise_to(SIDE_BY_SIDE, room.weight, at, largest)
    for at in range(0, n, SIDE_BY_SIDE):
        _lower_by(SIDE_BY_SIDE, room.weight, at, largest, room.reached)
    exponentials(room.reached, room.kept)
    for at in range(0, n, SIDE_BY_SIDE):
        _choose_power(SIDE_BY_SIDE, room.kept, room.weight, at, total)
    for at in range(0, n, SIDE_BY_SIDE):
        _divide_by(SIDE_BY_SIDE, room.weight, at, total)


@in_lanes
def _mix_pattern(lanes, at, total, count, n1, n2, n3, lift, given, of_clustering, weight, below, d1, d2, d3, kept,
                 gamma, value, per_left, under, probability):  # fmt: skip
    """The value of one pattern from that of the one it falls back on; added to the mixture: equations (16) and (24).

    at, of_clustering, below: where the numbers of the pattern begin, those of its clustering, and those of the pattern
    that it falls back on.
    """
    total, count, lift = lanes.read(total, at), lanes.read(count, at), lanes.read(lift, at)
    is_seen = total > 0.0
    of_context = lanes.where(is_seen, total, 1.0)
    taken = lanes.read(n1, at) * d1 + lanes.read(n2, at) * d2 + lanes.read(n3, at) * d3
    g = lanes.where(is_seen, taken / of_context, 1.0)
    per_left_ = lanes.one() / (of_context - taken)
    discount = lanes.where(count > 2.0, d3, lanes.where(count > 1.0, d2, d1))
    kept_ = lanes.where(count > 0.0, (count - discount) * per_left_ * lanes.read(given, of_clustering), 0.0)
    under_ = lanes.one() / (lanes.one() - g + g * lift)
    gamma_ = lanes.where(is_seen, g * lift * under_, 1.0)
    value_ = (lanes.one() - gamma_) * kept_ + gamma_ * lanes.read(value, below)
    lanes.write(kept, kept_, at)
    lanes.write(gamma, gamma_, at)
    lanes.write(value, value_, at)
    lanes.write(per_left, per_left_, at)
    lanes.write(under, under_, at)
    lanes.write(probability, lanes.read(probability) + lanes.read(weight, at) * value_)


@inlined
def _below(fixed, p):
    """Where the value of what pattern p falls back on begins: behind the patterns, where that is none of them."""
    return (fixed.down[p] if p > 0 else fixed.down.size) * SIDE_BY_SIDE


@kernel
def mix(fixed, fitted, room):
    """The values of all patterns, and the probability that is their mixture, from their weights."""
    room.value[fixed.down.size * SIDE_BY_SIDE :] = fixed.uniform
    room.probability[:] = 0.0
    for p in range(fixed.down.size):
        _mix_pattern(
            SIDE_BY_SIDE, p * SIDE_BY_SIDE, room.total, room.count, room.n1, room.n2, room.n3, room.lift, room.given,
            fixed.clusterings[p] * SIDE_BY_SIDE, room.weight, _below(fixed, p), fitted.discounts[p, 0],
            fitted.discounts[p, 1], fitted.discounts[p, 2], room.kept, room.gamma, room.value, room.per_left,
            room.under, room.probability,
        )  # fmt: skip


@in_lanes
def _slope_of_pattern(lanes, at, total, count, n1, n2, n3, lift, given, of_clustering, kept, gamma, per_left, under,
                      value, below, reached, scale, by_shift, by_d1, by_d2, by_d3):  # fmt: skip
    """How -ln P changes with the shift and the discounts of a pattern."""
    count, gamma, kept = lanes.read(count, at), lanes.read(gamma, at), lanes.read(kept, at)
    is_seen, per_left = lanes.read(total, at) > 0.0, lanes.read(per_left, at)
    reaching, left = lanes.read(scale) * lanes.read(reached, at), lanes.one() - gamma
    d_gamma, d_kept = reaching * (lanes.read(value, below) - kept), reaching * left
    by_gamma = d_gamma * left
    lanes.write(by_shift, lanes.where(is_seen, by_gamma * gamma, 0.0))
    by_g = by_gamma * lanes.read(lift, at) * lanes.read(under, at)  # times g
    d_taken = lanes.where(is_seen, (by_g + d_kept * kept) * per_left, 0.0)
    own = d_kept * per_left * lanes.read(given, of_clustering)  # by the discount that was taken from the count
    own1 = lanes.where(count > 0.0, own, 0.0)
    own2, own3 = lanes.where(count > 1.0, own, 0.0), lanes.where(count > 2.0, own, 0.0)
    lanes.write(by_d1, d_taken * lanes.read(n1, at) - (own1 - own2))
    lanes.write(by_d2, d_taken * lanes.read(n2, at) - (own2 - own3))
    lanes.write(by_d3, d_taken * lanes.read(n3, at) - own3)


@in_lanes
def _reach(lanes, reached, at, gamma, below):
    """What a pattern hands on to the one that it falls back on."""
    lanes.write(reached, lanes.read(reached, below) + lanes.read(reached, at) * lanes.read(gamma, at), below)


@in_lanes
def _slope_of_logit(lanes, weight, value, at, scale, probability):
    """How -ln P changes with the logit of a pattern; takes the place of its value."""
    slope = lanes.read(weight, at) * lanes.read(scale) * (lanes.read(value, at) - lanes.read(probability))
    lanes.write(value, slope, at)


@in_lanes
def _scale(lanes, probability, scale):
    """How -ln P changes with P."""
    lanes.write(scale, lanes.one() * -1.0 / lanes.read(probability))


@in_lanes
def _add_fours(lanes, values):
    """The sums of four times eight numbers take the place of the first eight."""
    sums = lanes.read(values) + lanes.read(values, 8) + lanes.read(values, 16) + lanes.read(values, 24)
    lanes.write(values, sums)


@kernel
def _sum_of(values):
    """The sum of what SIDE_BY_SIDE positions have, every eighth added up first; the first eight are changed."""
    _add_fours(8, values)
    return ((values[0] + values[1]) + (values[2] + values[3])) + ((values[4] + values[5]) + (values[6] + values[7]))


@kernel
def _slope(fixed, by_shift, by_discount, n, room):
    """From how -ln P changes with the mixture back to each pattern, for the first n of the positions side by side.

    What is a pattern's own is added up; afterwards `room.value` has the slopes of the logits. Equation (21) of
    docs/ideas/mathematics.md, and those that it names.
    """
    _scale(SIDE_BY_SIDE, room.probability, room.scale)
    room.reached[:] = room.weight
    for p in range(fixed.down.size - 1, -1, -1):
        at, below = p * SIDE_BY_SIDE, _below(fixed, p)
        _slope_of_pattern(
            SIDE_BY_SIDE, at, room.total, room.count, room.n1, room.n2, room.n3, room.lift, room.given,
            fixed.clusterings[p] * SIDE_BY_SIDE, room.kept, room.gamma, room.per_left, room.under, room.value, below,
            room.reached, room.scale, room.by_shift, room.by_first, room.by_second, room.by_third,
        )  # fmt: skip
        by_discount[p, 0] += _sum_of(room.by_first)
        by_discount[p, 1] += _sum_of(room.by_second)
        by_discount[p, 2] += _sum_of(room.by_third)
        for i in range(n):
            by_shift[p, np.uint64(room.buckets[np.uint64(at + i)])] += room.by_shift[i]
        if p > 0:
            _reach(SIDE_BY_SIDE, room.reached, at, room.gamma, below)
        _slope_of_logit(SIDE_BY_SIDE, room.weight, room.value, at, room.scale, room.probability)


@noinline
def slopes_of(positions, fixed, fitted, begin, end, first, piece, slopes, room):
    """Write the slopes of the positions of a piece, begin … end-1, and their probabilities.

    What is known of a position t is written to place t - first. The first sum of equation (21) of
    docs/ideas/mathematics.md, P by (16), (17) and (24). The rows of the gate table were summed before.
    """
    by_shift, by_discount, n_patterns = slopes.shift[piece], slopes.discounts[piece], fixed.down.size
    by_shift[:] = 0.0
    by_discount[:] = 0.0
    for some in range(begin, end, SIDE_BY_SIDE):
        last = min(some + SIDE_BY_SIDE, end)
        weights_of(positions, fitted, slopes.sums, some, last, first, room)
        mix(fixed, fitted, room)
        for i in range(last - some):
            slopes.probabilities[some - first + i] = room.probability[i]
        _slope(fixed, by_shift, by_discount, last - some, room)
        for p in range(n_patterns):
            for i in range(last - some):
                slopes.logits[np.uint64(some - first + i), p] = room.value[np.uint64(p * SIDE_BY_SIDE + i)]
