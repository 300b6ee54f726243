"""What a reader has read, in views: decayed counts of words after contexts, mixed with a model's probabilities.

A *view* is one way to look back: at all words, at the words that followed the last word, the last two, the word before
the last, the class of the last … Views are described by five arrays, a row or an entry a view:

    offsets     [view, 3] int64: the words that make the context, by their distance; 0 where there are no more
    of_classes  [view] bool: the classes of these words stand for them
    longest     [view] bool: of the words that followed the context only those count before which most words were the
                same where they followed it last
    decays      [view, 2 * AGO] float64: what is left of a count after 0, 1, 2 … words more, then after 0, AGO, 2 AGO …
    boosts      [view, 32] float64: what a word counts whose id has so many bits: rare words may weigh more

Counts lie in hash tables (`kernels.sessions.count_table`); how views are weighed says `kernels.sessions.history_gate`.
A view whose context was never read has no weight. The words themselves, `Past`, are a ring: `words` [a power of two]
int32 has the word that was read after n others at n, modulo its size; those before `begin` are forgotten.

Equations (34) to (38) of docs/ideas/mathematics.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.probability.gate import WORD_BUCKETS, word_bucket
from gapgram.kernels.sessions.count_table import (
    COUNT,
    KEY,
    LINK,
    TIME,
    ask_for,
    count_of,
    find,
    following_of,
    left,
    mixed,
    owned,
    set_following,
    word_of,
)
from gapgram.kernels.sessions.history_gate import AGES, FOLLOWERS, RATE, SUMS, bucket, take_step, weigh_sources
from gapgram.kernels.text.special_words import END_ID, START_ID

MOST_OFFSETS = 3
MOST_SAME = 32  # words that are compared
MOST_TIED = 64  # words that may follow the context of a view of the longest end


class Views(NamedTuple):
    """The views of the module's head, and what makes classes of words (empty: all words are of class 0)."""

    offsets: np.ndarray
    of_classes: np.ndarray
    longest: np.ndarray
    decays: np.ndarray
    boosts: np.ndarray
    class_of: np.ndarray


class Past(NamedTuple):
    """The words of the module's head."""

    words: np.ndarray
    begin: int


@kernel
def context_key(views, v, ids, t, first):
    """The key of the context of view v before position t of a sentence that begins at `first`; 0 where it has none."""
    key = mixed(np.int64(v + 1), np.int64(0))
    for i in range(views.offsets.shape[1]):
        offset = views.offsets[v, i]
        if offset == 0:
            break
        if t - offset < first:
            return np.int64(0)
        word = np.int64(ids[t - offset])
        if views.of_classes[v]:
            word = np.int64(views.class_of[word]) if word < views.class_of.size else np.int64(0)
        key = mixed(key, word)
    return key


@kernel
def _n_same(past, place, ids, t, first):
    """How many words before a place of what was read are those before position t of a sentence from `first` on."""
    n, last = np.int64(0), past.words.size - 1
    while n < MOST_SAME and t - 1 - n >= first:
        at = place - 1 - n
        earlier = np.int64(past.words[at & last]) if at >= past.begin else np.int64(END_ID)
        if ids[t - 1 - n] == START_ID:
            return n + (earlier == END_ID)
        if earlier != ids[t - 1 - n]:
            break
        n += 1
    return n


@kernel
def _tie(table, at, past, ids, t, first, length, n, tied):
    """Compare the place where a word was read last: (the most words that are the same, how many words have so many)."""
    same = _n_same(past, table.cells[at + TIME], ids, t, first)
    if same > length:
        length, n = same, np.int64(0)
    if same == length and n < MOST_TIED:
        tied[n] = word_of(table, at)
        n += 1
    return length, n


@kernel
def _longest_end(shared, own, past, ids, t, first, key, tied):
    """(the most words that are the same before a word that followed a context, how many words have so many); `tied`."""
    length, n = np.int64(MOST_OFFSETS), np.int64(0)
    context = find(own, key)
    followers = -1 - word_of(own, context) if context >= 0 else np.int64(0)
    at = following_of(own, context) if context >= 0 else np.int64(-1)
    while at >= 0 and followers <= MOST_TIED:
        length, n = _tie(own, at, past, ids, t, first, length, n, tied)
        at = following_of(own, at)
    at = find(shared, key)
    if context < 0 and at >= 0:
        followers = -1 - word_of(shared, at)
    at = following_of(shared, at) if at >= 0 else at
    while at >= 0 and followers <= MOST_TIED:
        if find(own, shared.cells[at + KEY]) < 0:
            length, n = _tie(shared, at, past, ids, t, first, length, n, tied)
        at = following_of(shared, at)
    return length, n


@kernel
def is_tied(tied, n, word):
    """1 where a word is among the first n, else 0."""
    found = 0.0
    for i in range(min(n, MOST_TIED)):
        if tied[i] == word:
            found = 1.0
    return found


@kernel
def _weigh(views, logits, shared, own, past, ids, t, first, now, keys, sums, followers, tied, rows, given, weights):
    """Fill the sum of each view whose key is there, how many words followed, those of the longest end [view, word], the
    rows of the features, who takes part, and the weights."""
    n_views = views.decays.shape[0]
    base = n_views * SUMS
    given[0] = 0.0
    for v in range(n_views):
        sums[v], followers[v] = -1.0, 0
        if keys[v] != 0 and views.longest[v]:
            length, followers[v] = _longest_end(shared, own, past, ids, t, first, keys[v], tied[v])
            sums[v] = float(followers[v])
            level = min(length - MOST_OFFSETS + 1, SUMS - 1) if followers[v] > 0 else np.int64(0)
        else:
            if keys[v] != 0:
                sums[v], followers[v] = count_of(shared, own, keys[v], views.decays, v, now)
            level = np.int64(bucket(sums[v], SUMS))
        given[v + 1] = 0.0 if sums[v] > 0.0 else -1.0
        rows[2 * v] = v * SUMS + level
        rows[2 * v + 1] = base + v * FOLLOWERS + min(followers[v], FOLLOWERS - 1)
    base += n_views * FOLLOWERS
    rows[2 * n_views] = base + bucket(float(now), AGES)
    base += AGES
    for k in range(1, 3):
        # Words that the model does not know, and what lies before the sentence, look like <unk>.
        word = np.int64(ids[t - k]) if t - k >= first and ids[t - k] < views.class_of.size else np.int64(0)
        rows[2 * n_views + k] = base + (k - 1) * WORD_BUCKETS + word_bucket(word)
    weigh_sources(logits, rows, given, weights)


@kernel
def _learn(views, shared, own, past, word, keys, grams, now):
    """Count a word in all views whose contexts have keys; `grams` are those with the word."""
    past.words[now & past.words.size - 1] = word
    bits = math.frexp(float(word))[1]
    for v in range(keys.size):
        if keys[v] == 0:
            continue
        context, _, _ = owned(shared, own, keys[v])
        gram, moved, new = owned(shared, own, grams[v])
        if moved:  # it joins the own list of its context
            own.cells[gram + LINK] = np.int64(word) << 32
            set_following(own, gram, following_of(own, context))
            set_following(own, context, gram)
        if new:
            own.cells[context + LINK] -= np.int64(1) << 32
        for at in (context, gram):
            kept = own.values[at + COUNT] * left(views.decays, v, now - own.cells[at + TIME])
            own.values[at + COUNT] = kept + views.boosts[v, bits]
            own.cells[at + TIME] = now


@kernel
def score_history(
    views, gate, shared, own, past, ids, begins, skipped, n_known, log10_probs, now, learn, steps, out, shares, rows
):
    """log10 of the probability of each position of sentences, those of the model being `log10_probs`.

    skipped: the first positions of the first sentence were read before, and are only what stands before the others.
    A word with an id of n_known or more is one that the model does not know: until it is read it has the probability
    of `<unk>`. Where `learn`, each word is counted once it was predicted, and where `steps`, the gate learns from it;
    returns the number of words read by then. Fills, where they are not empty, what each source gives (`shares`,
    [position, source]; -1 where it has no weight) and the features (`rows`, [position, feature]).
    """
    n_views = views.decays.shape[0]
    keys, grams, sums = np.empty(n_views, np.int64), np.empty(n_views, np.int64), np.empty(n_views)
    given, weights, slopes = np.empty(n_views + 1), np.empty(n_views + 1), np.empty(n_views + 1)
    features, followers = np.empty(2 * n_views + 3, np.int64), np.empty(n_views, np.int64)
    tied = np.empty((n_views, MOST_TIED), np.int64)
    logits, squares = gate.logits.reshape(-1), gate.squares.reshape(-1)
    for s in range(begins.size - 1):
        first = begins[s]
        for t in range(first + (skipped if s == 0 else 0), begins[s + 1]):
            if ids[t] == START_ID:
                out[t] = 0.0
                continue
            # Everything that will be read is asked for before any of it is.
            for v in range(n_views):
                keys[v] = context_key(views, v, ids, t, first)
                grams[v] = mixed(keys[v], np.int64(ids[t]))
                if keys[v] != 0:
                    ask_for(own, keys[v])
                    ask_for(own, grams[v])
            _weigh(
                views, logits, shared, own, past, ids, t, first, now, keys, sums, followers, tied, features, given,
                weights,
            )
            was_read = False
            for v in range(n_views):
                if sums[v] > 0.0:
                    if views.longest[v]:
                        count = is_tied(tied[v], followers[v], ids[t])
                    else:
                        count, _ = count_of(shared, own, grams[v], views.decays, v, now)
                    if count > 0.0:
                        given[v + 1] = count / sums[v]
                        was_read = True
            given[0] = 0.0 if ids[t] >= n_known and was_read else 10.0 ** log10_probs[t]
            probability = 0.0
            for v in range(n_views):
                probability += weights[v + 1] * max(given[v + 1], 0.0)
            probability += weights[0] * given[0]
            if shares.size > 0:
                for v in range(n_views + 1):
                    shares[t, v] = given[v]
                for f in range(features.size):
                    rows[t, f] = features[f]
            # Where no view has the word and its weight is 1, the model's own bits come out.
            out[t] = log10_probs[t] if weights[0] == 1.0 and given[0] > 0.0 else math.log10(probability)
            if steps and ids[t] < n_known:
                take_step(logits, squares, features, given, weights, probability, RATE, slopes)
            if learn:
                _learn(views, shared, own, past, ids[t], keys, grams, now)
                now += 1
    return now


@kernel
def read_history(views, shared, own, past, ids, begins, now):
    """Count the words of sentences, as `score_history` does; returns the number of words read by then."""
    n_views = views.decays.shape[0]
    keys, grams = np.empty(n_views, np.int64), np.empty(n_views, np.int64)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            if ids[t] == START_ID:
                continue
            for v in range(n_views):
                keys[v] = context_key(views, v, ids, t, begins[s])
                grams[v] = mixed(keys[v], np.int64(ids[t]))
                if keys[v] != 0:
                    ask_for(own, keys[v])
                    ask_for(own, grams[v])
            _learn(views, shared, own, past, ids[t], keys, grams, now)
            now += 1
    return now


@kernel
def weigh_context(views, gate, shared, own, past, ids, now, keys, sums, followers, tied, weights):
    """Fill the key, the sum and the number of followers of each view after the words `ids`, those of the longest end
    [view, word], and all weights."""
    n_views = views.decays.shape[0]
    rows, given = np.empty(2 * n_views + 3, np.int64), np.empty(n_views + 1)
    for v in range(n_views):
        keys[v] = context_key(views, v, ids, ids.size, 0)
    logits = gate.logits.reshape(-1)
    _weigh(
        views, logits, shared, own, past, ids, ids.size, 0, now, keys, sums, followers, tied, rows, given, weights
    )


@kernel
def list_words(views, shared, own, v, key, now, words, counts):
    """Fill the words that followed a context of view v and their decayed counts; returns how many there are."""
    n = 0
    # The words read since the table was shared, then those that only the shared table has.
    at = find(own, key)
    at = following_of(own, at) if at >= 0 else at
    while at >= 0:
        words[n] = word_of(own, at)
        counts[n] = own.values[at + COUNT] * left(views.decays, v, now - own.cells[at + TIME])
        n += 1
        at = following_of(own, at)
    at = find(shared, key)
    at = following_of(shared, at) if at >= 0 else at
    while at >= 0:
        if find(own, shared.cells[at + KEY]) < 0:
            words[n] = word_of(shared, at)
            counts[n] = shared.values[at + COUNT] * left(views.decays, v, now - shared.cells[at + TIME])
            n += 1
        at = following_of(shared, at)
    return n


@kernel
def give_words(views, shared, own, keys, sums, followers, tied, now, words, given):
    """Fill what each view gives each of some words: given[word, view]; 0 where a view takes no part."""
    for v in range(sums.size):
        for i in range(words.size):
            given[i, v] = 0.0
            if sums[v] > 0.0 and views.longest[v]:
                given[i, v] = is_tied(tied[v], followers[v], words[i]) / sums[v]
            elif sums[v] > 0.0:
                count, _ = count_of(shared, own, mixed(keys[v], np.int64(words[i])), views.decays, v, now)
                given[i, v] = max(count, 0.0) / sums[v]
