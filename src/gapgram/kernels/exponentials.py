"""e to the power of many numbers at once."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.jit import kernel

LIMIT = 600.0
_TO_WHOLE = 6755399441055744.0  # 1.5 × 2**52: a number added to it is rounded, and is its last bits
_LOG2_E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10


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
