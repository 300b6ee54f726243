"""Which words a context of a backoff model should have grams for, as a model that ARPA cannot hold sees it.

The backoff model is under way: it has all grams of up to some number of words, and for contexts of that many words
grams are wanted that are one word longer. A context that is met n times gains

    n · (p ln(p / q) - p + q)

nats by a gram, where p is what the model says of the word and q what the backoff model would say without the gram: the
relative entropy that the gram takes away, all else normed. Equations (40) and (41) of docs/ideas/mathematics.md.
Words gain where they are more probable than shorter contexts say, and where they are less.

The model is asked after unknown words and the context, since a context is used where longer ones are not known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.backoff.grams import child, children_of
from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.successors import successors
from gapgram.kernels.tables.search import first_at_least
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.kernels.topk.exact import above, probabilities

MOST_NATS = 3.0  # by which a gram is taken to be better than backing off, where words are sought
ROUNDS = 3  # of choosing words and working out the backoff that they leave
ROOM = 1 << 16  # grams that there is room for at first


class Growing(NamedTuple):
    """The backoff model under way: the tree of `kernels.backoff.grams`, with probabilities, no logarithms."""

    words: np.ndarray
    children: np.ndarray
    probs: np.ndarray
    backoffs: np.ndarray


@kernel
def _asked(context, order):
    """What the model is asked after: the context, unknown words before it where it does not begin a sentence."""
    if context[0] == START_ID:
        return context
    out = np.full(order - 1, UNKNOWN_ID, np.int32)
    out[order - 1 - context.size :] = context
    return out


@kernel
def _ends(context, tree):
    """The numbers of the grams that are the last 1, 2 … words of a context, not itself; -1 where one is missing."""
    out = np.full(context.size - 1, -1, np.int64)
    for k in range(out.size):
        gram = np.int64(context[context.size - k - 1])
        for j in range(context.size - k, context.size):
            gram = child(gram, np.int64(context[j]), tree.words, tree.children)
        out[k] = gram
    return out


@kernel
def _fallen(word, ends, tree):
    """The probability of a word after the longest of the ends of a context."""
    factor = 1.0
    for k in range(ends.size - 1, -1, -1):
        if ends[k] >= 0:
            gram = child(ends[k], word, tree.words, tree.children)
            if gram >= 0:
                return factor * tree.probs[gram]
            factor *= tree.backoffs[ends[k]]
    return factor * tree.probs[word]


@kernel
def _expected(end, least, words, tree):
    """The words that a shorter context expects at least so probably and that are not among `words`, which rise."""
    first, last = children_of(end, tree.words, tree.children)
    out, n = np.empty(last - first, np.int64), 0
    for gram in range(first, last):
        if tree.probs[gram] >= least:
            word = np.int64(tree.words[gram])
            i = first_at_least(words, 0, words.size, word)
            if i == words.size or words[i] != word:
                out[n] = word
                n += 1
    return out[:n]


@kernel
def _candidates(context, n, least_gain, order, ends, tree, model, block_counts):
    """(words, probabilities) of those that may gain enough after a context that is met n times; the words rise."""
    asked = _asked(context, order)
    lists = successors(asked, model)
    words, probs = above(asked, least_gain / (MOST_NATS * n), lists, model, block_counts)
    if ends.size == 0 or ends[-1] < 0:
        return words, probs
    # Words that the shorter context expects too much
    more = _expected(ends[-1], least_gain / n, words, tree)
    if more.size == 0:
        return words, probs
    all_words = np.concatenate((words, more))
    all_probs = np.concatenate((probs, probabilities(more, lists, model)))
    rising = np.argsort(all_words)
    return all_words[rising], all_probs[rising]


@kernel
def gain(p, q):
    """What each time a context is met gains by a gram of probability p where backing off gives q, in nats."""
    return p * math.log(p / q) - p + q if p > 0.0 and q > 0.0 else 0.0


@kernel
def _mark(words, probs, fallen, n, least_gain, chosen):
    """Mark the words whose grams gain enough. What these leave, and so what the others get, follows from the choice."""
    backoff = 1.0
    for _ in range(ROUNDS):
        own, theirs = 0.0, 0.0
        for i in range(words.size):
            chosen[i] = words[i] != START_ID and n * gain(probs[i], fallen[i] * backoff) > least_gain
            if chosen[i]:
                own += probs[i]
                theirs += fallen[i]
        backoff = max(1.0 - own, 1e-9) / max(1.0 - theirs, 1e-9)
    return backoff


@kernel
def _with_room(values, n, more):
    """The first n values, in an array that can take so many more."""
    if n + more <= values.size:
        return values
    bigger = np.empty(max(2 * values.size, n + more), values.dtype)
    bigger[:n] = values[:n]
    return bigger


@kernel
def worthwhile(contexts, occurrences, least_gain, order, tree, model, block_counts):
    """The grams that contexts of equal length should have, one context after the other.

    contexts: [context, word]. occurrences: how often each is met. order: that of the model.
    Returns (last words, probabilities, how many each context has, its backoff).
    """
    words, probs = np.empty(ROOM, np.int32), np.empty(ROOM, np.float64)
    sizes, backoffs, total = np.zeros(occurrences.size, np.int64), np.ones(occurrences.size), 0
    for c in range(occurrences.size):
        n = float(occurrences[c])
        ends = _ends(contexts[c], tree)
        own_words, own_probs = _candidates(contexts[c], n, least_gain, order, ends, tree, model, block_counts)
        fallen, chosen = np.empty(own_words.size), np.zeros(own_words.size, np.bool_)
        for i in range(own_words.size):
            fallen[i] = _fallen(own_words[i], ends, tree)
        backoffs[c] = _mark(own_words, own_probs, fallen, n, least_gain, chosen)
        words, probs = _with_room(words, total, own_words.size), _with_room(probs, total, own_words.size)
        for i in range(own_words.size):
            if chosen[i]:
                words[total] = own_words[i]
                probs[total] = own_probs[i]
                total += 1
                sizes[c] += 1
    return words[:total], probs[:total], sizes, backoffs


@kernel
def count_grams(ids, order, words, children, counts, met):
    """Add to `counts` how often each gram of a backoff model occurs in a text, and to `met` how often as a context.

    ids: `<s>` begins sentences; ~word is a word that is an unknown one to all that follow.
    """
    before, after = np.full(order, -1, np.int64), np.full(order, -1, np.int64)
    for t in range(ids.size):
        word = np.int64(ids[t] if ids[t] >= 0 else ~ids[t])
        after[:] = -1
        after[0] = word
        counts[word] += 1
        # Where a gram is missing, all that end in it are missing.
        for k in range(1, order if word != START_ID else 1):
            gram = child(before[k - 1], word, words, children)
            if gram < 0:
                break
            after[k] = gram
            counts[gram] += 1
        if ids[t] < 0:
            after[:] = -1
            after[0] = UNKNOWN_ID
            for k in range(1, order):
                after[k] = child(before[k - 1], np.int64(UNKNOWN_ID), words, children)
                if after[k] < 0:
                    break
        for k in range(order - 1 if word != END_ID else 0):
            if after[k] >= 0:
                met[after[k]] += 1
        before, after = after, before
