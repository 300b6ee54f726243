"""The words that start with a prefix, and their probabilities after a context.

Words are ranked by their bytes: `by_rank` (int32) are the words in that order, `ranks` (int32) its inverse. Those that
start alike are neighbours.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.probabilities import discounted
from gapgram.kernels.probability.scores import make_possible
from gapgram.kernels.probability.successors import class_term, successors
from gapgram.kernels.tables.read import RUN, find_counts, read_grams

_SEARCH_COST = 12  # what a step of a binary search costs, in grams read one after the other


@kernel
def probabilities_of_range(context, model, ranks, by_rank, first, last):
    """The probabilities of the words by_rank[first:last] after a context.

    Each list is read through, or searched for every word, whichever is less work.
    """
    tables, discounts, n = model.tables, model.discounts, last - first
    lists = successors(context, model)
    wanted, wanted_counts = by_rank[first:last].astype(np.int64), np.empty(n, np.int64)
    words, counts = np.empty(RUN, np.int64), np.empty(RUN, np.int64)
    out = np.full(n, lists.floor)
    for p in range(lists.begin.size):
        begin, end, scale = lists.begin[p], lists.end[p], lists.scale[p]
        if begin >= end:
            continue
        steps = 1
        while end - begin >> steps > 0:
            steps += 1
        if p > 0 and end - begin <= n * steps * _SEARCH_COST:
            # Read the whole list, some words at a time, and keep those that are wanted.
            for at in range(begin, end, RUN):
                read_grams(tables, p, at, words[: end - at], counts[: end - at])
                for j in range(min(RUN, end - at)):
                    i = ranks[min(words[j], ranks.size - 1)] - first
                    if 0 <= i < n and counts[j] > 0:
                        out[i] += scale * discounted(discounts, p, counts[j])
        else:
            find_counts(tables, p, begin, end, wanted, wanted_counts)
            for i in range(n):
                if wanted_counts[i] > 0:
                    out[i] += scale * discounted(discounts, p, wanted_counts[i])
    masses, class_of, given_class = lists.class_masses, tables.class_of, model.given_class
    n_words = tables.word_counts.size
    for i in range(n if masses.size > 0 else 0):
        out[i] += class_term(wanted[i], n_words, masses, class_of, given_class)
    make_possible(out)
    return out


@kernel
def prefix_range(prefix, by_rank, pool, offsets):
    """(first, last) ranks of the words that start with these bytes.

    Word w is pool[offsets[w]:offsets[w+1]].
    """
    bounds = np.zeros(2, np.int64)
    for side in range(2):
        low, high = 0, by_rank.size
        while low < high:
            middle = (low + high) >> 1
            begin = min(max(offsets[by_rank[middle]], 0), pool.size)
            end = min(offsets[by_rank[middle] + 1], pool.size)
            order = 0  # of the word against the prefix; a word that starts with it is equal
            for i in range(prefix.size):
                if begin + i >= end or pool[begin + i] < prefix[i]:
                    order = -1
                    break
                if pool[begin + i] > prefix[i]:
                    order = 1
                    break
            if order < 0 or (order == 0 and side == 1):
                low = middle + 1
            else:
                high = middle
        bounds[side] = low
    return bounds[0], bounds[1]
