"""The views of a history, and how far each is trusted: shipped, or fitted on documents (`training.fit_history`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.kernels.sessions.count_table import AGO
from gapgram.kernels.sessions.history import MOST_OFFSETS, Views
from gapgram.kernels.sessions.history_gate import AGES, FOLLOWERS, SUMS, HistoryGate, n_history_rows

MOST_DISTANCE = 64  # of a word that a view looks at
LEAST_SQUARE = 0.05  # of a logit that no text has moved, so that its first step is no leap


@dataclass(frozen=True)
class View:
    """One way to look back: at the words that followed the words, or the classes of words, at some distances.

    decay: what is left of a count after one more word. boost: a word whose id has b bits counts 2 ** (boost * b).
    longest: only the words count before which most words were the same where they followed the context last.
    """

    offsets: tuple[int, ...]
    decay: float
    of_classes: bool = False
    boost: float = 0.0
    longest: bool = False

    @property
    def half_life(self) -> float:
        """After so many words a count is half of what it was."""
        return -math.log(2) / math.log(self.decay)

    def with_half_life(self, factor: float) -> View:
        """The same view with a half-life so many times as long."""
        return replace(self, decay=self.decay ** (1 / factor))

    def __str__(self) -> str:
        """As a pattern; words by themselves with how far they are remembered.

        >>> str(View((1, 3), 0.999)), str(View((1,), 0.999, of_classes=True)), str(View((), 0.98))
        ('1011', '{11}', '1 (34 words)')
        >>> str(LONGEST_END)
        'longest end'
        """
        if self.longest:
            return "longest end"
        kept = "".join("1" if k in self.offsets else "0" for k in range(max(self.offsets, default=0), -1, -1))
        kept = kept[:-1] + "1"
        if not self.offsets:
            return f"{kept} ({self.half_life:,.0f} words)"
        return f"{{{kept}}}" if self.of_classes else kept


LONGEST_END = View(tuple(range(1, MOST_OFFSETS + 1)), 0.9999, longest=True)
VIEWS = (
    View((), 0.9997, boost=0.3),
    View((), 0.99, boost=0.3),
    View((1,), 0.9995),
    View((1,), 0.99),
    View((1, 2), 0.9999),
    View((1, 2, 3), 0.9999),
    View((2,), 0.999),
    View((1,), 0.999, of_classes=True),
    View((1, 2), 0.9995, of_classes=True),
    LONGEST_END,
)
VIEWS_OF_WORDS = tuple(view for view in VIEWS if not view.of_classes)


@dataclass(frozen=True)
class HistoryWeights:
    """How far views are trusted beside a model: logits and squares [row, source] of a gate
    (`kernels.sessions.history_gate`).

    squares: the larger, the less a step of the gate moves a logit while a session reads.
    fitted_on: where they come from.
    """

    views: tuple[View, ...]
    logits: Floats
    squares: Floats
    fitted_on: str

    @classmethod
    def zeros(cls, views: tuple[View, ...]) -> HistoryWeights:
        """To begin fitting with."""
        shape = n_history_rows(len(views)), len(views) + 1
        return cls(views, np.zeros(shape), np.full(shape, LEAST_SQUARE), "nothing")

    @classmethod
    def shipped(cls, *, classes: bool) -> HistoryWeights:
        """Those that come with the program, for models with and without classes; fitted on several texts."""
        return _shipped(classes)

    @classmethod
    def checked(cls, views: tuple[View, ...], logits: Floats, squares: Floats) -> HistoryWeights:
        """Those of a model file, fitted on its documents."""
        for view in views:
            far = len(view.offsets) > MOST_OFFSETS or not all(1 <= k <= MOST_DISTANCE for k in view.offsets)
            far = far or (view.longest and view != replace(LONGEST_END, decay=view.decay))
            if far or not 0.0 < view.decay < 1.0 or not 0.0 <= view.boost <= 1.0:
                raise ValueError(f"a view that no history has: {view}")
        if logits.shape != (n_history_rows(len(views)), len(views) + 1) or squares.shape != logits.shape:
            raise ValueError(f"weights of shape {list(logits.shape)} for {len(views)} views of a history")
        return cls(views, logits, squares, "documents")

    def without_longest(self) -> HistoryWeights:
        """Those of readers that see the last few words alone: as if no longest end were ever found."""
        n, logits = len(self.views), self.logits.copy()
        for v, view in enumerate(self.views):
            if view.longest:  # every prediction has one row of how many words were read
                logits[n * (SUMS + FOLLOWERS) :][:AGES] += logits[v * SUMS] + logits[n * SUMS + v * FOLLOWERS]
        is_kept = np.array([not view.longest for view in self.views], np.bool_)
        rows = np.concatenate([np.repeat(is_kept, SUMS), np.repeat(is_kept, FOLLOWERS)])
        rows = np.append(rows, np.ones(len(logits) - rows.size, np.bool_))
        columns, views = np.append(True, is_kept), tuple(view for view in self.views if not view.longest)
        some = np.ix_(rows, columns)
        return HistoryWeights(views, logits[some], self.squares[some], self.fitted_on)

    def arrays(self, class_of: Ids) -> Views:
        """As kernels take them, for a model whose words have these classes."""
        offsets = np.zeros((len(self.views), MOST_OFFSETS), np.int64)
        for v, view in enumerate(self.views):
            offsets[v, : len(view.offsets)] = view.offsets
        return Views(
            offsets,
            np.array([view.of_classes for view in self.views]),
            np.array([view.longest for view in self.views]),
            np.array([[view.decay**k for k in (*range(AGO), *range(0, AGO * AGO, AGO))] for view in self.views]),
            np.array([[2.0 ** (view.boost * k) for k in range(32)] for view in self.views]),
            np.ascontiguousarray(class_of, np.int32),
        )

    def gate(self) -> HistoryGate:
        """A gate to begin reading with, which may change."""
        return HistoryGate(np.array(self.logits, np.float64), np.array(self.squares, np.float64))


@cache
def _shipped(classes: bool) -> HistoryWeights:
    from importlib.resources import files

    views, name = (VIEWS, "history_classes.npy") if classes else (VIEWS_OF_WORDS, "history_words.npy")
    with files("gapgram.estimation").joinpath(name).open("rb") as file:
        gate = np.load(file, allow_pickle=False).astype(np.float64)
    gate.flags.writeable = False
    return HistoryWeights(views, gate[0], gate[1], "shipped")
