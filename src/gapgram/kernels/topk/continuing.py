"""The most probable next words, word after word: a beam of continuations in one call."""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.successors import distribution
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.kernels.topk.exact import most_probable


@kernel
def _next_words(context, model, block_counts, k):
    """Words among which are the k most probable that are known, and their probabilities."""
    words, probabilities, whole = most_probable(context, model, block_counts, k + 2, True)
    if whole:
        return words, probabilities
    everything = distribution(context, model)
    return np.arange(everything.size), everything


@kernel
def continue_words(context, model, block_counts, n, k, ends, words, log_probs):
    """Fill k continuations of n words and the logarithms of their probabilities; returns how many there are.

    Of all continuations of the k most probable of one word less, the k most probable are kept, those that have ended
    among them: words after the end are -1. k = 1 takes the most probable word each time.
    """
    held, old = min(context.size, model.order - 1), np.full((k, n), -1, np.int32)
    before = np.empty(held + n, np.int32)
    before[:held] = context[context.size - held :]
    n_beams, old_log = 1, np.zeros(k)
    for step in range(n):
        n_new = 0
        for beam in range(n_beams):
            ended = step > 0 and old[beam, step - 1] in (-1, END_ID)
            if ended:
                some, probabilities = np.full(1, -1, np.int64), np.ones(1)
            else:
                before[held : held + step] = old[beam, :step]
                some, probabilities = _next_words(before[: held + step], model, block_counts, k)
            for i in range(some.size):
                word = some[i]
                if word in (START_ID, UNKNOWN_ID) or (word == END_ID and not ends) or probabilities[i] <= 0.0:
                    continue
                log_prob = old_log[beam] + math.log(probabilities[i])
                at = n_new  # beams by falling probability, of equal ones the first first
                while at > 0 and log_probs[at - 1] < log_prob:
                    at -= 1
                if at >= k:
                    continue
                n_new = min(n_new + 1, k)
                for j in range(n_new - 1, at, -1):
                    words[j] = words[j - 1]
                    log_probs[j] = log_probs[j - 1]
                words[at] = old[beam]
                words[at, step] = word
                log_probs[at] = log_prob
        n_beams = n_new
        old[:n_beams] = words[:n_beams]
        old_log[:n_beams] = log_probs[:n_beams]
    return n_beams
