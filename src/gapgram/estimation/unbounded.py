"""Contexts without a limit: the training text, what follows each of its places, and how far that is trusted.

A model that has it mixes what followed the longest end of a context in the text with what it says by itself; the
kernels are those of `gapgram.kernels.unbounded`, the equations (47) to (50) of docs/ideas/mathematics.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.errors import GapgramError, ModelFileError
from gapgram.kernels.text.special_words import END_ID, START_ID
from gapgram.kernels.unbounded import mixing, suffixes
from gapgram.kernels.unbounded.matching import begin_matching, state_size
from gapgram.kernels.unbounded.suffixes import TextIndex
from gapgram.text.corpus import sentence_begins

PREFIX = "unbounded_"  # of the names of sections
_SECTIONS = ("text", "suffixes", "slots", "logits", "lines")


@dataclass(frozen=True)
class Place:
    """A sentence of the training text: its number, from 1, its file, its line there, where known, and its words."""

    sentence: int
    file: str
    line: int | None
    ids: Ids
    at: int  # the place in the sentence that is meant; 0 is `<s>`


@dataclass(frozen=True)
class Unbounded:
    """The text with its index, and the gate: logits [row, source].

    files, lines: the text's files, and where lines are counted anew: [sentence, its file, its line], by sentences.
    """

    index: TextIndex
    logits: Floats
    lines: Integers
    files: tuple[str, ...] = ()

    @classmethod
    def checked(cls, arrays: dict[str, Any], order: int, files: tuple[str, ...], *, whole: bool) -> Unbounded:
        """Those of a model file; `whole`: look through all of it."""
        text, places, slots, logits, lines = (arrays[PREFIX + name] for name in _SECTIONS)
        if text.size == 0 or slots.size == 0:
            raise ValueError("a kept text that is empty")
        if lines.size and ((np.diff(lines[:, 0]) <= 0).any() or (lines[:, 1] >= len(files)).any()):
            raise ValueError("lines of a kept text that are not in order, or of no file")
        if whole:
            ordered = np.zeros(text.size, np.bool_)
            ordered[places[places < text.size]] = True
            if not ordered.all() or (np.diff(text[places]) < 0).any() or text[0] != START_ID or text[-1] != END_ID:
                raise ValueError("a kept text that is not in its order")
        return cls(TextIndex(text, places, slots, order), logits, lines, files)

    def contents(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """What goes into a file: arrays by name, and plain values."""
        arrays = (self.index.text, self.index.suffixes, self.index.slots, self.logits, self.lines)
        return {PREFIX + name: array for name, array in zip(_SECTIONS, arrays, strict=True)}, {"files": [*self.files]}

    @property
    def width(self) -> int:
        """How many numbers a state has."""
        return int(state_size(self.index.order))

    def state(self, ids: Ids) -> Integers:
        """The state after some words of a sentence."""
        state = np.empty(self.width, np.int64)
        begin_matching(self.index.order, state)
        mixing.read_words(self.index, ids, state)
        return state

    def followers(self, state: Integers, n_words: int) -> tuple[Floats, Integers, Floats]:
        """(the weights of model, longest end and pointers after a state, the words that follow in the text, what the
        text gives each, already weighed; each word once)."""
        weights = np.empty(mixing.SOURCES)
        n = int(mixing.weights_after(self.index, self.logits, state, weights))
        words, shares = np.empty(n, np.int64), np.empty(n)
        n = int(mixing.list_followers(self.index, state, weights, n_words, words, shares))
        different, numbers = np.unique(words[:n], return_inverse=True)
        return weights, different, np.bincount(numbers, shares[:n], different.size).astype(np.float64)

    # Where it was read.

    @contextmanager
    def believed(self, path: object) -> Iterator[None]:
        """Look into tables that are checked by `verify` alone: where they are damaged, an error says so."""
        try:
            yield
        except GapgramError:
            raise
        except (IndexError, ValueError, OverflowError) as error:
            told = f"the text that it keeps is damaged ({error}); gapgram verify says more"
            raise ModelFileError(f"{path or 'the model'}: {told}") from None

    def first_suffixes(self, n_words: int) -> Integers:
        """Where, in the order of suffixes, those of each word begin, and where the last end."""
        text = self.index.text
        if int(text.min()) < 0 or int(text.max()) >= n_words:
            raise ValueError("words that the vocabulary does not have")
        return np.cumsum([0, *np.bincount(text, minlength=n_words)]).astype(np.int64)

    @cached_property
    def begins(self) -> Begins:
        """Where the sentences of the text begin."""
        return sentence_begins(self.index.text)

    def places(self, words: Ids, most: int) -> tuple[int, list[Place]]:
        """How often some words, side by side, are in the text, and the first sentences of those in their order."""
        low, high = suffixes.find_words(self.index, words)
        return int(high - low), [self.place(at) for at in first_places(self.index.suffixes[low:high], most)]

    def place(self, at: int) -> Place:
        """The sentence of a place of the text."""
        begins = self.begins
        number = int(np.searchsorted(begins, at, side="right")) - 1
        file, line, before = "", None, int(np.searchsorted(self.lines[:, 0], number, side="right")) - 1
        if before >= 0:
            first, of_file, line = self.lines[before].tolist()
            file, line = self.files[of_file], line + number - first
        ids = np.asarray(self.index.text[begins[number] : begins[number + 1]])
        return Place(number + 1, file, line, ids, at - int(begins[number]))


def first_places(some: Integers, most: int) -> list[int]:
    """The first of some places, in the order of the text."""
    kept = np.partition(some, most)[:most] if some.size > most else some
    return [int(place) for place in np.sort(kept)]
