"""Which words a model holds to be more probable than the one that came, for judging predictions."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.successors import distribution
from gapgram.kernels.text.special_words import END_ID
from gapgram.kernels.topk.exact import at_least


@kernel
def _shared_bytes(a, b, pool, offsets):
    """How many first bytes two words have in common."""
    first, other = _bytes_of(a, pool, offsets), _bytes_of(b, pool, offsets)
    n = min(first.size, other.size)
    for i in range(n):
        if first[i] != other[i]:
            return i
    return n


@kernel
def _bytes_of(word, pool, offsets):
    """The bytes of a word; none where a damaged file has them outside."""
    begin, end = offsets[word], offsets[word + 1]
    return pool[begin:end] if 0 <= begin <= end <= pool.size else pool[:0]


@kernel
def outranking(context, word, model, block_counts, pool, offsets):
    """How many words outrank a word after a context, by the number of first bytes that they share with it.

    Of equally probable words the smaller id goes first; special words are not counted. The rank of the word is the sum
    of all and one more.
    """
    words, probabilities, whole = at_least(context, word, model, block_counts, False)
    if not whole:
        probabilities = distribution(context, model)
        words = np.arange(probabilities.size)
    own = 0.0
    for i in range(words.size):
        if words[i] == word:
            own = probabilities[i]
    out = np.zeros(_bytes_of(word, pool, offsets).size + 1, np.int64)
    for i in range(words.size):
        ahead = probabilities[i] > own or (probabilities[i] == own and words[i] < word)
        if ahead and words[i] > END_ID:
            out[_shared_bytes(word, words[i], pool, offsets)] += 1
    return out
