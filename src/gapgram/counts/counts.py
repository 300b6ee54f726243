"""Counts of every pattern of a lattice, frozen: what discounts, weights and models are made from.

The tables of all patterns lie in a handful of flat arrays, whatever the order: see `kernels.tables.arrays`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from gapgram.arrays import Integers
from gapgram.counts.about import About
from gapgram.errors import UsageError
from gapgram.kernels.tables import arrays as columns
from gapgram.kernels.tables.arrays import Tables, is_compact
from gapgram.kernels.tables.read import counts_of_counts, unpack_contexts, unpack_grams
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.system import array_file as container
from gapgram.system.mapped_pages import PageBudget
from gapgram.text.corpus import TextFacts
from gapgram.text.tokenisers.tokeniser import Tokeniser
from gapgram.text.vocabulary import Vocabulary

_CHUNK = 1 << 22  # grams read at a time
NONE_SEEN = np.zeros(4, np.int64)


@dataclass(frozen=True)
class Piece:
    """The tables of one pattern, of a whole text or of a band of it, as `kernels.tables.build` makes them.

    grams: `word << COUNT_BITS | count`; contexts: `begin << ROW_BITS | row`; rows: their distinct statistics.
    seen: where rare grams were left out, how many there were with a count of 1, 2, 3 and 4.
    """

    grams: Integers
    contexts: Integers
    rows: Integers
    seen: Integers = field(default_factory=lambda: NONE_SEEN)

    @property
    def n_grams(self) -> int:
        """How many grams there are."""
        return self.grams.size


@dataclass(frozen=True)
class Counts:
    """The counts of the patterns that a lattice stores, or, where `pruned` says how, what was left; immutable."""

    lattice: Lattice
    vocabulary: Vocabulary
    text: TextFacts
    tables: Tables
    class_names: tuple[str, ...] = ()
    quantised: int = 0  # bits: a pattern has at most 2**bits different counts; 0 where they are exact
    pages: PageBudget | None = None  # of the file that the tables are mapped from, where memory is limited
    pruned: str = ""
    about: About = ()  # what its maker says of the model
    tokeniser: Tokeniser | None = None  # how raw text is cut into the words that were counted
    splitting: str = ""  # or that marks were cut off them: `text.splitting.MARKS`
    seen: Mapping[Pattern, Integers] = field(default_factory=dict)  # `Piece.seen` of patterns cut while counting

    @cached_property
    def classes_digest(self) -> str:
        """How many classes there are and a checksum of which word has which; `none` without classes."""
        if not self.class_names:
            return "none"
        checksum = xxhash.xxh3_64_intdigest(self.tables.class_of.data)
        return f"{'+'.join(map(str, self.n_classes))}@{checksum:016x}"

    @property
    def clusterings(self) -> list[slice]:
        """Of each clustering of words its classes among those of all."""
        roots = [p for p, pattern in enumerate(self.lattice.stored) if pattern.classes and not pattern.mask]
        ends = np.cumsum(self.tables.places[roots, columns.N_GRAMS]).tolist()
        return [slice(begin, end) for begin, end in pairwise([0, *ends])]

    @property
    def n_classes(self) -> list[int]:
        """How many classes each clustering has, those of the special words not counted."""
        return [own.stop - own.start - len(SPECIAL) for own in self.clusterings]

    def class_name(self, clustering: int, number: int) -> str:
        """How a class of a clustering, from 1, is shown among words."""
        return class_text(self.class_names[self.clusterings[clustering - 1]][number])

    def index(self, pattern: Pattern) -> int:
        """The number of a pattern's tables."""
        try:
            return self.lattice.stored.index(pattern)
        except ValueError:
            held = " ".join(map(str, self.lattice.stored))
            raise UsageError(f"pattern {pattern} was not counted: there are {held}") from None

    def grams(self, pattern: Pattern) -> Integers:
        """The grams of a pattern as `word << COUNT_BITS | count`; of the empty pattern also words with count 0."""
        p = self.index(pattern)
        grams: Integers = unpack_grams(self.tables, p, 0, int(self.tables.places[p, columns.N_GRAMS]))
        return grams

    def contexts(self, pattern: Pattern) -> Integers:
        """The contexts of a pattern as `begin << ROW_BITS | row`, and the one that closes them."""
        p = self.index(pattern)
        at = self.tables.places[p]
        if is_compact(self.tables):
            closing = np.array([at[columns.N_GRAMS] << columns.ROW_BITS])
            return np.append(unpack_contexts(self.tables, p, 0, int(at[columns.N_CONTEXTS])), closing)
        first, step = int(at[columns.FIRST_CONTEXT]), int(at[columns.STRIDE])
        return self.tables.contexts[first : first + (int(at[columns.N_CONTEXTS]) + 1) * step : step]

    def rows(self, pattern: Pattern) -> Integers:
        """The distinct statistics of a pattern's contexts."""
        at = self.tables.places[self.index(pattern)]
        return self.tables.rows[at[columns.FIRST_ROW] : at[columns.FIRST_ROW] + at[columns.N_ROWS]]

    def piece(self, pattern: Pattern) -> Piece:
        """The tables of a pattern, unpacked."""
        return Piece(self.grams(pattern), self.contexts(pattern)[:-1].copy(), self.rows(pattern))

    def gram_counts(self, pattern: Pattern) -> Integers:
        """The counts of a pattern's grams, in their order."""
        return self.grams(pattern) & columns.COUNT_MASK

    def size(self, pattern: Pattern) -> int:
        """How many different grams the pattern has."""
        if pattern.mask:
            return int(self.tables.places[self.index(pattern), columns.N_GRAMS])
        # Its grams include words that are never met; its one context tells how many occur once, twice and more often.
        return int(self.rows(pattern)[:, 1:4].sum())

    @property
    def n_grams(self) -> int:
        """How many different grams all patterns have."""
        return sum(self.size(pattern) for pattern in self.lattice.stored)

    def counts_of_counts(self, pattern: Pattern, upto: int = 4) -> tuple[int, ...]:
        """How many grams have count 1 … `upto`."""
        if pattern in self.seen:
            return tuple(self.seen[pattern][:upto].tolist())
        p, totals = self.index(pattern), np.zeros(upto + 2, np.int64)
        size = int(self.tables.places[p, columns.N_GRAMS])
        for begin in range(0, size, _CHUNK):
            totals += counts_of_counts(self.tables, p, begin, min(begin + _CHUNK, size), upto)
            if self.pages is not None:
                self.pages.release()
        return tuple(totals[1 : upto + 1].tolist())

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
        number = int(self.grams(pattern)[gram] >> columns.COUNT_BITS)
        word = self.class_name(pattern.classes, number) if pattern.classes else self.vocabulary[number]
        if not pattern.mask:
            return (word,)
        begins = self.contexts(pattern) >> columns.ROW_BITS
        context = int(np.searchsorted(begins, gram, side="right")) - 1
        return (*self.words_of(pattern.tail, context), *[None] * (pattern.nearest - 1), word)

    def all_grams(self, pattern: Pattern) -> Iterator[tuple[tuple[str | None, ...], int]]:
        """Every gram of a pattern and its count, in the order of the table."""
        for gram, count in enumerate(self.gram_counts(pattern)):
            if count:
                yield self.words_of(pattern, gram), int(count)

    @property
    def reaches(self) -> Integers:
        """The farthest offset of each pattern."""
        return self.tables.places[:, columns.REACH]

    def save(self, path: str | Path) -> None:
        """Write the counts to a file, aside and renamed."""
        sections, metadata = self.contents()
        container.write(path, container.COUNTS, metadata, sections)

    @classmethod
    def open(cls, path: str | Path, *, verify: bool | None = None) -> Counts:
        """Map the counts of a file; all of them are checked if `verify`, unless False those that are small."""
        from gapgram.counts.file import read_counts

        return read_counts(path, verify=verify)

    def contents(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """What goes into a file: all arrays by name, and what they do not say, as plain values."""
        tables = self.tables._asdict()
        if tables["packed"] is None:
            del tables["packed"], tables["packed_places"]
        sections = {**self.word_arrays(self.vocabulary, packed="packed" in tables), **tables}
        metadata = {"order": self.lattice.order, "lattice": str(self.lattice), "text": asdict(self.text)}
        metadata["pruned"] = self.pruned
        metadata |= {"classes": list(self.class_names)} if self.class_names else {}
        metadata |= {"about": dict(self.about)} if self.about else {}
        if self.tokeniser is not None:
            metadata["tokenizer"] = self.tokeniser.kind
            sections["tokenizer"] = np.frombuffer(self.tokeniser.data, np.uint8)
        metadata |= {"splitting": self.splitting} if self.splitting else {}
        return sections, metadata | ({"quantised": self.quantised} if self.quantised else {})

    @staticmethod
    def word_arrays(words: Vocabulary, *, packed: bool = False) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a vocabulary by name, as they go into a file; packed in the compact layout."""
        if packed:
            return words.packed()
        return {"words": words.pool, "word_offsets": words.offsets, "word_slots": words.slots}


def class_text(name: str) -> str:
    """How a class is shown among words: as one of them."""
    return "{" + "_".join(name.split()) + "}"
