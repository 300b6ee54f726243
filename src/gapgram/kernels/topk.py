"""The most probable words of a context, found without looking at every word.

After a context every pattern has a list: the words that followed it there, sorted by key (`kernels.tables`). Pattern p
gives a word of its list `scale[p] * (count - discount)`, its term, and the probability of a word is the
`floor` that every word has plus its terms. A word is at least as probable as `floor + budget` only if one
of its terms reaches its list's cut, where the cuts add up to no more than the budget. So it is enough to
read from each list the words whose term reaches the cut, and to add up all terms of these alone. Patterns
of classes together are one more list: each class gets a mass, and its words parts of it, the largest first.

Lists are read in blocks of BLOCK grams of the table. `block_counts` holds the largest count of each block
of the table, 0 while nobody has looked; it is filled in as blocks are met, and every thread writes the
same numbers. A block whose largest count gives too small a term is not read again.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.bits import read_bits
from gapgram.kernels.jit import kernel
from gapgram.kernels.special_words import END_ID, START_ID
from gapgram.kernels.successors import class_term, successors
from gapgram.kernels.tables import (
    CODE_BITS,
    FIRST_GRAM,
    GRAM_BIT,
    KEY_BITS,
    N_GRAMS,
    WIDTH,
    key_of,
    word_and_count,
)

BLOCK_BITS = 6
SLACK = 1.0 - 1e-9  # bounds are lowered by this, so that rounding never hides a word
_SEARCH_COST = 12  # what a step of a binary search costs, in grams read one after the other


@kernel
def most_words(n_words):
    """How many words a search may bring to light; where there are more, all words are looked at."""
    return max(n_words >> 3, 1024)


@kernel
def _most(count, discounts, p):
    """The most that is left of any count up to this one: discounts may reorder 1, 2 and 3."""
    most = 0.0
    for c in range(1, min(count, 3) + 1):
        most = max(most, c - discounts[p, c])
    return max(most, count - discounts[p, 3]) if count > 3 else most


@kernel
def _part(begin, end, block):
    """What a list has in a block of its pattern's grams: (first, last)."""
    return max(begin, block << BLOCK_BITS), min(end, (block + 1) << BLOCK_BITS)


@kernel
def n_blocks(places):
    """How many blocks the grams of all patterns have, each pattern's by its own."""
    n = 0
    for p in range(places.shape[0]):
        n = _block_number(places, p, (places[p, N_GRAMS] >> BLOCK_BITS) + 1)
    return n


@kernel
def _block_number(places, p, block):
    """The number of a block of pattern p among those of all patterns."""
    return (places[p, FIRST_GRAM] >> BLOCK_BITS) + 2 * p + block


@kernel
def _largest_count(tables, p, first, last, block_counts):
    """The largest count of grams first … last-1 of one block; remembered where they are the whole block."""
    block = _block_number(tables.places, p, first >> BLOCK_BITS)
    whole = last - first == 1 << BLOCK_BITS
    if whole and block_counts[block] > 0:
        return block_counts[block]
    largest = np.int64(1)
    for g in range(first, last):
        largest = max(largest, word_and_count(tables, p, g)[1])
    if whole:
        block_counts[block] = largest
    return largest


@kernel
def _largest_terms(lists, model, block_counts):
    """A bound of the terms of each list; the last is that of the classes."""
    n = lists.begin.size
    largest = np.zeros(n + 1)
    for p in range(n):
        count = np.int64(0)
        begin, end = lists.begin[p], lists.end[p]
        if begin < end:
            for block in range(begin >> BLOCK_BITS, ((end - 1) >> BLOCK_BITS) + 1):
                first, last = _part(begin, end, block)
                count = max(count, _largest_count(model.tables, p, first, last, block_counts))
        largest[p] = lists.scale[p] * _most(count, model.discounts, p)
    for c in range(lists.class_masses.size):
        largest[n] = max(largest[n], _first_term(c, lists.class_masses, model))
    return largest


@kernel
def _first_term(c, masses, model):
    """What the patterns of classes give the most probable word of a class."""
    if model.member_base[c] >= model.member_base[c + 1]:
        return 0.0
    return class_term(model.members[model.member_base[c]], masses, model)


@kernel
def _cuts(largest, budget):
    """A cut for each list, in all no more than the budget; infinite where the whole list is below it.

    Lists whose largest term is less than an even part of what is left of the budget are passed over, the
    smallest first; the others share evenly what these leave.
    """
    cuts = np.full(largest.size, np.inf)
    left = budget * SLACK
    lists = largest.size
    for p in np.argsort(largest):
        if largest[p] * lists < left:
            left -= largest[p]
            lists -= 1
        else:
            cuts[p] = left / lists
    return cuts


@kernel
def _collect(lists, cuts, model, block_counts, special, limit):
    """The words of which some term reaches its list's cut, each once, rising; at most about `limit`."""
    tables, discounts, n_lists = model.tables, model.discounts, lists.begin.size
    found = np.empty(1024, np.int64)
    n = 0
    for p in range(n_lists):
        begin, end, scale = lists.begin[p], lists.end[p], lists.scale[p]
        if begin >= end or cuts[p] == np.inf:
            continue
        for block in range(begin >> BLOCK_BITS, ((end - 1) >> BLOCK_BITS) + 1):
            first, last = _part(begin, end, block)
            if scale * _most(_largest_count(tables, p, first, last, block_counts), discounts, p) < cuts[p]:
                continue
            found = _with_room(found, n, last - first)
            for g in range(first, last):
                word, count = word_and_count(tables, p, g)
                may = count > 0 and _may(word, special)
                if may and scale * (count - discounts[p, min(count, 3)]) >= cuts[p]:
                    found[n] = word
                    n += 1
            if n > limit:
                return found[:n]
    for c in range(lists.class_masses.size):
        if _first_term(c, lists.class_masses, model) >= cuts[n_lists]:
            for i in range(model.member_base[c], model.member_base[c + 1]):
                word = np.int64(model.members[i])
                if class_term(word, lists.class_masses, model) < cuts[n_lists]:
                    break
                if _may(word, special):
                    found = _with_room(found, n, 1)
                    found[n] = word
                    n += 1
            if n > limit:
                return found[:n]
    return np.unique(found[:n])


@kernel
def _may(word, special):
    """Whether a word may be predicted."""
    return word > END_ID or (special and word != START_ID)


@kernel
def _with_room(found, n, more):
    """The words found so far, in an array that has room for more."""
    if n + more <= found.size:
        return found
    bigger = np.empty(2 * found.size, np.int64)
    bigger[:n] = found[:n]
    return bigger


@kernel
def _count_in(tables, p, begin, end, word):
    """The count of a word in a list; 0 where it is not there."""
    at = tables.places[p]
    bit, width, code_bits, key = at[GRAM_BIT], at[WIDTH], at[CODE_BITS], key_of(word, at[KEY_BITS])
    low, high = begin, end
    guess = begin + (key * (end - begin) >> at[KEY_BITS])
    while low < high:
        difference = key - (read_bits(tables.grams, bit + guess * width, width) >> code_bits)
        if difference == 0:
            return word_and_count(tables, p, guess)[1]
        if difference > 0:
            low = guess + 1
        else:
            high = guess
        guess = min(max(guess + (difference * (end - begin) >> at[KEY_BITS]), low), high - 1)
    return np.int64(0)


@kernel
def probabilities(words, lists, model):
    """The probability of each of some words, its terms added in the order that `distribution` adds them."""
    tables, discounts = model.tables, model.discounts
    out = np.full(words.size, lists.floor)
    for p in range(lists.begin.size):
        begin, end, scale = lists.begin[p], lists.end[p], lists.scale[p]
        if begin < end:
            for i in range(words.size):
                if p == 0:
                    count = word_and_count(tables, 0, words[i])[1]
                else:
                    count = _count_in(tables, p, begin, end, words[i])
                if count > 0:
                    out[i] += scale * (count - discounts[p, min(count, 3)])
    for i in range(words.size if lists.class_masses.size > 0 else 0):
        out[i] += class_term(words[i], lists.class_masses, model)
    return out


@kernel
def _at_least(least, lists, largest, model, block_counts, special):
    """(words, probabilities, whole) of a set that holds every word at least as probable as `least`.

    whole: whether the set could be found; it cannot where it would hold too many words.
    """
    if least <= lists.floor / SLACK:
        return np.empty(0, np.int64), np.empty(0), False
    limit = most_words(model.tables.places[0, N_GRAMS])
    cuts = _cuts(largest, least - lists.floor)
    words = _collect(lists, cuts, model, block_counts, special, limit)
    if words.size > limit:
        return words, np.empty(0), False
    return words, probabilities(words, lists, model), True


@kernel
def at_least(context, word, model, block_counts, special):
    """(words, probabilities, whole): every word at least as probable after a context as `word`, and some others."""
    lists = successors(context, model)
    largest = _largest_terms(lists, model, block_counts)
    least = probabilities(np.array([word]), lists, model)[0]
    return _at_least(least, lists, largest, model, block_counts, special)


@kernel
def most_probable(context, model, block_counts, k, special):
    """(words, probabilities, whole): the k most probable words after a context are among them, if `whole`.

    A guess of the k-th probability is lowered until a set with k words is found; the k-th probability in
    it is a bound for the second search, unless it already reaches the guess.
    """
    lists = successors(context, model)
    largest = _largest_terms(lists, model, block_counts)
    budget = 0.5 * largest.max()
    sure = False
    while True:
        words, found, whole = _at_least(lists.floor + budget, lists, largest, model, block_counts, special)
        if sure or not whole:
            return words, found, whole
        if words.size >= k:
            kth = np.sort(found)[words.size - k]
            sure = True
            if kth >= lists.floor + budget:
                return words, found, True
            budget = kth - lists.floor
        else:
            budget *= 0.25


@kernel
def of_range(context, model, ranks, by_rank, first, last):
    """The probabilities of the words by_rank[first:last] after a context, `ranks` being the inverse of `by_rank`.

    Each list is read through, or searched for every word, whichever is less work.
    """
    tables, discounts = model.tables, model.discounts
    lists = successors(context, model)
    begin, end, scale = lists.begin, lists.end, lists.scale
    out = np.full(last - first, lists.floor)
    for p in range(begin.size):
        size = end[p] - begin[p]
        if size <= 0:
            continue
        steps = 1
        while size >> steps > 0:
            steps += 1
        if p > 0 and size <= (last - first) * steps * _SEARCH_COST:
            for g in range(begin[p], end[p]):
                word, count = word_and_count(tables, p, g)
                place = ranks[min(word, ranks.size - 1)] - first
                if 0 <= place < last - first and count > 0:
                    out[place] += scale[p] * (count - discounts[p, min(count, 3)])
        else:
            for i in range(last - first):
                word = np.int64(by_rank[first + i])
                if p == 0:
                    count = word_and_count(tables, 0, word)[1]
                else:
                    count = _count_in(tables, p, begin[p], end[p], word)
                if count > 0:
                    out[i] += scale[p] * (count - discounts[p, min(count, 3)])
    for i in range(last - first if lists.class_masses.size > 0 else 0):
        out[i] += class_term(by_rank[first + i], lists.class_masses, model)
    return out


@kernel
def prefix_range(prefix, by_rank, pool, offsets):
    """(first, last) ranks of the words that start with these bytes, the words being ranked by their bytes."""
    bounds = np.zeros(2, np.int64)
    for side in range(2):
        low, high = 0, by_rank.size
        while low < high:
            middle = (low + high) >> 1
            begin, end = offsets[by_rank[middle]], offsets[by_rank[middle] + 1]
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
