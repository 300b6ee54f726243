"""Pruning by count: how often a gram must at least occur."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.arrays import Integers, Mask
from gapgram.errors import UsageError
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.system.array_store import IN_MEMORY, ArrayStore


@dataclass(frozen=True)
class Thresholds:
    """Grams that occur as often as this or less go: by the number of their words, or by pattern.

    >>> lattice = Lattice.full(4)
    >>> thresholds = Thresholds.parse("0 0 1 1101=3", lattice)
    >>> [thresholds.of(Pattern.parse(p)) for p in ("11", "101", "111", "1101", "1111")]
    [0, 0, 1, 3, 1]
    >>> str(thresholds)
    '0,0,1,1101=3'
    """

    by_words: tuple[int, ...]
    by_pattern: tuple[tuple[Pattern, int], ...]

    @classmethod
    def parse(cls, text: str, lattice: Lattice) -> Thresholds:
        """Read numbers for grams of 1, 2, … words, the last for all longer ones, and PATTERN=NUMBER."""
        if not isinstance(text, str):
            raise wrong_type("prune", text, "counts such as '0,0,1' or '111=1,1011=2'")
        by_words, by_pattern = [], {}
        for item in re.split(r"[\s,]+", text.strip()):
            name, _, number = item.rpartition("=")
            if not re.fullmatch(r"\d+", number) or ("=" in item and not name):
                raise UsageError(
                    f"prune {text!r}: {item!r} is neither a number of occurrences nor PATTERN=NUMBER; "
                    "expected such as 0,0,1 or 111=1,1011=2"
                )
            if name:
                by_pattern[Pattern.parse(name)] = int(number)
            else:
                by_words.append(int(number))
        thresholds = cls(tuple(by_words), tuple(by_pattern.items()))
        thresholds._check(text, lattice)
        return thresholds

    def _check(self, text: str, lattice: Lattice) -> None:
        unknown = [p for p, _ in self.by_pattern if p not in lattice.stored]
        if unknown:
            held = " ".join(map(str, lattice.stored))
            raise UsageError(f"prune {text!r}: pattern {unknown[0]} was not counted: there are {held}")
        if self.of(Pattern(0)):
            raise UsageError(
                f"prune {text!r}: words themselves stay, so that the first number, of single words, is 0; "
                "train with --min-count or --vocab-limit for a smaller vocabulary"
            )
        if len(self.by_words) > lattice.order:
            raise UsageError(f"prune {text!r}: {len(self.by_words)} numbers, the model's order is {lattice.order}")

    def of(self, pattern: Pattern) -> int:
        """The threshold of a pattern."""
        for named, threshold in self.by_pattern:
            if named == pattern:
                return threshold
        if not self.by_words:
            return 0
        return self.by_words[min(len(pattern), len(self.by_words) - 1)]

    def check_rising(self, lattice: Lattice) -> None:
        """Refuse thresholds by which a gram goes while one that it is the context of stays."""
        for pattern in lattice.stored:
            if self.of(pattern) < self.of(pattern.tail):
                raise UsageError(
                    f"prune {self}: {self.of(pattern)} for pattern {pattern} is less than {self.of(pattern.tail)} for "
                    f"{pattern.tail}, its context: thresholds may not fall; raise it, or prune the finished model"
                )

    @property
    def said(self) -> str:
        """How a model says that it was pruned so."""
        return f"counts={self}"

    def kept(self, occurrences: Mapping[Pattern, Integers], store: ArrayStore = IN_MEMORY) -> dict[Pattern, Mask]:
        """The grams that stay, given how often each occurs."""

        def stays(pattern: Pattern, begin: int, end: int) -> Mask:
            return occurrences[pattern][begin:end] > self.of(pattern)

        return {p: store.filled("kept", np.bool_, n.size, partial(stays, p)) for p, n in occurrences.items()}

    def __str__(self) -> str:
        return ",".join([*map(str, self.by_words), *(f"{p}={n}" for p, n in self.by_pattern)])
