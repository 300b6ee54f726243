"""Which words a model holds to be more probable than the one that came, for judging predictions."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.jit import kernel
from gapgram.kernels.shares import distribution
from gapgram.kernels.special_words import END_ID
from gapgram.kernels.topk import at_least


@kernel
def _shared_bytes(a, b, pool, offsets):
    """How many first bytes two words have in common."""
    n = min(offsets[a + 1] - offsets[a], offsets[b + 1] - offsets[b])
    for i in range(n):
        if pool[offsets[a] + i] != pool[offsets[b] + i]:
            return i
    return n


@kernel
def rivals(ids, order, uniform, model, block_counts, pool, offsets):
    """How many words are predicted before the last of `ids`, by the number of first bytes they share with it.

    Of equally probable words the smaller id goes first; special words are not counted.
    """
    word = np.int64(ids[-1])
    words, found, whole = at_least(ids, order, uniform, model, block_counts, word, False)
    if not whole:
        found = distribution(ids, order, uniform, model)
        words = np.arange(found.size)
    own = 0.0
    for i in range(words.size):
        if words[i] == word:
            own = found[i]
    out = np.zeros(offsets[word + 1] - offsets[word] + 1, np.int64)
    for i in range(words.size):
        if words[i] > END_ID and (found[i] > own or (found[i] == own and words[i] < word)):
            out[_shared_bytes(word, words[i], pool, offsets)] += 1
    return out
