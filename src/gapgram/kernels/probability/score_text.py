"""Lines of text scored in one go: bytes to ids, ids to probabilities, these to sums."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.scores import sum_sequences
from gapgram.kernels.probability.scoring import score_positions
from gapgram.kernels.text.special_words import END_ID, START_ID
from gapgram.kernels.text.utf8 import is_utf8
from gapgram.kernels.text.words import NOT_UTF8, encode_lines


@kernel
def score_lines(text, special, bos, eos, slots, pool, offsets, model):
    """Score every line of a text; lines without words too. Every line ends in a newline.

    Returns (why `encode_lines` stopped, where, the id and log10 of the probability of each position, where lines
    begin, the sum of each line). With `bos` the first position of a line is `<s>`, whose score is 0. Bytes that are not
    UTF-8 are not scored: NOT_UTF8, and no lines.
    """
    if not is_utf8(text):
        return NOT_UTF8, 0, np.empty(0, np.int32), np.empty(0), np.zeros(1, np.int64), np.empty(0)
    newlines = 0
    for i in range(text.size):
        newlines += text[np.uint64(i)] == 10
    ids = np.empty(text.size // 2 + 2 * newlines + 2, np.int32)  # a word and what follows it are two bytes or more
    status, stopped, used, lines, _ = encode_lines(text, special, True, slots, pool, offsets, ids)
    begins, available = np.zeros(lines + 1, np.int64), np.empty(used, np.int16)
    line = 0
    kept = 0
    for t in range(used):
        word = ids[t]
        if (bos or word != START_ID) and (eos or word != END_ID):
            ids[kept] = word
            available[kept] = min(kept - begins[min(line, lines)], model.order - 1)
            kept += 1
        if word == END_ID:
            line += 1
            begins[min(line, lines)] = kept
    kept = begins[lines]
    scores = np.empty(kept)
    if kept > 0:
        score_positions(ids[:kept], available[:kept], model, scores)
    return status, stopped, ids[:kept], scores, begins, sum_sequences(scores, begins)
