"""Counts of every pattern of a lattice, frozen: what discounts, weights and models are made from.

The tables of all patterns lie one after the other in three flat arrays, so that kernels take a handful
of arrays whatever the order (see `kernels.tables` for the entries):

    grams      pattern p: gram_base[p] to gram_base[p+1]; of the empty pattern, one gram a word id
    contexts   pattern p: context_base[p] to context_base[p+1], one for each gram of the pattern's tail
               and a closing one; of the empty pattern, one and a closing one
    rows       pattern p: row_base[p] to row_base[p+1], the distinct statistics of its contexts
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram import container
from gapgram.errors import UsageError
from gapgram.kernels.tables import COUNT_BITS, COUNT_MASK, ROW_BITS
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.vocabulary import Vocabulary

Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TextInfo:
    """What the counts were made from."""

    sentences: int
    words: int
    digest: str
    rule: str


@dataclass(frozen=True)
class Tables:
    """The arrays of the module's head."""

    grams: Array
    gram_base: Array
    contexts: Array
    context_base: Array
    rows: Array
    row_base: Array


@dataclass(frozen=True)
class Counts:
    """The counts of the patterns `lattice.stored`, or, where `pruned` says how, what was left of them; immutable."""

    lattice: Lattice
    vocabulary: Vocabulary
    text: TextInfo
    tables: Tables
    pruned: str = ""

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns whose tables are held, in their order."""
        return self.lattice.stored

    def index(self, pattern: Pattern) -> int:
        """The number of a pattern's tables."""
        try:
            return self.patterns.index(pattern)
        except ValueError:
            held = " ".join(map(str, self.patterns))
            raise UsageError(f"pattern {pattern} was not counted: there are {held}") from None

    def grams(self, pattern: Pattern) -> Array:
        """The gram entries of a pattern; of the empty pattern also words with count 0."""
        p, tables = self.index(pattern), self.tables
        return tables.grams[tables.gram_base[p] : tables.gram_base[p + 1]]

    def gram_counts(self, pattern: Pattern) -> Array:
        """The counts of a pattern's grams, in their order."""
        return self.grams(pattern) & COUNT_MASK

    def size(self, pattern: Pattern) -> int:
        """How many different grams the pattern has."""
        if pattern.mask:
            return len(self.grams(pattern))
        return int(np.count_nonzero(self.gram_counts(pattern)))

    def counts_of_counts(self, pattern: Pattern, upto: int = 4) -> tuple[int, ...]:
        """How many grams have count 1 … `upto`."""
        counts = self.gram_counts(pattern)
        return tuple(int(n) for n in np.bincount(np.minimum(counts, upto + 1), minlength=upto + 2)[1 : upto + 1])

    def most_frequent(self, pattern: Pattern, k: int = 10) -> list[tuple[tuple[str | None, ...], int]]:
        """The k grams with the largest counts, each as its words (None for a gap) and its count.

        Ties are broken by the order of the table, which is that of the word ids, oldest word first.
        """
        counts = self.gram_counts(pattern)
        k = min(k, self.size(pattern))
        best = np.argsort(-counts, kind="stable")[:k]
        return [(self.words_of(pattern, int(g)), int(counts[g])) for g in best]

    def words_of(self, pattern: Pattern, gram: int) -> tuple[str | None, ...]:
        """The words of the gram with this number, oldest first, None for each gap."""
        word = self.vocabulary[int(self.grams(pattern)[gram] >> COUNT_BITS)]
        if not pattern.mask:
            return (word,)
        p, tables = self.index(pattern), self.tables
        begins = tables.contexts[tables.context_base[p] : tables.context_base[p + 1]] >> ROW_BITS
        context = int(np.searchsorted(begins, gram, side="right")) - 1
        return (*self.words_of(pattern.tail, context), *[None] * (pattern.nearest - 1), word)

    def all_grams(self, pattern: Pattern) -> Iterator[tuple[tuple[str | None, ...], int]]:
        """Every gram of a pattern and its count, in the order of the table."""
        for gram, count in enumerate(self.gram_counts(pattern)):
            if count:
                yield self.words_of(pattern, gram), int(count)

    @cached_property
    def pattern_arrays(self) -> dict[str, Array]:
        """For each pattern the number of its tail, its nearest and its farthest offset, its parts."""
        return {
            "tails": np.array([self.index(p.tail) for p in self.patterns], np.int64),
            "nearest": np.array([p.nearest for p in self.patterns], np.int64),
            "reaches": np.array([p.reach for p in self.patterns], np.int64),
            "parts": self._parts(),
        }

    def _parts(self) -> Array:
        """[pattern, n-1]: the stored patterns without which a gram was never seen: one word more skipped; 0: none."""
        number = {pattern: i for i, pattern in enumerate(self.patterns)}
        parts = np.zeros((len(self.patterns), self.lattice.order - 1), np.int64)
        if self.pruned:  # a gram may be there without its parts
            return parts
        for i, pattern in enumerate(self.patterns):
            for k, part in enumerate(pattern.smaller()):
                parts[i, k] = number.get(part, 0)
        return parts

    @cached_property
    def lookup_arrays(self) -> tuple[Array, ...]:
        """What `kernels.lookup.locate` takes."""
        t = self.tables
        return (t.grams, t.gram_base, t.contexts, t.context_base, t.row_base, *self.pattern_arrays.values())

    def save(self, path: str | Path) -> None:
        """Write the counts to a file, aside and renamed."""
        container.write(path, container.COUNTS, self.metadata(), self.arrays())

    @classmethod
    def open(cls, path: str | Path) -> Counts:
        """Map the counts of a file."""
        with container.reading(path, container.COUNTS) as file:
            return cls.from_parts(file.metadata, file.arrays)

    def metadata(self) -> dict[str, Any]:
        """What the arrays do not say, as plain values."""
        return {"order": self.lattice.order, "lattice": str(self.lattice), "text": asdict(self.text),
                "pruned": self.pruned}  # fmt: skip

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays by name, as they go into a file."""
        words = self.vocabulary
        return {
            "words": words.pool, "word_offsets": words.offsets, "word_slots": words.slots, **vars(self.tables),
        }  # fmt: skip

    @classmethod
    def from_parts(cls, metadata: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Counts:
        """The counts that `metadata` and `arrays` came from."""
        vocabulary = Vocabulary(arrays["words"], arrays["word_offsets"], arrays["word_slots"])
        lattice = Lattice.parse(metadata["lattice"], metadata["order"])
        tables = Tables(**{name: arrays[name] for name in Tables.__dataclass_fields__})
        return cls(lattice, vocabulary, TextInfo(**metadata["text"]), tables, metadata["pruned"])
