"""What scored lines add to the perplexity of a text.

The sum of a text is rounded once, so that it does not depend on how the text was cut into pieces. A piece has the exact
sum of its lines, as a few numbers: those that are left when each addition keeps what it rounds off (Shewchuk, 1997;
`math.fsum` does so, too). The numbers of all pieces have the sum that the lines have.
"""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.compiled import kernel

_MOST_PARTS = 64  # of an exact sum: 40 hold all bits from the smallest to the largest number


@kernel
def figures_of_lines(scores, begins, unknown):
    """(unknown words, lines with words, exact sum of their scores, and of those of known words).

    A line is `<s>`, words, `</s>`; line s is scores[begins[s]:begins[s+1]], and `unknown` says which words are.
    """
    parts, known_parts = np.empty(_MOST_PARTS), np.empty(_MOST_PARTS)
    n_parts = 0
    n_known_parts = 0
    n_unknown = 0
    n_with_words = 0
    for line in range(begins.size - 1):
        begin, end = max(begins[line], 0), min(begins[line + 1], scores.size, unknown.size)
        if end - begin <= 2:
            continue
        # Sums of one line are rounded, first word to last.
        total = 0.0
        known = 0.0
        for t in range(begin, end):
            total += scores[t]
            if unknown[t]:
                n_unknown += 1
            else:
                known += scores[t]
        n_parts = add_exactly(total, parts, n_parts)
        n_known_parts = add_exactly(known, known_parts, n_known_parts)
        n_with_words += 1
    return n_unknown, n_with_words, parts[:n_parts].copy(), known_parts[:n_known_parts].copy()


@kernel
def add_exactly(value, parts, n):
    """Add a number to the first n parts of a sum, the smallest first; returns how many parts there are then.

    Numbers that are infinite, or none, stay parts of their own while there is room.
    """
    kept = 0
    for i in range(n):
        part = parts[i]
        if math.isfinite(value + part):
            # What is lost of the smaller number when the two are added, is kept.
            larger, smaller = (value, part) if abs(value) >= abs(part) else (part, value)
            value = larger + smaller
            part = smaller - (value - larger)
        if part != 0.0:
            parts[kept] = part
            kept += 1
    kept = min(kept, parts.size - 1)
    parts[kept] = value
    return kept + 1


@kernel
def size_of_lines(text, begins):
    """(bytes, words) of the lines of a text that have words as they were scored; ends of lines are bytes."""
    n_bytes = 0
    n_words = 0
    line = 0
    line_begin = 0
    line_words = 0
    in_word = False
    for i in range(text.size):
        byte = text[i]
        is_space = byte == 32 or 9 <= byte <= 13
        line_words += in_word and is_space
        in_word = not is_space
        if byte == 10:
            if line < begins.size - 1 and begins[line + 1] - begins[line] > 2:
                n_bytes += i + 1 - line_begin
                n_words += line_words
            line += 1
            line_begin = i + 1
            line_words = 0
    return n_bytes, n_words
