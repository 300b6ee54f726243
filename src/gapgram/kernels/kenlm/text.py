"""One line of text scored by a binary file of KenLM: each word is looked up and scored as it is read."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import brief
from gapgram.kernels.kenlm.arrays import file_id
from gapgram.kernels.kenlm.scoring import start, step, take
from gapgram.kernels.kenlm.words import find_word
from gapgram.kernels.text.cut_words import next_word
from gapgram.kernels.text.special_words import END_ID, UNKNOWN_ID
from gapgram.kernels.text.words import ALLOW_UNKNOWN, refused


@brief
def score_line(file, line, bos, eos):
    """log10 of the probability of a line, bytes that end in their only newline.

    No number where it has special words, or the file is damaged. The sum has the bits of those of
    `kenlm_scoring.score_positions`.
    """
    text, context = np.frombuffer(line, np.uint8), np.empty(file.order, np.int64)
    backoffs, after = np.empty(file.order, np.float32), np.empty(file.order, np.float32)
    n = start(context, backoffs, file) if bos else 0
    total = 0.0
    begin, end, _ = next_word(text, 0)
    while begin < end or eos:
        word = np.int64(END_ID)
        if begin < end:
            word = find_word(text, begin, end, file)
            if word < -1 or refused(word, ALLOW_UNKNOWN):
                return np.nan
        found = file_id(max(word, np.int64(UNKNOWN_ID)), file)
        score, _, n = step(found, context, backoffs, n, file, after)
        if np.isnan(score):
            return np.nan
        total += score
        take(found, n, context)
        backoffs, after = after, backoffs
        if begin == end:
            break
        begin, end, _ = next_word(text, end)
    return total
