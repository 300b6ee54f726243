"""The most probable words of a context, found without looking at every word.

After a context every pattern has a list: the words that followed it there, sorted by key
(`kernels.probability.successors`). Pattern p gives a word of its list `scale[p]` times its discounted count, its term,
and the probability of a word is the `floor` that every word has plus its terms. A word is at least as probable as
`floor + budget` only if one of its terms reaches its list's cut, where the cuts add up to no more than the budget. So
it is enough to read from each list the words whose term reaches the cut, and to add up all terms of these alone.
Patterns of one clustering together are one more list: each class gets a mass, and its words parts of it, the largest
first.

Lists are read in blocks of BLOCK grams of the table. `block_counts` (int64, one a block of the grams of all patterns)
holds the largest count of each block, 0 while nobody has looked; it is filled in as blocks are met, and every thread
writes the same numbers. A block whose largest count gives too small a term is not read again.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.probabilities import discounted
from gapgram.kernels.probability.scores import make_possible, possible
from gapgram.kernels.probability.successors import class_term, distribution, member_term, successors
from gapgram.kernels.tables.arrays import FIRST_GRAM, N_GRAMS
from gapgram.kernels.tables.read import find_counts, read_grams
from gapgram.kernels.text.special_words import END_ID, START_ID

BLOCK_BITS = 6
BLOCK = 1 << BLOCK_BITS
SLACK = 1.0 - 1e-9  # bounds are lowered by this, so that rounding never hides a word


@kernel
def most_words(n_words):
    """How many words a search may bring to light; where there are more, all words are looked at."""
    return max(n_words >> 3, 1024)


@kernel
def n_blocks(places):
    """How many blocks the grams of all patterns have, each pattern's by its own."""
    n = 0
    for p in range(places.shape[0]):
        n = _first_block(places, p) + (places[p, N_GRAMS] >> BLOCK_BITS) + 1
    return n


@kernel
def _first_block(places, p):
    """The number of the first block of pattern p among those of all patterns."""
    return (places[p, FIRST_GRAM] >> BLOCK_BITS) + 2 * p


@kernel
def _block_bounds(begin, end, block):
    """What a list has in a block of its pattern's grams: (first, last)."""
    return max(begin, block << BLOCK_BITS), min(end, (block + 1) << BLOCK_BITS)


@kernel
def _largest_counts(tables, p, begin, end, block_counts):
    """The largest count in each block of a list begin … end-1 of pattern p; remembered of whole blocks."""
    first_block, n = begin >> BLOCK_BITS, (end - 1 >> BLOCK_BITS) - (begin >> BLOCK_BITS) + 1
    known = block_counts[_first_block(tables.places, p) :]
    words, counts = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    out = np.empty(n if begin < end else 0, np.int64)
    for k in range(out.size):
        first, last = _block_bounds(begin, end, first_block + k)
        whole = last - first == BLOCK
        out[k] = known[first_block + k] if whole else np.int64(0)
        if out[k] == 0:
            read_grams(tables, p, first, words[: last - first], counts[: last - first])
            out[k] = max(np.int64(1), largest_of(counts[: last - first]))
            if whole:
                known[first_block + k] = out[k]
    return out


@kernel
def _most(count, discounts, p):
    """The most that is left of any count up to this one: discounts may reorder 1, 2 and 3."""
    most = 0.0
    for c in range(1, min(count, 3) + 1):
        most = max(most, discounted(discounts, p, c))
    return max(most, discounted(discounts, p, count)) if count > 3 else most


@kernel
def _member_at(i, members, n_words):
    """(word, its place in its clustering's part of `class_of`) of entry i of `members`, a word that there is."""
    word = min(max(np.int64(members[i]), 0), n_words - 1)
    return word, i // n_words * n_words + word


@kernel
def _clustering_of_class(c, member_base, n_words):
    """Which clustering class c is of, from 0: the words of each take n_words members."""
    return min(member_base[c], member_base[-1] - 1) // n_words


@kernel
def _first_terms(masses, model):
    """What the patterns of its clustering give the most probable word of each class."""
    members, member_base, class_of, given_class = (
        model.members, model.member_base, model.tables.class_of, model.given_class
    )  # fmt: skip
    n_words, out = model.tables.word_counts.size, np.zeros(masses.size)
    for c in range(masses.size):
        if member_base[c] < member_base[c + 1]:
            out[c] = member_term(_member_at(member_base[c], members, n_words)[1], masses, class_of, given_class)
    return out


@kernel
def _largest_terms(lists, model, block_counts):
    """A bound of the terms of each list; the last are those of the clusterings."""
    n, discounts = lists.begin.size, model.discounts
    n_words = max(model.tables.word_counts.size, 1)
    largest = np.zeros(n + model.tables.class_of.size // n_words)
    for p in range(n):
        if lists.begin[p] < lists.end[p]:
            counts = _largest_counts(model.tables, p, lists.begin[p], lists.end[p], block_counts)
            largest[p] = lists.scale[p] * _most(largest_of(counts), discounts, p)
    first_terms, member_base = _first_terms(lists.class_masses, model), model.member_base
    for c in range(first_terms.size):
        own = n + _clustering_of_class(c, member_base, n_words)
        largest[own] = max(largest[own], first_terms[c])
    return largest


@kernel
def _rising(numbers):
    """The places of a few numbers, that of the smallest first."""
    order = np.empty(numbers.size, np.int64)
    for i in range(numbers.size):
        at = i
        while at > 0 and numbers[order[at - 1]] > numbers[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    return order


@kernel
def _cuts(largest, budget):
    """A cut for each list, in all no more than the budget; infinite where the whole list is below it.

    Lists whose largest term is less than an even part of what is left of the budget are passed over, the
    smallest first; the others share evenly what these leave.
    """
    cuts = np.full(largest.size, np.inf)
    left = budget * SLACK
    lists = largest.size
    for p in _rising(largest):
        if largest[p] * lists < left:
            left -= largest[p]
            lists -= 1
        else:
            cuts[p] = left / lists
    return cuts


@kernel
def _may(word, special):
    """Whether a word may be predicted."""
    return word > END_ID or (special and word != START_ID)


@kernel
def _with_capacity(words, n, more):
    """The first n words, in an array that can take so many more."""
    if n + more <= words.size:
        return words
    bigger = np.empty(2 * words.size, np.int64)
    bigger[:n] = words[:n]
    return bigger


@kernel
def _collect(lists, cuts, model, block_counts, special, limit):
    """The words of which some term reaches its list's cut, each once, rising; at most about `limit`."""
    tables, discounts, n_lists = model.tables, model.discounts, lists.begin.size
    n_words = tables.places[0, N_GRAMS]
    words, counts = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    chosen = np.empty(1024, np.int64)
    n = 0
    # From the list of each pattern, but for those that are below their cut: the words of blocks that may reach it.
    for p in range(n_lists):
        begin, end, scale = lists.begin[p], lists.end[p], lists.scale[p]
        if begin >= end or cuts[p] == np.inf:
            continue
        largest = _largest_counts(tables, p, begin, end, block_counts)
        for k in range(largest.size):
            if scale * _most(largest[k], discounts, p) < cuts[p]:
                continue
            first, last = _block_bounds(begin, end, (begin >> BLOCK_BITS) + k)
            read_grams(tables, p, first, words[: last - first], counts[: last - first])
            chosen = _with_capacity(chosen, n, last - first)
            for i in range(last - first):
                may = counts[i] > 0 and words[i] < n_words and _may(words[i], special)
                if may and scale * discounted(discounts, p, counts[i]) >= cuts[p]:
                    chosen[n] = words[i]
                    n += 1
            if n > limit:
                return chosen[:n]
    # From each class that may reach the cut of its clustering: its words, the most probable first, down to the cut.
    masses, members, member_base, class_of, given_class = (
        lists.class_masses, model.members, model.member_base, tables.class_of, model.given_class
    )  # fmt: skip
    first_terms, n_classed = _first_terms(masses, model), tables.word_counts.size
    for c in range(masses.size):
        cut = cuts[n_lists + _clustering_of_class(c, member_base, n_classed)]
        if first_terms[c] < cut:
            continue
        chosen = _with_capacity(chosen, n, 1)
        for i in range(member_base[c], member_base[c + 1]):
            word, member = _member_at(i, members, n_classed)
            if member_term(member, masses, class_of, given_class) < cut:
                break
            if _may(word, special):
                chosen = _with_capacity(chosen, n, 1)
                chosen[n] = word
                n += 1
        if n > limit:
            return chosen[:n]
    return distinct(chosen[:n])


@kernel
def probabilities(words, lists, model):
    """The probability of each of some words, its terms added in the order that `distribution` adds them."""
    tables, discounts = model.tables, model.discounts
    counts = np.empty(words.size, np.int64)
    out = np.full(words.size, lists.floor)
    for p in range(lists.begin.size):
        if lists.begin[p] < lists.end[p]:
            find_counts(tables, p, lists.begin[p], lists.end[p], words, counts)
            for i in range(words.size):
                if counts[i] > 0:
                    out[i] += lists.scale[p] * discounted(discounts, p, counts[i])
    masses, class_of, given_class = lists.class_masses, tables.class_of, model.given_class
    n_words = tables.word_counts.size
    for i in range(words.size if masses.size > 0 else 0):
        out[i] += class_term(words[i], n_words, masses, class_of, given_class)
    make_possible(out)
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
def above(context, least, lists, model, block_counts):
    """(words, probabilities): every word at least as probable as `least`, special ones too, and some others; rising.

    lists: what `successors` gives for the context.
    """
    words, found, whole = _at_least(
        least, lists, _largest_terms(lists, model, block_counts), model, block_counts, True
    )
    if whole:
        return words, found
    everything = distribution(context, model)
    words = np.flatnonzero(everything >= least)
    return words, everything[words]


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
    budget = 0.5 * possible(largest_of(largest))
    sure = False
    while budget > 0.0:
        words, found, whole = _at_least(lists.floor + budget, lists, largest, model, block_counts, special)
        if sure or not whole:
            return words, found, whole
        if words.size >= k:
            kth = kth_largest(found, k)
            sure = True
            if kth >= lists.floor + budget:
                return words, found, True
            budget = kth - lists.floor
        else:
            budget *= 0.25
    return np.empty(0, np.int64), np.empty(0), False


# Numbers in order


@kernel
def _sift(heap, at, size):
    """Let the number at a place sink below larger ones; in a heap none is larger than the one at half its place."""
    number = heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= number:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = number


@kernel
def sort(numbers):
    """Sort an array in place, rising."""
    for at in range(numbers.size // 2 - 1, -1, -1):
        _sift(numbers, at, numbers.size)
    for last in range(numbers.size - 1, 0, -1):
        largest = numbers[0]
        numbers[0] = numbers[last]
        numbers[last] = largest
        _sift(numbers, 0, last)


@kernel
def distinct(numbers):
    """The numbers of an array, which is sorted, each once, rising."""
    sort(numbers)
    n = min(numbers.size, 1)
    for i in range(1, numbers.size):
        if numbers[i] != numbers[i - 1]:
            numbers[n] = numbers[i]
            n += 1
    return numbers[:n]


@kernel
def kth_largest(numbers, k):
    """The k-th largest of at least k numbers, none of them NaN."""
    heap = np.empty(k)  # the k largest so far, negative: the first is the least of them
    for i in range(k):
        heap[i] = -numbers[i]
    for at in range(k // 2 - 1, -1, -1):
        _sift(heap, at, k)
    for i in range(k, numbers.size):
        if -numbers[i] < heap[0]:
            heap[0] = -numbers[i]
            _sift(heap, 0, k)
    return -heap[0]


@kernel
def largest_of(numbers):
    """The largest of some numbers, of which there is one."""
    largest = numbers[0]
    for i in range(1, numbers.size):
        if numbers[i] > largest:
            largest = numbers[i]
    return largest
