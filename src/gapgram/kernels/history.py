"""What a reader has read: decayed counts of words after contexts, and how far they are to be trusted.

A *view* is one way to look back: at all words, at the words that followed the last word, the last two, the word before
the last, the class of the last … Views are described by four arrays, a row or an entry a view:

    offsets     [view, 3] int64: the words that make the context, by their distance; 0 where there are no more
    of_classes  [view] bool: the classes of these words stand for them
    decays      [view, AGO] float64: what is left of a count after 0, 1, 2 … words more
    boosts      [view, 32] float64: what a word counts whose id has so many bits: rare words may weigh more

Counts lie in a hash table (`CountTable`, open addressing, at most half full). A context has an entry with the sum of
its counts; each word that followed it has one with its own count. The entries of a context's words are linked. An entry
is four numbers side by side, so that it is read at once:

    KEY         hash of view and context, or of these and the word; 0 where the slot is empty
    COUNT       float64: the decayed count when it was last changed
    TIME        the number of words read by then
    LINK        following + 1, in the lower 32 bits: the slot of the next word of the same context, or -1; of a context
                that of its first word. The upper half is the word; of a context -1 - how many words followed it

`cells` and `values` are the same memory, [4 * slots], as int64 and as float64; `used` [1] counts the slots taken.

A reader has two tables: one that is shared with its copies and never changed, and one of its own, which is looked at
first and holds what was read since.

The probability of a word is a mixture of the model's and those of the views, whose weights are a softmax of logits
that add up: `logits[row, source]`, source 0 being the model and source v + 1 view v. The rows of a prediction are

    the sum of view v, in buckets              v * SUMS + bucket
    how many words followed it                 n_views * SUMS + v * FOLLOWERS + bucket
    words read so far, in buckets              n_views * (SUMS + FOLLOWERS) + bucket
    the last word; the word before             … + AGES + word bucket (`kernels.gate`); … + WORD_BUCKETS + word bucket

A view whose context was never read has no weight. Weights depend on the context alone, so that all sums are one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gapgram.kernels.gate import WORD_BUCKETS, word_bucket
from gapgram.kernels.jit import kernel
from gapgram.kernels.special_words import START_ID

SUMS, FOLLOWERS, AGES = 18, 8, 28  # buckets of the three kinds of features
MOST_OFFSETS = 3
AGO = 512  # words back for which decays are at hand

KEY, COUNT, TIME, LINK = 0, 1, 2, 3  # of an entry
LOW = np.int64((1 << 32) - 1)
NO_WORDS = np.int64(-1) << 32  # the link of a context that nothing followed


class Views(NamedTuple):
    """The views of the module's head, and what makes classes of words (empty: all words are of class 0)."""

    offsets: np.ndarray
    of_classes: np.ndarray
    decays: np.ndarray
    boosts: np.ndarray
    class_of: np.ndarray
    logits: np.ndarray


class CountTable(NamedTuple):
    """The table of the module's head."""

    cells: np.ndarray
    values: np.ndarray
    used: np.ndarray


@kernel
def _mixed(a, b):
    """A hash of a hash and a number; never 0."""
    h = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(b + 7) * np.uint64(0xC2B2AE3D27D4EB4F)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(32)
    return np.int64(h | np.uint64(1))


@kernel
def context_key(views, v, ids, t, first):
    """The key of the context of view v before position t of a sentence that begins at `first`; 0 where it has none."""
    key = _mixed(np.int64(v + 1), np.int64(0))
    for i in range(views.offsets.shape[1]):
        offset = views.offsets[v, i]
        if offset == 0:
            break
        if t - offset < first:
            return np.int64(0)
        word = np.int64(ids[t - offset])
        if views.of_classes[v]:
            word = np.int64(views.class_of[word]) if word < views.class_of.size else np.int64(0)
        key = _mixed(key, word)
    return key


@kernel
def _find(table, key):
    """Where the entry of a key lies, or -1."""
    last = table.cells.size - 1
    at = (key << 2) & last
    while table.cells[at] != 0:
        if table.cells[at] == key:
            return at
        at = (at + 4) & last
    return np.int64(-1)


@kernel
def _insert(table, key):
    """Where the entry of a key lies that was not there: a context with a count of 0 and no words."""
    last = table.cells.size - 1
    at = (key << 2) & last
    while table.cells[at] != 0:
        at = (at + 4) & last
    table.cells[at + KEY] = key
    table.values[at + COUNT] = 0.0
    table.cells[at + TIME] = 0
    table.cells[at + LINK] = NO_WORDS
    table.used[0] += 1
    return at


@kernel
def _following(table, at):
    """Where the next word of the same context lies, or a context's first; -1 where there is none."""
    return ((table.cells[at + LINK] & LOW) - 1) << 2


@kernel
def _set_following(table, at, following):
    table.cells[at + LINK] = (table.cells[at + LINK] & ~LOW) | ((following >> 2) + 1)


@kernel
def _word(table, at):
    """The word of an entry; of a context -1 - how many words followed it."""
    return table.cells[at + LINK] >> 32


@kernel
def _owned(shared, own, key):
    """(where a key lies in the own table, whether it was put there now, whether it is new altogether)."""
    at = _find(own, key)
    if at >= 0:
        return at, False, False
    at = _insert(own, key)
    old = _find(shared, key)
    if old < 0:
        return at, True, True
    own.values[at + COUNT] = shared.values[old + COUNT]
    own.cells[at + TIME] = shared.cells[old + TIME]
    own.cells[at + LINK] = shared.cells[old + LINK] & ~LOW
    return at, True, False


@kernel
def _left(decays, v, ago):
    """What is left of a count after so many words."""
    return decays[v, ago] if ago < AGO else decays[v, AGO - 1] ** (ago / (AGO - 1.0))


@kernel
def _count(shared, own, key, decays, v, now):
    """(the decayed count of a key, how many words followed it); -1 where it was never read."""
    at = _find(own, key)
    if at >= 0:
        return own.values[at + COUNT] * _left(decays, v, now - own.cells[at + TIME]), -1 - _word(own, at)
    at = _find(shared, key)
    if at >= 0:
        return shared.values[at + COUNT] * _left(decays, v, now - shared.cells[at + TIME]), -1 - _word(shared, at)
    return -1.0, np.int64(0)


@kernel
def _learn(views, shared, own, word, keys, now):
    """Count a word in all views whose contexts have keys."""
    bits = math.frexp(float(word))[1]
    for v in range(keys.size):
        if keys[v] == 0:
            continue
        context, _, _ = _owned(shared, own, keys[v])
        gram, moved, new = _owned(shared, own, _mixed(keys[v], np.int64(word)))
        if moved:  # it joins the own list of its context
            own.cells[gram + LINK] = np.int64(word) << 32
            _set_following(own, gram, _following(own, context))
            _set_following(own, context, gram)
        if new:
            own.cells[context + LINK] -= np.int64(1) << 32
        for at in (context, gram):
            left = own.values[at + COUNT] * _left(views.decays, v, now - own.cells[at + TIME])
            own.values[at + COUNT] = left + views.boosts[v, bits]
            own.cells[at + TIME] = now


@kernel
def _bucket(x, most):
    """0 where x is not positive, else by its order of magnitude, in steps of 1.6."""
    if x <= 0.0:
        return 0
    return 1 + min(max(math.floor(math.log(x) * 2.1276595744680851) + 3, 0), most - 2)


@kernel
def _weigh(views, shared, own, ids, t, first, now, keys, sums, rows, weights):
    """Fill the key and the sum of each view, the rows of the features, the weight of each source."""
    n_views = views.decays.shape[0]
    base = n_views * SUMS
    for v in range(n_views):
        keys[v] = context_key(views, v, ids, t, first)
        sums[v], followers = -1.0, np.int64(0)
        if keys[v] != 0:
            sums[v], followers = _count(shared, own, keys[v], views.decays, v, now)
        rows[2 * v] = v * SUMS + _bucket(sums[v], SUMS)
        rows[2 * v + 1] = base + v * FOLLOWERS + min(followers, FOLLOWERS - 1)
    base += n_views * FOLLOWERS
    rows[2 * n_views] = base + _bucket(float(now), AGES)
    base += AGES
    for k in range(1, 3):
        # Words that the model does not know, and what lies before the sentence, look like <unk>.
        word = np.int64(ids[t - k]) if t - k >= first and ids[t - k] < views.class_of.size else np.int64(0)
        rows[2 * n_views + k] = base + (k - 1) * WORD_BUCKETS + word_bucket(word)
    for s in range(n_views + 1):
        weights[s] = 0.0
    for r in range(rows.size):
        for s in range(n_views + 1):
            weights[s] += views.logits[rows[r], s]
    largest = weights[0]
    for s in range(1, n_views + 1):
        if sums[s - 1] > 0.0:
            largest = max(largest, weights[s])
    total = 0.0
    for s in range(n_views + 1):
        weights[s] = math.exp(weights[s] - largest) if s == 0 or sums[s - 1] > 0.0 else 0.0
        total += weights[s]
    for s in range(n_views + 1):
        weights[s] /= total


@kernel
def score_history(views, shared, own, ids, begins, n_known, log10_probs, now, learn, out, shares, rows):
    """log10 of the probability of each position of sentences, those of the model being `log10_probs`.

    A word with an id of n_known or more is one that the model does not know: until it is read it has the probability
    of `<unk>`. Where `learn`, each word is counted once it was predicted; returns the number of words read by then.
    Fills, where they are not empty, what each source gives (`shares`, [position, source]; -1 where it has no weight)
    and the features (`rows`, [position, feature]).
    """
    n_views = views.decays.shape[0]
    keys, sums, weights = np.empty(n_views, np.int64), np.empty(n_views), np.empty(n_views + 1)
    features = np.empty(2 * n_views + 3, np.int64)
    for s in range(begins.size - 1):
        first = begins[s]
        for t in range(first, begins[s + 1]):
            if ids[t] == START_ID:
                out[t] = 0.0
                continue
            _weigh(views, shared, own, ids, t, first, now, keys, sums, features, weights)
            model = 10.0 ** log10_probs[t]
            probability = 0.0
            was_read = False
            for v in range(n_views):
                given = 0.0
                if sums[v] > 0.0:
                    count, _ = _count(shared, own, _mixed(keys[v], np.int64(ids[t])), views.decays, v, now)
                    if count > 0.0:
                        given = count / sums[v]
                        was_read = True
                probability += weights[v + 1] * given
                if shares.size > 0:
                    shares[t, v + 1] = given if sums[v] > 0.0 else -1.0
            if ids[t] >= n_known and was_read:
                model = 0.0
            probability += weights[0] * model
            if shares.size > 0:
                shares[t, 0] = model
                for f in range(features.size):
                    rows[t, f] = features[f]
            # Where no view has the word and its weight is 1, the model's own bits come out.
            out[t] = log10_probs[t] if weights[0] == 1.0 and model > 0.0 else math.log10(probability)
            if learn:
                _learn(views, shared, own, ids[t], keys, now)
                now += 1
    return now


@kernel
def spread(views, shared, own, ids, now, out, weights, sums):
    """Add what the views give each word after the words `ids` to `out`; fills the weights and the sums of the sources.

    `out` has a place for every word of the model and every word read.
    """
    n_views = views.decays.shape[0]
    t = ids.size
    keys, rows = np.empty(n_views, np.int64), np.empty(2 * n_views + 3, np.int64)
    _weigh(views, shared, own, ids, t, 0, now, keys, sums, rows, weights)
    for v in range(n_views):
        if not sums[v] > 0.0:
            continue
        # The words read since the table was shared, then those that only the shared table has.
        at = _find(own, keys[v])
        at = _following(own, at) if at >= 0 else at
        while at >= 0:
            given = own.values[at + COUNT] * _left(views.decays, v, now - own.cells[at + TIME]) / sums[v]
            out[_word(own, at)] += weights[v + 1] * given
            at = _following(own, at)
        at = _find(shared, keys[v])
        at = _following(shared, at) if at >= 0 else at
        while at >= 0:
            if _find(own, shared.cells[at + KEY]) < 0:
                given = shared.values[at + COUNT] * _left(views.decays, v, now - shared.cells[at + TIME]) / sums[v]
                out[_word(shared, at)] += weights[v + 1] * given
            at = _following(shared, at)


@kernel
def move_table(old, new):
    """Copy all entries of a table into another, empty and larger one."""
    moved = np.empty(old.cells.size >> 2, np.int64)
    for at in range(0, old.cells.size, 4):
        if old.cells[at] != 0:
            there = _insert(new, old.cells[at + KEY])
            moved[at >> 2] = there
            new.values[there + COUNT] = old.values[at + COUNT]
            new.cells[there + TIME] = old.cells[at + TIME]
            new.cells[there + LINK] = old.cells[at + LINK] & ~LOW
    for at in range(0, old.cells.size, 4):
        if old.cells[at] != 0 and _following(old, at) >= 0:
            _set_following(new, moved[at >> 2], moved[_following(old, at) >> 2])


@kernel
def merge_table(own, whole):
    """Put the entries of a reader's own table into a copy of the shared one, whose entries they replace."""
    for slot in range(0, own.cells.size, 4):
        if own.cells[slot] == 0 or _word(own, slot) >= 0:
            continue
        context = _find(whole, own.cells[slot])
        if context < 0:
            context = _insert(whole, own.cells[slot])
        whole.values[context + COUNT] = own.values[slot + COUNT]
        whole.cells[context + TIME] = own.cells[slot + TIME]
        whole.cells[context + LINK] = (own.cells[slot + LINK] & ~LOW) | (whole.cells[context + LINK] & LOW)
        gram = _following(own, slot)
        while gram >= 0:
            there = _find(whole, own.cells[gram])
            if there < 0:
                there = _insert(whole, own.cells[gram])
                whole.cells[there + LINK] = own.cells[gram + LINK] & ~LOW
                _set_following(whole, there, _following(whole, context))
                _set_following(whole, context, there)
            whole.values[there + COUNT] = own.values[gram + COUNT]
            whole.cells[there + TIME] = own.cells[gram + TIME]
            gram = _following(own, gram)


@kernel
def fit_history(rows, shares, logits, squares, rate):
    """One pass of Adagrad over positions in their order, in place; returns the sum of -ln P before each step."""
    n_sources = logits.shape[1]
    weights = np.empty(n_sources)
    loss = 0.0
    for t in range(rows.shape[0]):
        largest = -np.inf
        for s in range(n_sources):
            weights[s] = -np.inf
            if shares[t, s] >= 0.0:
                weights[s] = 0.0
                for f in range(rows.shape[1]):
                    weights[s] += logits[rows[t, f], s]
                largest = max(largest, weights[s])
        total, probability = 0.0, 0.0
        for s in range(n_sources):
            weights[s] = math.exp(weights[s] - largest)
            total += weights[s]
            probability += weights[s] * max(shares[t, s], 0.0)
        probability /= total
        loss -= math.log(probability)
        if rate > 0.0:
            for s in range(n_sources):
                if weights[s] > 0.0:
                    slope = weights[s] / total * (shares[t, s] / probability - 1.0)
                    for f in range(rows.shape[1]):
                        squares[rows[t, f], s] += slope * slope
                        logits[rows[t, f], s] += rate * slope / math.sqrt(squares[rows[t, f], s])
    return loss
