"""One line of text scored, with nothing returned but its sum."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import brief
from gapgram.kernels.probability.scoring import score_positions
from gapgram.kernels.text.words import ALLOW_UNKNOWN, DONE, encode_lines


@brief
def score_line(model, slots, pool, offsets, line, bos, eos):
    """log10 of the probability of a line, bytes that end in their only newline; no number where it has special words.

    The sum has the bits that `kernels.probability.score_text.score_lines` has for it.
    """
    text = np.frombuffer(line, np.uint8)
    ids = np.empty(text.size // 2 + 4, np.int32)  # a word and what follows it are two bytes or more
    status, _, used, _, _ = encode_lines(text, ALLOW_UNKNOWN, True, slots, pool, offsets, ids)
    words = ids[0 if bos else 1 : used if eos else used - 1]
    total = 0.0
    if used > 0 and words.size > 0:
        available, scores = np.empty(words.size, np.int16), np.empty(words.size)
        for t in range(words.size):
            available[t] = min(t, model.order - 1)
        score_positions(words, available, model, scores)
        for t in range(words.size):
            total += scores[t]
    return total if status == DONE else np.nan
