"""Text as words, or as characters that stand for words."""

from __future__ import annotations

from gapgram.errors import UsageError

WORDS, CHARACTERS = "words", "characters"
UNITS = (WORDS, CHARACTERS)
_BLANK = "▁"  # in the place of white space


def check_unit(unit: str) -> str:
    """The unit, if there is such a one."""
    if unit not in UNITS:
        raise UsageError(f"unit {unit!r}: expected {' or '.join(UNITS)}")
    return unit


def as_units(line: str, unit: str) -> str:
    """A line as a model of the unit reads it.

    >>> as_units("it  is", "words"), as_units(" it  is ", "characters")
    ('it  is', '▁ i t ▁ i s ▁')
    """
    if unit == WORDS:
        return line
    words = line.split()
    return " ".join(_BLANK.join(["", *words, ""])) if words else ""
