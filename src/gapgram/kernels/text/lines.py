"""Lines of a text, cut into pieces."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel


@kernel
def cut_lines(text, piece_bytes):
    """Where pieces begin, and the last one ends; and how many lines end before each of these places.

    A piece is of whole lines, and has so many bytes or a few more; what is left at the end may be less.
    """
    most = text.size // piece_bytes + 2
    begins, lines = np.zeros(most, np.int64), np.zeros(most, np.int64)
    n = 0
    begin = 0
    while begin < text.size:
        # To the end of the line that the last byte is in
        end = min(begin + piece_bytes, text.size)
        while end < text.size and text[np.uint64(end - 1)] != 10:
            end += 1
        newlines = 0
        for i in range(begin, end):
            newlines += text[np.uint64(i)] == 10
        n += 1
        begins[n], lines[n] = end, lines[n - 1] + newlines
        begin = end
    return begins[: n + 1], lines[: n + 1]
