"""Backoff models: grams with a probability and, as contexts, a backoff, as ARPA files have them.

The grams of all lengths lie one after the other, those of length k from base[k-1] to base[k]; numbers of
grams are places in these arrays. `words` is the last word of a gram, and the grams that extend gram g by
one word are children[g] to children[g+1], rising by word; grams of one word come first, one a word id. So
the grams are a tree that is read from the oldest word on.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.jit import kernel
from gapgram.kernels.special_words import START_ID


@kernel
def children_of(gram, words, children):
    """The first gram that extends a gram, and the one after the last; inside, whatever a damaged file says."""
    return max(np.int64(children[gram]), np.int64(0)), min(np.int64(children[gram + 1]), np.int64(words.size))


@kernel
def child(parent, word, words, children):
    """The gram that extends a gram by a word; -1 where there is none, or no parent."""
    if parent < 0:
        return np.int64(-1)
    low, high = children_of(parent, words, children)
    end = high
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and words[low] == word else np.int64(-1)


@kernel
def parents_of(grams, words, children):
    """For each row of word ids, a gram, the number of the gram without its last word; -1 where it is missing."""
    out = np.empty(grams.shape[0], np.int64)
    for i in range(grams.shape[0]):
        gram = np.int64(grams[i, 0])
        for j in range(1, grams.shape[1] - 1):
            gram = child(gram, grams[i, j], words, children)
        out[i] = gram
    return out


@kernel
def suffixes_of(base, order, words, children):
    """For each gram the gram without its oldest word; -1 for one word, and where it is missing."""
    out = np.full(words.size, -1, np.int64)
    for gram in range(base[1] if order > 1 else 0):
        for longer in range(children[gram], children[gram + 1]):
            out[longer] = words[longer]
    for parent in range(base[1], base[order - 1]):
        for gram in range(children[parent], children[parent + 1]):
            out[gram] = child(out[parent], words[gram], words, children)
    return out


@kernel
def score_positions(ids, available, order, words, children, log10_probs, log10_backoffs, out, lengths):
    """log10 of the probability of every word, 0 where it is `<s>`; `lengths` of the gram it was found in."""
    found = np.full(order, -1, np.int64)  # the grams that end at this word, by their length less one
    before = np.full(order, -1, np.int64)
    for t in range(ids.size):
        before[:] = found
        longest = 0
        for k in range(order):
            if k > available[t]:
                found[k] = -1
            elif k == 0:
                found[k] = ids[t]
            else:
                found[k] = child(before[k - 1], ids[t], words, children)
            if found[k] >= 0:
                longest = k
        total = log10_probs[found[longest]]
        for k in range(longest, min(available[t], order - 1)):
            if before[k] >= 0:
                total += log10_backoffs[before[k]]
        out[t] = 0.0 if ids[t] == START_ID else total
        lengths[t] = longest + 1


@kernel
def distribution(ids, order, base, words, children, log10_probs, log10_backoffs):
    """The probability of every word after `ids`, the shortest grams first, longer ones taking their place."""
    out = 10.0 ** log10_probs[: base[1]]
    for k in range(1, min(ids.size, order - 1) + 1):
        context = np.int64(ids[ids.size - k])
        for j in range(ids.size - k + 1, ids.size):
            context = child(context, ids[j], words, children)
        if context >= 0:
            out *= 10.0 ** log10_backoffs[context]
            first, last = children_of(context, words, children)
            for gram in range(first, last):
                out[min(max(words[gram], 0), out.size - 1)] = 10.0 ** log10_probs[gram]
    out[START_ID] = 0.0
    return out
