"""A lattice: the patterns of a model and, for each, the smaller patterns it is interpolated with.

A pattern is interpolated with the largest patterns of the family that are strictly below it. So the
chain {1 … n-1} → … → {1} → {} is modified Kneser-Ney, and the family of all 2^(n-1) patterns, where
each pattern is interpolated with every pattern that skips one more word, is the generalized language
model. Any other family that holds the empty pattern is a lattice too::

    >>> print(Lattice.chain(3))
    chain 1 11 111
    >>> print(Lattice.full(3))
    full 1 11 101 111
    >>> print(Lattice.parse("1011 11", order=4))
    custom 1 11 1011

Patterns of classes stand beside those of words. They fall back on each other in the same way, and the
empty one of classes on the empty one of words::

    >>> print(Lattice.full(3).with_classes("chain"))
    full+chain 1 11 101 111 2 22 222

Words may have classes of several clusterings, each with patterns of its own::

    >>> print(Lattice.full(3).with_classes("chain", "chain"))
    full+chain+chain 1 11 101 111 2 22 222 3 33 333
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import SupportsIndex

from gapgram.arguments import wrong_type
from gapgram.errors import UsageError
from gapgram.pattern import MAX_ORDER, MOST_CLUSTERINGS, Pattern

MAX_PATTERNS = 1024
FAMILIES = ("chain", "full")


@dataclass(frozen=True, init=False)
class Lattice:
    """A family of patterns, in the order of their masks; the empty one is added where it is missing.

    of_words: the patterns of words alone.
    of_classes: the patterns of the classes of each clustering, as if classes were words.
    stored: the patterns whose grams are kept: the family, all that its contexts are grams of, and the chain.

    >>> [str(p) for p in Lattice.parse("1101", order=4).stored]
    ['1', '11', '111', '1101', '1111']
    """

    order: int
    patterns: tuple[Pattern, ...]
    of_words: Lattice = field(repr=False, compare=False)
    of_classes: tuple[Lattice, ...] = field(repr=False, compare=False)
    stored: tuple[Pattern, ...] = field(repr=False, compare=False)

    def __init__(self, order: int, patterns: Iterable[Pattern]) -> None:
        order, family = check_order(order), {Pattern(0), *patterns}
        kinds = range(1 + max(p.classes for p in family))  # of words, and of the classes of each clustering
        if max(kinds) > MOST_CLUSTERINGS:
            raise UsageError(f"{max(kinds)} clusterings of words: at most {MOST_CLUSTERINGS} can be told apart")
        missing = set(kinds) - {p.classes for p in family}
        if missing:
            raise UsageError(
                f"patterns of classes {max(kinds) + 1} without any of {min(missing) + 1}: number clusterings from 2 on"
            )
        family |= {Pattern(0, kind) for kind in kinds}
        too_far = [p for p in family if p.reach >= order]
        if too_far:
            raise UsageError(
                f"pattern {max(too_far, key=lambda p: p.mask)} spans {max(p.reach for p in too_far) + 1} words, "
                f"the model's order is {order}: raise the order or leave the pattern out"
            )
        words, *classes = (tuple(Pattern(p.mask) for p in family if p.classes == kind) for kind in kinds)
        needed = {Pattern.contiguous(k, kind) for k in range(order) for kind in kinds}
        for pattern in family:
            needed.add(pattern)
            while pattern.mask:
                pattern = pattern.tail
                needed.add(pattern)
        self.__dict__.update(  # frozen
            order=order,
            patterns=tuple(sorted(family, key=lambda p: p.sort_key)),
            of_words=Lattice(order, words) if classes else self,
            of_classes=tuple(Lattice(order, patterns) for patterns in classes),
            stored=tuple(sorted(needed, key=lambda p: p.sort_key)),
        )

    @classmethod
    def chain(cls, order: int) -> Lattice:
        """The contiguous patterns: modified Kneser-Ney."""
        return cls(order, map(Pattern, masks_of("chain", order)))

    @classmethod
    def full(cls, order: int) -> Lattice:
        """All 2^(n-1) patterns: the generalized language model."""
        return cls(order, map(Pattern, masks_of("full", order)))

    @classmethod
    def parse(cls, text: str, order: int) -> Lattice:
        """Read ``chain``, ``full``, with classes ``full+chain``, or patterns in short form, separated."""
        if not isinstance(text, str):
            raise wrong_type("lattice", text, "chain, full, or patterns such as '1,11,101,111'")
        shorts = [s for s in re.split(r"[\s,]+", text.lower()) if s]
        name, *of_classes = (shorts or [""])[0].split("+")
        if {name, *of_classes} <= set(FAMILIES):
            kinds = enumerate((name, *of_classes))
            lattice = cls(order, (Pattern(mask, kind) for kind, family in kinds for mask in masks_of(family, order)))
            if shorts[1:] not in ([], list(map(str, lattice.patterns))):
                raise UsageError(f"lattice {text!r}: expected {shorts[0]} alone, or patterns alone")
            return lattice
        if of_classes:
            raise UsageError(f"lattice {text!r}: expected chain or full on either side of +, such as full+chain")
        if shorts and shorts[0] == "custom":
            shorts = shorts[1:]
        if not shorts:
            raise UsageError("lattice: expected chain, full, or patterns such as '1,11,101,111'")
        return cls(order, map(Pattern.parse, shorts))

    @classmethod
    def from_text(cls, text: str, order: int) -> Lattice:
        """The lattice that `str` has written.

        >>> Lattice.from_text("full+chain 1 11 101 111 2 22 222", 3) == Lattice.full(3).with_classes("chain")
        True
        """
        return cls(order, map(Pattern.parse, text.split()[1:]))

    @cached_property
    def name(self) -> str:
        """``chain``, ``full`` or ``custom``; with patterns of classes such as ``full+chain``."""
        if self.of_classes:
            names = [part.name for part in (self.of_words, *self.of_classes)]
            return "custom" if "custom" in names else "+".join(names)
        if self == Lattice.chain(self.order):
            return "chain"
        return "full" if len(self.patterns) == 1 << (self.order - 1) else "custom"

    def with_classes(self, *families: str) -> Lattice:
        """The patterns of words of this lattice beside a family, ``chain`` or ``full``, for each clustering."""
        kinds = enumerate(families, 1)
        of_classes = (Pattern(mask, kind) for kind, family in kinds for mask in masks_of(family, self.order))
        return Lattice(self.order, [*self.of_words.patterns, *of_classes])

    @cached_property
    def _members(self) -> frozenset[Pattern]:
        return frozenset(self.patterns)

    def below(self, pattern: Pattern) -> tuple[Pattern, ...]:
        """The patterns that this one is interpolated with, those without the farthest word first.

        >>> [str(p) for p in Lattice.full(4).below(Pattern.parse("1111"))]
        ['111', '1011', '1101']
        """
        if pattern.classes and not pattern.mask:
            return (Pattern(0),)
        one_less = tuple(pattern.smaller())
        if self._members.issuperset(one_less):
            return one_less
        # The largest first: one that is below another that was found is none of the largest.
        covers: list[Pattern] = []
        for p in sorted(self.patterns, key=len, reverse=True):
            if p <= pattern and p != pattern and not any(p <= q for q in covers):
                covers.append(p)
        return tuple(sorted(covers, key=lambda p: p.sort_key))

    def starts(self, available: int) -> tuple[Pattern, ...]:
        """Where a prediction that sees `available` earlier words enters the lattice.

        That is {1 … available}, or, where the family does not hold it, the patterns below it.
        """
        top = Pattern.contiguous(min(available, self.order - 1))
        return (top,) if top in self._members else self.below(top)

    def __str__(self) -> str:
        return " ".join([self.name, *map(str, self.patterns)])


def masks_of(family: str, order: int) -> Iterable[int]:
    """The patterns of a family, ``chain`` or ``full``, as bit masks."""
    order = check_order(order)
    if family == "chain":
        return [(1 << k) - 1 for k in range(order)]
    if 1 << (order - 1) > MAX_PATTERNS:
        raise UsageError(
            f"order {order}: the full lattice has {1 << (order - 1):,} patterns, at most {MAX_PATTERNS:,} are "
            "kept: lower the order, or name a lattice of your own"
        )
    return range(1 << (order - 1))


def check_order(order: int) -> int:
    """The order as an int; refuses one that no model can have."""
    if not isinstance(order, SupportsIndex) or not 1 <= order <= MAX_ORDER:
        raise UsageError(f"order {order!r}: expected a whole number from 1 to {MAX_ORDER}, 5 is usual")
    return int(order)
