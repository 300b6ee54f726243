"""Backoff models: grams with a probability and, as contexts, a backoff, as ARPA files have them.

The grams of all lengths lie one after the other, those of length k from base[k-1] to base[k]; numbers of
grams are places in these arrays. `words` is the last word of a gram, and the grams that extend gram g by
one word are children[g] to children[g+1], rising by word; grams of one word come first, one a word id. So
the grams are a tree that is read from the oldest word on.

The end of a gram is a gram too (`models.grams.closed`). So where a gram is missing, all that end in it are missing, and
what is known of the words before a position are the grams that end there, shortest first: the *context*. Of these only
those matter that some gram extends, or that have a backoff (`extends`), and shorter ones.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import brief, kernel
from gapgram.kernels.probability.scores import finite_log10, make_possible
from gapgram.kernels.tables.search import first_at_least
from gapgram.kernels.text.special_words import START_ID


@kernel
def children_of(gram, words, children):
    """The first gram that extends a gram, and the one after the last; inside, whatever a damaged file says."""
    return max(np.int64(children[gram]), np.int64(0)), min(np.int64(children[gram + 1]), np.int64(words.size))


@kernel
def child(parent, word, words, children):
    """The gram that extends a gram by a word; -1 where there is none, or no parent that is a context."""
    if parent < 0 or parent >= children.size - 1:
        return np.int64(-1)
    begin, end = children_of(parent, words, children)
    i = first_at_least(words, begin, end, word)
    return i if i < end and words[i] == word else np.int64(-1)


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
        first, last = children_of(gram, words, children)
        for longer in range(first, last):
            out[longer] = words[longer]
    for parent in range(base[1], base[order - 1]):
        first, last = children_of(parent, words, children)
        for gram in range(first, last):
            out[gram] = child(out[parent], words[gram], words, children)
    return out


@kernel
def extends(gram, children, log10_backoffs):
    """Whether a gram tells a later word apart: another gram extends it, or it has a backoff."""
    if gram < 0 or gram >= children.size - 1:
        return False
    return children[gram] < children[gram + 1] or log10_backoffs[gram] != 0.0


@kernel
def step(word, context, n, order, words, children, log10_probs, log10_backoffs, after):
    """Score a word after a context of n grams, shortest first, each inside the grams.

    Returns (log10 of the probability, length of the longest gram that was found, how many grams the context after the
    word has); `after` receives these grams.
    """
    # Grams that end in the word, as long as there are any
    after[0] = word
    length = 1
    while length <= n and length < order:
        gram = child(context[length - 1], word, words, children)
        if gram < 0:
            break
        after[length] = gram
        length += 1
    # Its probability, and the backoffs of the contexts in which it was not found
    total = log10_probs[after[length - 1]]
    for k in range(length - 1, n):
        total += log10_backoffs[context[k]]
    # What can still matter
    kept = min(length, order - 1)
    while kept > 0 and not extends(after[kept - 1], children, log10_backoffs):
        kept -= 1
    return total, length, kept


@brief
def extend_one(order, words, children, log10_probs, log10_backoffs, none, key, word):
    """Score a word after the context that a key holds.

    none: an empty array of the kind of numbers that keys hold.
    Returns (log10 of the probability, length of the longest gram that was found, 0 where the key is none of this model,
    the key after the word).
    """
    out = np.empty(order, none.dtype)
    n = len(key) // none.itemsize
    if n >= order or n * none.itemsize != len(key):
        return 0.0, 0, out[:0].view(np.int8)
    context = np.frombuffer(key, none.dtype)
    for k in range(n):
        if context[k] < 0 or context[k] >= log10_backoffs.size:
            return 0.0, 0, out[:0].view(np.int8)
    score, length, kept = step(np.int64(word), context, n, order, words, children, log10_probs, log10_backoffs, out)
    return finite_log10(np.float64(score)), length, out[:kept].view(np.int8)


@kernel
def extend_rows(order, words, children, log10_probs, log10_backoffs, states, asked, n, answers):
    """Step from row to row of `states`, each the number of grams of a context and these grams, shortest first.

    asked: [i], from which row, the word, and the row of the context after it, -1 where it is not needed. log10 of the
    probabilities go to `answers`.
    """
    after = np.empty(order, np.int64)
    for i in range(n):
        held = states[asked[i, 0]]
        score, _, kept = step(
            np.int64(asked[i, 1]), held[1:], held[0], order, words, children, log10_probs, log10_backoffs, after
        )
        answers[i] = finite_log10(np.float64(score))
        if asked[i, 2] >= 0:
            out = states[asked[i, 2]]
            out[0] = kept
            for k in range(kept):
                out[1 + k] = after[k]


@kernel
def distribution(ids, order, base, words, children, log10_probs, log10_backoffs):
    """The probability of every word after `ids`, the shortest grams first, longer ones taking their place.

    Scores may be above 0 where a file's backoffs are; a probability is 1 at most.
    """
    out = 10.0 ** log10_probs[: base[1]].astype(np.float64)
    for k in range(1, min(ids.size, order - 1) + 1):
        context = np.int64(ids[ids.size - k])
        for j in range(ids.size - k + 1, ids.size):
            context = child(context, ids[j], words, children)
        if 0 <= context < children.size - 1:
            out *= 10.0 ** np.float64(log10_backoffs[context])
            first, last = children_of(context, words, children)
            for gram in range(first, last):
                out[min(max(words[gram], 0), out.size - 1)] = 10.0 ** np.float64(log10_probs[gram])
    out[START_ID] = 0.0
    make_possible(out)
    return out
