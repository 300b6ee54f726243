"""How large a grown model may be, and which grams stay where it is larger."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from gapgram.arrays import Floats, Integers, Mask, Singles
from gapgram.errors import UsageError
from gapgram.kernels.backoff.choose import Chosen, choose
from gapgram.kernels.tables.arrays import N_GRAMS
from gapgram.models.arpa.growing.fitting import GrownGrams
from gapgram.models.model import Model
from gapgram.pattern import Pattern
from gapgram.system.memory import default_memory, parse_size, show_size
from gapgram.text.vocabulary import Vocabulary

_WORTH = (-40.0, 20.0)  # log of the nats that a gram, or a byte, may be worth at least where there is room for some
_HALVINGS = 30
_NEARLY = 0.998  # of the room: enough
_FIGURE_BYTES = 11  # about, of a logarithm
_FREQUENT = 3000  # words
_GROWING_BYTES = 200  # of memory for each gram that there is room for
_HEADER_BYTES = 400  # of a file, at most, beside its grams


@dataclass(frozen=True)
class Limit:
    """What a model may take: so many grams, or an ARPA file of so many bytes before it is compressed.

    room: grams, or bytes. of_bytes: which of the two. word_bytes: of each word of the vocabulary.
    """

    room: int
    of_bytes: bool
    word_bytes: Integers

    @classmethod
    def of_number(cls, model: Model, asked: str | int, order: int) -> Limit:
        """So many grams, or so many times as many as mkn has."""
        match = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*(x?)\s*", str(asked))
        if not match or (not match[2] and "." in match[1]):
            what = "a number such as 1000000, or 4x: 4 times those of mkn"
            raise UsageError(f"grams {str(asked)[:80]!r}: expected {what}")
        room = int(float(match[1]) * (contiguous_grams(model, order) if match[2] else 1))
        if room < len(model.vocabulary):
            raise UsageError(
                f"grams {asked} are {room:,}: the words alone are {len(model.vocabulary):,}; ask for more, or train "
                "with a smaller vocabulary (--vocab-limit)"
            )
        return cls(room, False, _word_bytes(model.vocabulary))

    @classmethod
    def of_size(cls, vocabulary: Vocabulary, n_bytes: int) -> Limit:
        """A file of so many bytes."""
        word_bytes = _word_bytes(vocabulary)
        least = int((word_bytes + 2 * _FIGURE_BYTES + 3).sum()) + _HEADER_BYTES
        if n_bytes < least:
            raise UsageError(
                f"size {n_bytes:,} bytes: the words alone, without a gram of two, take about {least:,} "
                f"({show_size(least)}): ask for more, or train with a smaller vocabulary (--vocab-limit)"
            )
        return cls(n_bytes - _HEADER_BYTES, True, word_bytes)

    @property
    def _gram_bytes(self) -> float:
        """About how many bytes the line of a gram has: of two and a half words, most of them frequent."""
        return 2.5 * (float(self.word_bytes[:_FREQUENT].mean()) + 1) + 2 * _FIGURE_BYTES

    @property
    def grams(self) -> int:
        """About how many grams have room."""
        return int(self.room / self._gram_bytes) if self.of_bytes else self.room

    @property
    def bytes(self) -> int:
        """About how large the file will be."""
        return self.room + _HEADER_BYTES if self.of_bytes else int(self.room * self._gram_bytes)

    def costs(self, fit: GrownGrams) -> tuple[Integers, Integers]:
        """What each gram takes, and what more where another extends it.

        Of bytes those of its line, trailing zeros of its figures included; a backoff of 1 is one byte.
        """
        if not self.of_bytes:
            return np.ones(len(fit.words), np.int64), np.zeros(len(fit.words), np.int64)
        words: Integers = self.word_bytes[fit.words] + 1
        for length in range(2, fit.order + 1):
            own = slice(int(fit.base[length - 1]), int(fit.base[length]))
            words[own] += words[fit.parents[own]]
        grams = fit.grams()
        words[: fit.base[-2]] += 2
        return words + figure_bytes(grams.log10_probs) + 1, figure_bytes(grams.log10_backoffs) - 1


def limit_of(model: Model, grams: str | int | None, size: str | int | None, order: int) -> Limit:
    """What a user asks for: so many grams, so many times as many as mkn has (`4x`), or a file of so many bytes."""
    if grams is not None and size is not None:
        raise UsageError("the number of grams and the size of the file are both given: give one of them")
    if size is not None:
        return Limit.of_size(model.vocabulary, parse_size(size, "size"))
    return Limit.of_number(model, "1x" if grams is None else grams, order)


def check_memory(limit: Limit) -> None:
    """Refuse what this machine cannot grow."""
    needed, there = limit.grams * _GROWING_BYTES, 2 * default_memory()
    if needed > there:
        raise UsageError(
            f"{limit.grams:,} grams: to grow them takes about {show_size(needed)} of memory, and this machine has "
            f"{show_size(there)}: ask for less (--size, --grams)"
        )


def _word_bytes(vocabulary: Vocabulary) -> Integers:
    return np.array([len(word.encode("utf-8", "surrogatepass")) for word in vocabulary])


def contiguous_grams(model: Model, order: int) -> int:
    """How many grams an mkn of the text of a model has."""
    counts = model.counts
    return sum(int(counts.tables.places[counts.index(Pattern.contiguous(k)), N_GRAMS]) for k in range(order))


def figure_bytes(figures: Floats | Singles) -> Integers:
    """How many characters numbers have at most that are written with eight digits.

    >>> figure_bytes(np.array([-1.2345678, -0.012345678, -99.0, 0.0, 1.2345678e-05, 0.30103])).tolist()
    [10, 12, 10, 2, 13, 10]
    """
    size = np.where(figures == 0.0, 1.0, np.abs(figures))
    zeros = np.maximum(-np.floor(np.log10(size)), 0)  # of 0.0…, before the first digit
    digits = np.where(zeros > 4, 13, 9 + zeros).astype(np.int64) + (figures < 0)
    return np.where(figures == 0.0, 2, digits)


class GramChoice:
    """Which grams stay where there is room for some."""

    def __init__(self, fit: GrownGrams, limit: Limit) -> None:
        self._fit = fit
        self._own, self._extended = limit.costs(fit)

    @property
    def taken(self) -> int:
        """What all grams take."""
        return self._taken_by(np.ones(len(self._own), np.bool_))

    def best(self, room: int) -> GrownGrams:
        """The grams that are worth most for what they take, as many as have room together with those that they need."""
        grams, n = self._fit.choosable(), len(self._own)
        chosen = Chosen(*np.empty((2, n), np.bool_), *np.empty((3, n)))
        kept, low, high = np.arange(n) < self._fit.base[1], *_WORTH
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            choose(grams, math.exp(middle), self._own, chosen)
            taken = self._taken_by(chosen.kept)
            if taken > room:
                low = middle
                continue
            kept, high = chosen.kept.copy(), middle
            if taken > _NEARLY * room:
                break
        return self._fit.only(kept)

    def _taken_by(self, kept: Mask) -> int:
        first, contexts = self._fit.base[1], np.zeros(len(kept), np.bool_)
        contexts[self._fit.parents[first:][kept[first:]]] = True
        return int(self._own[kept].sum() + self._extended[contexts].sum())
