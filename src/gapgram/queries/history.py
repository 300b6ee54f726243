"""What a session has read: the words, and the decayed counts of each view (`kernels.sessions.history`)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gapgram.arguments import checked_whole
from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.errors import UsageError
from gapgram.estimation.history_weights import HistoryWeights
from gapgram.kernels.continuing.in_session import HEAD, Heads, most_probable_read
from gapgram.kernels.sessions import history as kernels
from gapgram.kernels.sessions.count_table import COUNT, CountTable, merge_table, move_table
from gapgram.kernels.sessions.history import MOST_TIED
from gapgram.kernels.sessions.history_gate import HistoryGate
from gapgram.kernels.text.special_words import SPECIAL, START_ID, UNKNOWN_ID
from gapgram.queries.predict import ByModel
from gapgram.text.vocabulary import Vocabulary

SENTENCES_PER_CALL = 64  # between two looks at whether the table is large enough
OWN_ENTRIES = 1 << 12  # beyond which a copy shares what was read instead of copying it
MAX_WORDS = 100_000  # that a history holds; a decayed count of an older word is nearly nothing

NO_SHARES, NO_ROWS = np.empty((0, 0)), np.empty((0, 0), np.int64)


class ReadSentences(NamedTuple):
    """Sentences as ids, one after the other, and where each begins."""

    ids: Ids
    begins: Begins

    def some(self, first: int, last: int) -> ReadSentences:
        """The sentences from one to before another."""
        begins = self.begins[first : last + 1]
        return ReadSentences(self.ids[begins[0] : begins[-1]], begins - begins[0])

    def last_words(self, n: int) -> ReadSentences:
        """The last n ids; of the first sentence there may be only the end."""
        cut = max(self.ids.size - n, 0)
        return ReadSentences(self.ids[cut:], np.append(0, self.begins[self.begins > cut] - cut))


class ContextViews(NamedTuple):
    """What each view has of a context: key, sum of counts, how many words followed; and the weights of all sources.

    tied: [view, word], the words of a view of the longest end.
    """

    keys: Integers
    sums: Floats
    followers: Integers
    tied: Integers
    weights: Floats


class History:
    """The counts of what was read, the words themselves, and how far the views are trusted by now.

    n_known: ids from this one on are of words that the model does not know.
    """

    def __init__(self, weights: HistoryWeights, class_of: Ids, *, max_words: int = MAX_WORDS) -> None:
        if checked_whole("words of a history", max_words) < 2:
            raise UsageError(f"a history of {max_words} words: expected 2 or more")
        self.weights, self.max_words = weights, max_words
        self.views, self.n_known = weights.arrays(class_of), class_of.size
        self.gate = weights.gate()
        self._clear()

    def _clear(self) -> None:
        self._shared, self._own = _empty_table(), _empty_table()
        self._past, self._past_is_shared = kernels.Past(np.zeros(64, np.int32), 0), False
        self.words_read = self.words_held = 0
        self.log: list[ReadSentences | float] = []  # what was read, and shares that were kept

    def copy(self) -> History:
        """Another history that has read the same; what was read is shared until one of them reads on."""
        if self._own.used[0] > OWN_ENTRIES:
            whole = _with_room(_copied(self._shared), int(self._own.used[0]))
            merge_table(self._own, whole)
            self._shared, self._own = whole, _empty_table()
        self._past_is_shared = True
        other = object.__new__(History)
        other.__dict__.update(self.__dict__)
        other._own, other.log = _copied(self._own), list(self.log)
        other.gate = HistoryGate(self.gate.logits.copy(), self.gate.squares.copy())
        return other

    def forget(self, share: float = 1.0) -> None:
        """Forget all, or a share of every count."""
        if not 0.0 <= share <= 1.0:
            raise UsageError(f"forget {share}: expected a share from 0 to 1")
        if share == 1.0:
            self._clear()
            self.gate = self.weights.gate()
        elif share > 0.0:
            self._keep(1.0 - share)

    def _keep(self, kept: float) -> None:
        self._shared, self._own = _copied(self._shared), _copied(self._own)
        for table in (self._shared, self._own):
            table.values[COUNT::4] *= kept
        self.log.append(kept)

    def score(self, text: ReadSentences, log10_probs: Floats, *, learn: bool, skipped: int = 0) -> Floats:
        """log10 of the probability of every position, those of the model being given; each word is learned after it,
        of one sentence those after `skipped` positions, which were read last."""
        out = np.empty(text.ids.size)
        for first, last in self._until_full(text) if learn else [(0, text.begins.size - 1)]:
            at = slice(int(text.begins[first]), int(text.begins[last]))
            some = text.some(first, last)
            self._run(some, log10_probs[at], out[at], NO_SHARES, NO_ROWS, learn=learn, steps=learn, skipped=skipped)
            if self.words_held > self.max_words:
                self._drop_older()
        return out

    def _until_full(self, text: ReadSentences) -> Iterator[tuple[int, int]]:
        """Bounds of runs of sentences, the history being full after each but the last, however a text is cut."""
        first, n_sentences = 0, text.begins.size - 1
        while first < n_sentences:
            words_left = self.max_words - self.words_held
            last = min(int(np.searchsorted(text.begins, text.begins[first] + words_left, side="right")), n_sentences)
            yield first, max(last, first + 1)
            first = max(last, first + 1)

    def sources(
        self, text: ReadSentences, log10_probs: Floats, *, learn: bool = True
    ) -> tuple[Floats, Integers]:
        """What each source gives each position, -1 where it has no weight, and its features; the gate stays."""
        n, n_views = text.ids.size, len(self.weights.views)
        shares, rows = np.empty((n, n_views + 1)), np.empty((n, 2 * n_views + 3), np.int64)
        self._run(text, log10_probs, np.empty(n), shares, rows, learn=learn, steps=False)
        return shares, rows

    def _run(
        self, text: ReadSentences, log10_probs: Floats, out: Floats, shares: Floats, rows: Integers, *,
        learn: bool, steps: bool, skipped: int = 0,
    ) -> None:  # fmt: skip
        n_sentences = text.begins.size - 1
        for first in range(0, n_sentences, SENTENCES_PER_CALL):
            some = text.some(first, min(first + SENTENCES_PER_CALL, n_sentences))
            at = slice(int(text.begins[first]), int(text.begins[first]) + some.ids.size)
            if learn:
                self._make_room(some.ids.size)
                self._note(some, skipped)
            self.words_read = kernels.score_history(
                *self._read, some.ids, some.begins, skipped, self.n_known, log10_probs[at], self.words_read, learn,
                steps, out[at], shares[at], rows[at],
            )  # fmt: skip

    def _make_room(self, n: int) -> None:
        """Let tables and the words take n words more; what copies share is copied."""
        self._own = _with_room(self._own, 2 * len(self.weights.views) * n)
        words, begin = self._past
        size = max(words.size, 1 << (self.words_read + n - begin).bit_length())
        if self._past_is_shared or size > words.size:
            numbers, larger = np.arange(begin, self.words_read), np.zeros(size, np.int32)
            larger[numbers & size - 1] = words[numbers & words.size - 1]
            self._past, self._past_is_shared = kernels.Past(larger, begin), False

    def _note(self, text: ReadSentences, skipped: int) -> None:
        last = self.log[-1] if self.log and skipped else None  # with which this goes on
        if isinstance(last, ReadSentences) and np.array_equal(last.ids[-skipped:], text.ids[:skipped]):
            ids = np.concatenate([last.ids, text.ids[skipped:]])
            self.log[-1] = ReadSentences(ids, np.append(last.begins[:-1], ids.size))
        else:
            self.log.append(ReadSentences(text.ids[skipped:], np.append(0, text.begins[1:] - skipped)))
        self.words_held += text.ids.size - skipped

    def _drop_older(self) -> None:
        """Begin anew with the latest words, a third as many as may be held: to count them again takes time."""
        kept: list[ReadSentences | float] = []
        words_left = self.max_words // 3
        for entry in reversed(self.log):
            if isinstance(entry, ReadSentences):
                entry = entry.last_words(words_left)
                words_left -= entry.ids.size
            kept.append(entry)
            if words_left <= 0:
                break
        self.replay(kept[::-1], self.words_read)

    def replay(self, log: list[ReadSentences | float], words_read: int) -> None:
        """Count, and forget, all that a log says, which ends when so many words were read; the gate stays as it is."""
        self._clear()
        readings = [entry.ids for entry in log if isinstance(entry, ReadSentences)]
        self.words_read = words_read - sum(int((ids != START_ID).sum()) for ids in readings)
        self._past = self._past._replace(begin=self.words_read)
        for entry in log:
            if isinstance(entry, ReadSentences):
                self._count(entry)
            else:
                self._keep(entry)

    def _count(self, text: ReadSentences) -> None:
        """Count sentences that nobody asks for the probability of."""
        self._make_room(text.ids.size)
        self.words_read = kernels.read_history(
            self.views, self._shared, self._own, self._past, text.ids, text.begins, self.words_read
        )
        self.words_held += text.ids.size
        self.log.append(text)

    def read_since(self, words_read: int) -> Integers:
        """The different words that were read since so many had been, or a few more."""
        readings, n = [np.empty(0, np.int32)], self.words_read - words_read
        for entry in reversed(self.log):
            if n <= 0:
                break
            if isinstance(entry, ReadSentences):
                readings.append(entry.ids)
                n -= int((entry.ids != START_ID).sum())
        return np.unique(np.concatenate(readings)).astype(np.int64)

    # After a context.

    def after(self, context: Ids) -> ContextViews:
        """What the views have of a context, and the weights of all sources."""
        n = len(self.weights.views)
        views = ContextViews(
            np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty((n, MOST_TIED), np.int64),
            np.empty(n + 1),
        )  # fmt: skip
        kernels.weigh_context(*self._read, context, self.words_read, *views)
        return views

    @property
    def _read(self) -> tuple[Any, ...]:
        """What kernels take of it."""
        return self.views, self.gate, self._shared, self._own, self._past

    def listed(self, before: ContextViews, view: int) -> tuple[Integers, Floats]:
        """The words that followed a context in a view, and the probability that it gives each."""
        n = int(before.followers[view]) if before.sums[view] > 0.0 else 0
        if n and self.weights.views[view].longest:
            return before.tied[view, :n], np.full(n, 1.0 / before.sums[view])
        words, counts = np.empty(n, np.int64), np.empty(n)
        if n:
            n_listed = kernels.list_words(
                self.views, self._shared, self._own, view, before.keys[view], self.words_read, words, counts
            )
            counts[:n_listed] /= before.sums[view]
            return words[:n_listed], counts[:n_listed]
        return words, counts

    def likely(
        self, context: Ids, by_model: ByModel, heads: Heads, k: int, *, special: bool
    ) -> tuple[Integers, Floats, bool]:
        """The k most probable words after a context are among some words, with their probabilities, if that is true."""
        predictor, seen, *others = by_model
        words, probabilities, whole = most_probable_read(
            context, seen, predictor.arrays, predictor.block_counts, *others, *self._read, self.words_read, heads, k,
            special,
        )  # fmt: skip
        return words, probabilities, whole

    def given(self, before: ContextViews, words: Integers) -> Floats:
        """[word, view]: the probability that each view gives each word after a context."""
        given = np.empty((words.size, before.sums.size))
        kernels.give_words(
            self.views, self._shared, self._own, before.keys, before.sums, before.followers, before.tied,
            self.words_read, words, given,
        )  # fmt: skip
        return given


KEPT = 256  # contexts of which the first words are kept: a power of two


def empty_heads() -> Heads:
    """Nothing is kept of long lists."""
    keys, times = np.zeros((2, KEPT), np.int64)
    return Heads(keys, times, np.empty(KEPT), np.empty((KEPT, HEAD), np.int64), np.empty((KEPT, HEAD)))


def _empty_table(slots: int = 64) -> CountTable:
    cells = np.zeros(4 * slots, np.int64)
    return CountTable(cells, cells.view(np.float64), np.zeros(1, np.int64))


def _copied(table: CountTable) -> CountTable:
    cells = table.cells.copy()
    return CountTable(cells, cells.view(np.float64), table.used.copy())


def _with_room(table: CountTable, entries: int) -> CountTable:
    """The same table, large enough for so many entries more."""
    slots = table.cells.size // 4
    while slots < 2 * (int(table.used[0]) + entries):
        slots *= 2
    if 4 * slots == table.cells.size:
        return table
    larger = _empty_table(slots)
    move_table(table, larger)
    return larger


class SessionVocabulary:
    """The words of a model and, after them, those that a session read first."""

    def __init__(self, known: Vocabulary, own: Iterable[str] = ()) -> None:
        self.known, self.own = known, list(own)
        self._ids = {word: len(known) + i for i, word in enumerate(self.own)}

    def id(self, word: str) -> int:
        """The id of a word; 0 where neither the model nor the session knows it."""
        return self.known.id(word) or self._ids.get(word, UNKNOWN_ID)

    def learned_id(self, word: str) -> int:
        """The id of a word that the model does not know; a new one where the session has not met it."""
        if word in SPECIAL:
            return UNKNOWN_ID
        if word not in self._ids:
            self._ids[word] = len(self)
            self.own.append(word)
        return self._ids[word]

    def copy(self) -> SessionVocabulary:
        """Another that can learn other words."""
        return SessionVocabulary(self.known, self.own)

    def __getitem__(self, word_id: int) -> str:
        return self.known[word_id] if word_id < len(self.known) else self.own[word_id - len(self.known)]

    def __contains__(self, word: object) -> bool:
        return word in self.known or word in self._ids

    def __iter__(self) -> Iterator[str]:
        yield from self.known
        yield from self.own

    def __len__(self) -> int:
        return len(self.known) + len(self.own)


class ReadWords:
    """The different words that were read, by their letters, for completing them."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._ids: dict[str, int] = {}

    def add(self, vocabulary: SessionVocabulary, ids: Iterable[int]) -> None:
        """Remember the words of some ids."""
        new = {vocabulary[i]: i for i in ids if vocabulary[i] not in self._ids}
        self._ids |= new
        if len(new) > len(self._words) // 8:
            self._words = sorted(self._ids)
            return
        for word in new:
            insort(self._words, word)

    def starting_with(self, prefix: str) -> list[int]:
        """The ids of the words that start so."""
        first = bisect_left(self._words, prefix)
        ids = []
        for word in self._words[first:]:
            if not word.startswith(prefix):
                break
            ids.append(self._ids[word])
        return ids
