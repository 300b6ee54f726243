"""The most probable next words of a session, without looking at all that its model knows or that was read.

Beside the lists of the model's patterns (`kernels.topk.exact`) each view of what was read is one more, and what follows
in a text that the model keeps another: a word is as probable as is asked for only where a term of one list reaches its
cut. Few words are listed whole. Of many, the `HEAD` with the largest counts are kept in `Heads`, a cache by context:
counts decay alike, so that these stay the largest but for words read since, which are looked at as well; no other word
has more than `rests` when so many words had been read as `times` says. Equation (39) of docs/ideas/mathematics.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.scores import possible
from gapgram.kernels.probability.successors import successors
from gapgram.kernels.sessions.count_table import ask_for, count_of, left, mixed
from gapgram.kernels.sessions.history import MOST_TIED, list_words, weigh_context
from gapgram.kernels.tables.arrays import N_GRAMS
from gapgram.kernels.text.special_words import END_ID, START_ID
from gapgram.kernels.topk.exact import (
    SLACK,
    _collect,
    _cuts,
    _largest_terms,
    distinct,
    kth_largest,
    largest_of,
    most_words,
    probabilities,
)

HEAD, FEW = 32, MOST_TIED  # words that are kept of a long list; that a list has which is looked at whole


class Heads(NamedTuple):
    """The cache of the module's head: keys, times int64 [slot], rests float64 [slot]; words int64, counts float64
    [slot, HEAD]."""

    keys: np.ndarray
    times: np.ndarray
    rests: np.ndarray
    words: np.ndarray
    counts: np.ndarray


@kernel
def _head_of(views, shared, own, past, v, key, followers, now, heads):
    """The slot of a long list, brought up to date."""
    slot = (key >> 7) & (heads.keys.size - 1)
    n_since, rest, words = now - heads.times[slot], 0.0, heads.words[slot]
    if heads.keys[slot] == key and n_since == 0:
        return slot
    if heads.keys[slot] == key and 0 < n_since <= FEW and heads.times[slot] >= past.begin:
        some = np.empty(HEAD + n_since, np.int64)
        some[:HEAD] = words
        for i in range(n_since):
            some[HEAD + i] = past.words[heads.times[slot] + i & past.words.size - 1]
        some = distinct(some)
        counts = np.empty(some.size)
        for i in range(some.size):
            ask_for(own, mixed(key, some[i]))
            ask_for(shared, mixed(key, some[i]))
        for i in range(some.size):
            counts[i] = count_of(shared, own, mixed(key, some[i]), views.decays, v, now)[0]
        rest = heads.rests[slot] * left(views.decays, v, n_since)
    else:
        some, counts = np.empty(followers, np.int64), np.empty(followers)
        n = list_words(views, shared, own, v, key, now, some, counts)
        some, counts = some[:n], counts[:n]
    least = kth_largest(counts, HEAD + 1) if counts.size > HEAD else -1.0
    n, words[:] = 0, -1
    for i in range(some.size):
        if counts[i] > max(least, 0.0) and n < HEAD:
            words[n], heads.counts[slot, n] = some[i], counts[i]
            n += 1
    heads.keys[slot], heads.times[slot], heads.rests[slot] = key, now, max(rest, least)
    return slot


@kernel
def _list_view(views, shared, own, past, v, key, total, followers, tied, now, heads, words, terms):
    """(how many words of a view are listed, what it gives any other at most); fills these words and what it gives."""
    if views.longest[v]:
        words[:followers], terms[:followers] = tied[:followers], 1.0 / total
        return followers, 0.0
    if followers <= FEW:
        n, rest = list_words(views, shared, own, v, key, now, words, terms), 0.0
    else:
        slot, n = _head_of(views, shared, own, past, v, key, followers, now, heads), np.int64(0)
        rest = heads.rests[slot] / total * (2.0 - SLACK)
        while n < HEAD and heads.words[slot, n] >= 0:
            words[n], terms[n] = heads.words[slot, n], heads.counts[slot, n]
            n += 1
    terms[:n] /= total
    return n, rest


@kernel
def _reaching(words, terms, cut, special, chosen):
    """The chosen words and those whose terms reach a cut."""
    some, n = np.empty(words.size, np.int64), 0
    for i in range(words.size):
        word = words[i]
        if terms[i] >= cut and (word > END_ID or (special and word != START_ID)):
            some[n] = word
            n += 1
    return np.concatenate((chosen, some[:n])) if n > 0 else chosen


@kernel
def _add_terms(words, terms, chosen, found):
    """Add the terms of a list to what was found of the words that are chosen, which rise."""
    for i in range(words.size):
        at = np.searchsorted(chosen, words[i])
        if at < chosen.size and chosen[at] == words[i]:
            found[at] += terms[i]


@kernel
def most_probable_read(
    context, seen, model, block_counts, share, text_words, text_shares, views, gate, shared, own, past, now, heads, k,
    special,
):
    """(words, probabilities, whole): the k most probable words of a session after a context are among them, if `whole`.

    context: ids of the session; seen: of them what the model looks at, as its own ids. share: of what the model says,
    that of its patterns; text_words, text_shares: what else it gives some words, which rise.
    """
    n_views, n_words = views.decays.shape[0], model.tables.places[0, N_GRAMS]
    keys, sums, followers = np.empty(n_views, np.int64), np.empty(n_views), np.empty(n_views, np.int64)
    tied, weights = np.empty((n_views, MOST_TIED), np.int64), np.empty(n_views + 1)
    weigh_context(views, gate, shared, own, past, context, now, keys, sums, followers, tied, weights)
    of_model, of_text = weights[0] * share, weights[0] * text_shares
    lists = successors(seen, model)
    own_largest = _largest_terms(lists, model, block_counts)
    n_lists, floor = own_largest.size, of_model * lists.floor
    largest = np.zeros(n_lists + n_views + 1)
    largest[:n_lists] = of_model * own_largest
    largest[n_lists + n_views] = largest_of(of_text) if of_text.size > 0 else 0.0
    # What each view has for few words, or for the first of many.
    words, terms = np.empty((n_views, FEW), np.int64), np.empty((n_views, FEW))
    n_listed, rests = np.zeros(n_views, np.int64), np.zeros(n_views)
    for v in range(n_views):
        if sums[v] > 0.0:
            n, rest = _list_view(
                views, shared, own, past, v, keys[v], sums[v], followers[v], tied[v], now, heads, words[v], terms[v]
            )
            terms[v, :n] *= weights[v + 1]
            n_listed[v], rests[v] = n, rest * weights[v + 1]
            largest[n_lists + v] = max(rests[v], largest_of(terms[v, :n]) if n > 0 else 0.0)
    # A guess of the k-th probability is lowered as in `kernels.topk.exact.most_probable`.
    budget, sure, limit = 0.5 * possible(largest_of(largest)), False, most_words(n_words)
    none = np.empty(0, np.int64), np.empty(0), False
    while budget > 0.0:
        if (floor + budget) * SLACK <= floor:
            return none
        cuts = _cuts(largest, budget)
        chosen = _collect(lists, cuts[:n_lists] / of_model, model, block_counts, special, limit)
        for v in range(n_views):
            cut, n = cuts[n_lists + v], n_listed[v]
            if cut == np.inf:
                continue
            if rests[v] < cut:
                chosen = _reaching(words[v, :n], terms[v, :n], cut, special, chosen)
            else:  # all words of a long list
                some, counts = np.empty(followers[v], np.int64), np.empty(followers[v])
                n = list_words(views, shared, own, v, keys[v], now, some, counts)
                counts *= weights[v + 1] / sums[v]
                chosen = _reaching(some[:n], counts[:n], cut * SLACK, special, chosen)
        chosen = distinct(_reaching(text_words, of_text, cuts[n_lists + n_views], special, chosen))
        if chosen.size > limit:
            return none
        # What the model gives them, its text, and all views.
        known = np.searchsorted(chosen, n_words)
        found = np.zeros(chosen.size)
        found[:known] = of_model * probabilities(chosen[:known], lists, model)
        for v in range(n_views):
            if rests[v] == 0.0:
                _add_terms(words[v, : n_listed[v]], terms[v, : n_listed[v]], chosen, found)
                continue
            for i in range(chosen.size):
                ask_for(own, mixed(keys[v], chosen[i]))
                ask_for(shared, mixed(keys[v], chosen[i]))
            for i in range(chosen.size):
                count = count_of(shared, own, mixed(keys[v], chosen[i]), views.decays, v, now)[0]
                found[i] += weights[v + 1] * (max(count, 0.0) / sums[v])
        _add_terms(text_words, of_text, chosen, found)
        if sure:
            return chosen, found, True
        if chosen.size >= k:
            kth = kth_largest(found, k)
            sure = True
            if kth >= floor + budget:
                return chosen, found, True
            budget = kth - floor
        else:
            budget *= 0.25
    return none
