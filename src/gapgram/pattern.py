"""A pattern: which words of the context are kept.

A pattern is a set of offsets, the distances back from the predicted word, held as a bit mask
(offset k is bit k-1). It prints left to right as text runs, the predicted word last::

    >>> str(Pattern.of(1, 2, 4)), Pattern.of(1, 2, 4).describe()
    ('10111', 'w1 _ w3 w4 w5')
    >>> str(Pattern.of(1)), str(Pattern.of())
    ('11', '1')

A pattern of classes keeps the class of each word instead, and predicts a class; it prints with 2 and c. Where words
have classes of several clusterings, those of the second print with 3 and d, and so on::

    >>> str(Pattern.of(1, 3).of_classes), Pattern.of(1, 3).of_classes.describe()
    ('2022', 'c1 _ c3 c4')
    >>> Pattern(5, classes=2).describe()
    'd1 _ d3 d4'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gapgram.arguments import wrong_type
from gapgram.errors import UsageError

MAX_ORDER = 16
_MARKS = "_wcdefghij"  # of a gap, a word, and a class of each clustering, in the long form
MOST_CLUSTERINGS = len(_MARKS) - 2


@dataclass(frozen=True, slots=True)
class Pattern:
    """A set of offsets; see the module.

    classes: the number of the clustering whose classes it is of, from 1; 0 for a pattern of words.
    """

    mask: int
    classes: int = 0

    @classmethod
    def of(cls, *offsets: int) -> Pattern:
        """The pattern that keeps these offsets.

        >>> Pattern.of(1, 3).offsets
        (1, 3)
        """
        mask = 0
        for offset in offsets:
            if offset < 1:
                raise UsageError(f"offset {offset} of a pattern: offsets count back from the predicted word, from 1")
            mask |= 1 << (offset - 1)
        return cls(mask)

    @classmethod
    def contiguous(cls, length: int, classes: int = 0) -> Pattern:
        """The pattern {1 … length}, which skips nothing."""
        return cls((1 << length) - 1, classes)

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read the short form (``10111``) or the long form (``w1 _ w3 w4 w5``).

        >>> Pattern.parse("10111") == Pattern.parse("w1 _ w3 w4 w5") == Pattern.of(1, 2, 4)
        True
        """
        if not isinstance(text, str):
            raise wrong_type("pattern", text, "a string such as '1011'")
        short = text.strip()
        if " " in short or short[:1] in _MARKS:
            words = enumerate(short.split(), 1)
            digits = ("0" if p == "_" else str(_MARKS.find(p[0], 1)) if p[1:] == str(i) else "?" for i, p in words)
            short = "".join(digits)
        last = short[-1:]
        if not re.fullmatch("[1-9]", last) or set(short) - {"0", last} or len(short) > MAX_ORDER:
            raise UsageError(
                f"pattern {text!r}: expected 1 for a word kept and 0 for a word skipped, the predicted word "
                f"last and always 1, at most {MAX_ORDER} places, such as 1011 or 'w1 _ w3 w4'; of classes 2022 or "
                "'c1 _ c3 c4'"
            )
        return cls(int(short.replace(last, "1"), 2) >> 1, int(last) - 1)

    @property
    def of_classes(self) -> Pattern:
        """The pattern that keeps the classes of the same words, those of the first clustering."""
        return Pattern(self.mask, classes=1)

    @property
    def of_words(self) -> Pattern:
        """The pattern that keeps the same words themselves."""
        return Pattern(self.mask)

    @property
    def sort_key(self) -> tuple[int, int]:
        """What patterns are sorted by: those of words before those of classes, smaller ones before larger ones."""
        return self.classes, self.mask

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets kept, nearest first."""
        return tuple(k + 1 for k in range(self.mask.bit_length()) if self.mask >> k & 1)

    @property
    def reach(self) -> int:
        """The farthest offset; 0 for the empty pattern."""
        return self.mask.bit_length()

    @property
    def nearest(self) -> int:
        """The nearest offset; 0 for the empty pattern."""
        return (self.mask & -self.mask).bit_length()

    @property
    def is_contiguous(self) -> bool:
        """Whether nothing is skipped: {1 … k} for some k, the empty pattern included."""
        return self.mask & (self.mask + 1) == 0

    @property
    def tail(self) -> Pattern:
        """The pattern under which this pattern's context is itself a gram.

        The context that S keeps is a gram that ends `S.nearest` words before the predicted word.

        >>> str(Pattern.parse("11011").tail), str(Pattern.parse("1101").tail)
        ('1101', '11')
        """
        return Pattern(self.mask >> self.nearest, self.classes)

    def without(self, offset: int) -> Pattern:
        """The pattern that skips one more word."""
        return Pattern(self.mask & ~(1 << (offset - 1)), self.classes)

    def smaller(self) -> Iterator[Pattern]:
        """The patterns that skip one more word, the farthest word first."""
        for offset in reversed(self.offsets):
            yield self.without(offset)

    def describe(self) -> str:
        """The long form: ``w1 _ w3 w4 w5``."""
        return " ".join(f"{_MARKS[int(mark)]}{i}" if mark != "0" else "_" for i, mark in enumerate(str(self), 1))

    def __contains__(self, offset: int) -> bool:
        return offset > 0 and bool(self.mask >> (offset - 1) & 1)

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __le__(self, other: Pattern) -> bool:
        """Whether every offset of this pattern is in the other (the order of the lattice), both of the same kind."""
        return self.classes == other.classes and self.mask & ~other.mask == 0

    def __str__(self) -> str:
        return f"{self.mask << 1 | 1:b}".replace("1", str(self.classes + 1))
