"""What the sessions of several streams have read: each learns its own, and is mixed into the probabilities of a model.

For a card (`gapgram.cuda.torch_streams`) what was read is laid out anew after each segment: of each view and context a
list of the words that followed, found by a hash of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.errors import UsageError
from gapgram.kernels.sessions.count_table import AGO
from gapgram.kernels.sessions.history_gate import AGES, FOLLOWERS, SUMS
from gapgram.kernels.text.special_words import END_ID, START_ID
from gapgram.queries.history import History, ReadSentences

if TYPE_CHECKING:
    from gapgram.queries.language_model import LanguageModel


class StreamSessions:
    """A history for each of n streams of one model, without the longest end: lists are by the last few words."""

    def __init__(self, model: LanguageModel, n: int) -> None:
        self._model = model
        history = model.session().history
        weights, class_of = history.weights.without_longest(), history.views.class_of
        self.histories = [History(weights, class_of) for _ in range(n)]

    def __len__(self) -> int:
        return len(self.histories)

    def learn(self, stream: int, words: Ids) -> None:
        """Learn a sentence, the ids of its words, in a stream."""
        self.check(stream)
        ids = np.concatenate([[START_ID], words, [END_ID]]).astype(np.int32)
        begins = np.array([0, ids.size])
        log10_probs = self._model.score_checked_ids(ids, begins)
        self.histories[stream].score(ReadSentences(ids, begins), log10_probs, learn=True)

    def forget(self, stream: int, share: float = 1.0) -> None:
        """Forget what a stream has read, or a share of it."""
        self.check(stream)
        self.histories[stream].forget(share)

    def check(self, stream: int) -> None:
        """Refuse a stream that there is not."""
        if not 0 <= stream < len(self):
            raise UsageError(f"stream {stream}: expected 0 to {len(self) - 1}; FusionModel(…, streams=N) makes N")

    def mixed(self, stream: int, context: Ids, given: Floats) -> Floats:
        """The probabilities of all words after a context, those of the model being given."""
        history = self.histories[stream]
        before = history.after(context)
        out: Floats = before.weights[0] * given
        for view in range(before.sums.size):
            words, shares = history.listed(before, view)
            out[words] += before.weights[view + 1] * shares
        return out


class SessionLists(NamedTuple):
    """What a history holds of each context.

    slots       int64 [slot, 4], a table with open addressing: a hash of view and context, 0 where it is empty; and
                as int32 where the list of a context begins, how many words it has, and two rows of the gate
    following   int32 [.., 2]: a word, and the bits of its share as float32
    logits      float64 [row, source], of the gate
    age_row     that of how many words were read
    """

    slots: Integers
    following: Ids
    logits: Floats
    age_row: int


def lists_of(history: History) -> SessionLists:
    """Lay out what a history has read, by its log: counts decay to what they are now."""
    ids, firsts, factors = _readings(history)
    at = np.flatnonzero(ids != START_ID)
    words, ago = ids[at].astype(np.int64), np.arange(at.size)[::-1] + 1
    views, n_views = history.views, len(history.weights.views)
    far = np.minimum(ago // AGO, AGO - 1)
    parts = []
    for v in range(n_views):
        keys, is_there = _keys_of(history, v, ids, firsts, at)
        decays = views.decays[v]
        left = np.where(ago < AGO, decays[np.minimum(ago, AGO - 1)], decays[ago % AGO] * decays[AGO + far])
        counts = factors[at] * left * views.boosts[v, np.frexp(words.astype(float))[1]]
        parts.append(_grouped(keys[is_there], words[is_there], counts[is_there], v, n_views))
    sizes = np.cumsum([0, *(len(following) for _, _, following in parts)])
    keys = np.concatenate([keys for keys, _, _ in parts])
    contexts = np.concatenate([own for _, own, _ in parts])
    contexts[:, 0] += np.repeat(sizes[:-1], [len(own) for _, own, _ in parts])
    slots = np.zeros((1 << int(2 * keys.size).bit_length(), 4), np.int64)
    places = _places(keys, len(slots))
    slots[places, 0] = keys
    slots[places, 1:3] = np.ascontiguousarray(contexts).view(np.int64)
    age_row = n_views * (SUMS + FOLLOWERS) + int(_buckets(np.array([history.words_read]), AGES)[0])
    following = np.concatenate([following for _, _, following in parts])
    return SessionLists(slots, following, history.gate.logits, age_row)


def _readings(history: History) -> tuple[Ids, Integers, Floats]:
    """Of all positions that were read: ids, where their sentences begin, and what was kept of their counts."""
    texts, firsts, factors, n = [np.empty(0, np.int32)], [np.empty(0, np.int64)], [np.empty(0)], 0
    for entry in history.log:
        if isinstance(entry, ReadSentences):
            texts.append(entry.ids)
            firsts.append(np.repeat(entry.begins[:-1], np.diff(entry.begins)) + n)
            factors.append(np.ones(entry.ids.size))
            n += entry.ids.size
        else:
            factors = [own * entry for own in factors]
    return np.concatenate(texts), np.concatenate(firsts), np.concatenate(factors)


def _keys_of(history: History, v: int, ids: Ids, firsts: Integers, at: Integers) -> tuple[Integers, Any]:
    """The key of the context of view v before some positions, and where there is one (`history.context_key`)."""
    views = history.views
    keys, is_there = np.full(at.size, _mixed(np.array([v + 1]), np.array([0]))[0]), np.ones(at.size, bool)
    for offset in views.offsets[v][views.offsets[v] > 0]:
        is_there &= at - offset >= firsts[at]
        words = ids[np.maximum(at - offset, 0)]
        if views.of_classes[v]:
            inside = np.minimum(words, views.class_of.size - 1)
            words = np.where(words < views.class_of.size, views.class_of[inside], 0)
        keys = _mixed(keys, words)
    return keys, is_there


def _mixed(a: Integers, b: Any) -> Integers:
    """`kernels.sessions.count_table.mixed` of arrays."""
    h = a.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ (b + 7).astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(32)
    keys: Integers = (h | np.uint64(1)).view(np.int64)
    return keys


def _grouped(keys: Integers, words: Integers, counts: Floats, v: int, n_views: int) -> tuple[Any, Any, Any]:
    """(keys, contexts, following) of a view, each context once."""
    order = np.lexsort((words, keys))
    keys, words, counts = keys[order], words[order], counts[order]
    is_new = np.ones(keys.size, bool)
    is_new[1:] = keys[1:] != keys[:-1]
    is_word = is_new.copy()
    is_word[1:] |= words[1:] != words[:-1]
    grams = np.flatnonzero(is_word)
    begins = np.flatnonzero(is_new[grams])
    sizes = np.diff(np.append(begins, grams.size))
    of_grams = np.add.reduceat(counts, grams) if grams.size else np.empty(0)
    sums = np.add.reduceat(of_grams, begins) if begins.size else np.empty(0)
    following = np.empty((grams.size, 2), np.int32)
    following[:, 0] = words[grams]
    following[:, 1] = (of_grams / np.repeat(sums, sizes)).astype(np.float32).view(np.int32)
    rows = v * SUMS + _buckets(sums, SUMS), n_views * SUMS + v * FOLLOWERS + np.minimum(sizes, FOLLOWERS - 1)
    return keys[grams][begins], np.column_stack([begins, sizes, *rows]).astype(np.int32), following


def _buckets(x: Any, most: int) -> Integers:
    """`kernels.sessions.history_gate.bucket` of arrays."""
    buckets = 1 + np.clip(np.floor(np.log(np.maximum(x, 1e-300)) * 2.1276595744680851) + 3, 0, most - 2)
    found: Integers = np.where(x > 0.0, buckets, 0).astype(np.int64)
    return found


def _places(keys: Integers, slots: int) -> Integers:
    """The slots of different keys, each the first free one from its own on."""
    places, is_free = keys >> 7 & slots - 1, np.ones(slots, bool)
    waiting = np.arange(keys.size)
    while waiting.size:
        own = places[waiting]
        _, firsts = np.unique(own, return_index=True)
        placed = firsts[is_free[own[firsts]]]
        is_free[own[placed]] = False
        waiting = np.delete(waiting, placed)
        places[waiting] = places[waiting] + 1 & slots - 1
    return places
