"""What a session has read: the words, and the decayed counts that each view makes of them (`kernels.history`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.errors import UsageError
from gapgram.kernels import history as kernels
from gapgram.kernels.gate import WORD_BUCKETS
from gapgram.kernels.history import AGES, AGO, FOLLOWERS, MOST_OFFSETS, SUMS, CountTable, Views
from gapgram.kernels.special_words import START_ID

SENTENCES_PER_CALL = 64  # between two looks at whether the table is large enough
OWN_ENTRIES = 1 << 12  # beyond which a copy shares what was read instead of copying it
MAX_WORDS = 100_000  # that a history holds; a decayed count of an older word is nearly nothing

NO_SHARES, NO_ROWS = np.empty((0, 0)), np.empty((0, 0), np.int64)


@dataclass(frozen=True)
class View:
    """One way to look back: at the words that followed the words, or the classes of words, at some distances.

    decay: what is left of a count after one more word. boost: a word whose id has b bits counts 2 ** (boost * b).
    """

    offsets: tuple[int, ...]
    decay: float
    of_classes: bool = False
    boost: float = 0.0

    @property
    def half_life(self) -> float:
        """After so many words a count is half of what it was."""
        return -math.log(2) / math.log(self.decay)

    def __str__(self) -> str:
        """As a pattern; words by themselves with how far they are remembered.

        >>> str(View((1, 3), 0.999)), str(View((1,), 0.999, of_classes=True)), str(View((), 0.98))
        ('1011', '{11}', '1 (34 words)')
        """
        kept = "".join("1" if k in self.offsets else "0" for k in range(max(self.offsets, default=0), -1, -1))
        kept = kept[:-1] + "1"
        if not self.offsets:
            return f"{kept} ({self.half_life:,.0f} words)"
        return f"{{{kept}}}" if self.of_classes else kept


VIEWS = (
    View((), 0.999, boost=0.3),
    View((), 0.98, boost=0.3),
    View((1,), 0.9995),
    View((1, 2), 0.9999),
    View((1, 2, 3), 0.9999),
    View((2,), 0.999),
    View((3,), 0.999),
    View((1,), 0.999, of_classes=True),
    View((1, 2), 0.9995, of_classes=True),
)
VIEWS_OF_WORDS = tuple(view for view in VIEWS if not view.of_classes)


@dataclass(frozen=True)
class HistoryWeights:
    """How far views are trusted beside a model: logits [row, source] (`kernels.history`), and where they come from."""

    views: tuple[View, ...]
    logits: Floats
    fitted_on: str

    @classmethod
    def zeros(cls, views: tuple[View, ...]) -> HistoryWeights:
        """To begin fitting with."""
        n_rows = len(views) * (SUMS + FOLLOWERS) + AGES + 2 * WORD_BUCKETS
        return cls(views, np.zeros((n_rows, len(views) + 1)), "nothing")

    @classmethod
    def shipped(cls, *, classes: bool) -> HistoryWeights:
        """Those that come with the program, for models with and without classes; fitted on several texts."""
        return _shipped(classes)

    def arrays(self, class_of: Ids) -> Views:
        """As kernels take them, for a model whose words have these classes."""
        offsets = np.zeros((len(self.views), MOST_OFFSETS), np.int64)
        for v, view in enumerate(self.views):
            offsets[v, : len(view.offsets)] = view.offsets
        return Views(
            offsets,
            np.array([view.of_classes for view in self.views]),
            np.array([view.decay ** np.arange(AGO) for view in self.views]),
            np.array([2.0 ** (view.boost * np.arange(32)) for view in self.views]),
            np.ascontiguousarray(class_of, np.int32),
            np.ascontiguousarray(self.logits, np.float64),
        )


@cache
def _shipped(classes: bool) -> HistoryWeights:
    views, name = (VIEWS, "history_classes.npy") if classes else (VIEWS_OF_WORDS, "history_words.npy")
    with files("gapgram.queries").joinpath(name).open("rb") as file:
        logits = np.load(file, allow_pickle=False).astype(np.float64)
    logits.flags.writeable = False
    return HistoryWeights(views, logits, "shipped")


class ReadSentences(NamedTuple):
    """Sentences as ids, one after the other, and where each begins."""

    ids: Ids
    begins: Begins

    def some(self, first: int, last: int) -> ReadSentences:
        """The sentences from one to before another."""
        begins = self.begins[first : last + 1]
        return ReadSentences(self.ids[begins[0] : begins[-1]], begins - begins[0])


class History:
    """The counts of what was read, the words themselves, and whatever share of them was forgotten.

    n_known: ids from this one on are of words that the model does not know.
    """

    def __init__(self, weights: HistoryWeights, class_of: Ids, *, max_words: int = MAX_WORDS) -> None:
        if max_words < 2:
            raise UsageError(f"a history of {max_words} words: expected 2 or more")
        self.weights, self.max_words = weights, max_words
        self.views, self.n_known = weights.arrays(class_of), class_of.size
        self._clear()

    def _clear(self) -> None:
        self._shared, self._own = _empty_table(), _empty_table()
        self.words_read, self._replaying = 0, False
        self.log: list[ReadSentences | float] = []  # what was read, and shares that were kept

    def copy(self) -> History:
        """Another history that has read the same; what was read is shared until one of them reads on."""
        if self._own.used[0] > OWN_ENTRIES:
            whole = _with_room(_copied(self._shared), int(self._own.used[0]))
            kernels.merge_table(self._own, whole)
            self._shared, self._own = whole, _empty_table()
        other = object.__new__(History)
        other.__dict__.update(self.__dict__)
        other._own, other.log = _copied(self._own), list(self.log)
        return other

    def forget(self, share: float = 1.0) -> None:
        """Forget all, or a share of every count."""
        if not 0.0 <= share <= 1.0:
            raise UsageError(f"forget {share}: expected a share from 0 to 1")
        if share == 1.0:
            self._clear()
        elif share > 0.0:
            self._keep(1.0 - share)

    def _keep(self, kept: float) -> None:
        self._shared, self._own = _copied(self._shared), _copied(self._own)
        for table in (self._shared, self._own):
            table.values[kernels.COUNT :: 4] *= kept
        self.log.append(kept)

    def read(self, text: ReadSentences) -> None:
        """Learn sentences."""
        self._run(text, np.zeros(text.ids.size), True, np.empty(text.ids.size), NO_SHARES, NO_ROWS)

    def score(self, text: ReadSentences, log10_probs: Floats, *, learn: bool) -> Floats:
        """log10 of the probability of every position, those of the model being given; each word is learned after it."""
        out = np.empty(text.ids.size)
        self._run(text, log10_probs, learn, out, NO_SHARES, NO_ROWS)
        return out

    def sources(self, text: ReadSentences, log10_probs: Floats) -> tuple[Floats, Integers]:
        """What each source gives each position, and its features, for fitting; the words are learned."""
        n, n_views = text.ids.size, len(self.weights.views)
        shares, rows = np.empty((n, n_views + 1)), np.empty((n, 2 * n_views + 3), np.int64)
        self._run(text, log10_probs, True, np.empty(n), shares, rows)
        return shares, rows

    def _run(
        self, text: ReadSentences, log10_probs: Floats, learn: bool, out: Floats, shares: Floats, rows: Integers
    ) -> None:
        n_sentences = text.begins.size - 1
        step = max(1, min(SENTENCES_PER_CALL, self.max_words // SENTENCES_PER_CALL))
        for first in range(0, n_sentences, step):
            some = text.some(first, min(first + step, n_sentences))
            at = slice(int(text.begins[first]), int(text.begins[first]) + some.ids.size)
            if learn:
                self._own = _with_room(self._own, 2 * len(self.weights.views) * some.ids.size)
                self.log.append(some)
            self.words_read = kernels.score_history(
                self.views, self._shared, self._own, some.ids, some.begins, self.n_known, log10_probs[at],
                self.words_read, learn, out[at], shares[at], rows[at],
            )  # fmt: skip
            if learn and not self._replaying:
                self._trim()

    def _trim(self) -> None:
        """Begin anew with the latest half of what was read, once there is more than may be."""
        if self._logged_words() <= self.max_words:
            return
        kept: list[ReadSentences | float] = []
        n_words = 0
        for entry in reversed(self.log):
            kept.append(entry)
            n_words += entry.ids.size if isinstance(entry, ReadSentences) else 0
            if n_words >= self.max_words // 2:
                break
        self.replay(kept[::-1], self.words_read)

    def _logged_words(self) -> int:
        return sum(entry.ids.size for entry in self.log if isinstance(entry, ReadSentences))

    def replay(self, log: list[ReadSentences | float], words_read: int) -> None:
        """Read, and forget, all that a log says, which ends when so many words were read."""
        self._clear()
        parts = [entry.ids for entry in log if isinstance(entry, ReadSentences)]
        self.words_read = words_read - sum(int((ids != START_ID).sum()) for ids in parts)
        self._replaying = True
        for entry in log:
            if isinstance(entry, ReadSentences):
                self.read(entry)
            else:
                self._keep(entry)
        self._replaying = False

    def spread(self, context: Ids, n_words: int) -> tuple[Floats, Floats]:
        """(what the views give every word after a context, the weight of each source)."""
        out = np.zeros(n_words)
        n_views = len(self.weights.views)
        weights = np.empty(n_views + 1)
        kernels.spread(
            self.views, self._shared, self._own, context, self.words_read, out, weights, np.empty(n_views)
        )
        return out, weights

    def contributions(self, text: ReadSentences, log10_probs: Floats) -> Floats:
        """[position, source]: the probability that each source gives; -1 where it has no weight. Nothing is learned."""
        n_views = len(self.weights.views)
        shares = np.empty((text.ids.size, n_views + 1))
        rows = np.empty((text.ids.size, 2 * n_views + 3), np.int64)
        self._run(text, log10_probs, False, np.empty(text.ids.size), shares, rows)
        return shares


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
    kernels.move_table(table, larger)
    return larger
