"""Every character is a token, a blank the mark ▁."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gapgram.text.tokenisers.library import as_token, as_word

BLANK = "▁"
_MARK = "\\" + BLANK  # the character ▁ itself
_ODD = re.compile(f"[\\\\{BLANK}\t\v\f\r]")


class Characters:
    """Cuts lines into characters; what is inside a line comes back as it was.

    >>> engine = Characters()
    >>> engine.lines(["to be"])
    ['t o ▁ b e']
    >>> engine.text(["b", "e", "▁", "b", "o", "x"])
    'be box'
    """

    unknown: str | None = None  # every character is a token

    def lines(self, lines: Sequence[str], threads: int = 1) -> list[str]:
        """The tokens of each line, blanks between them."""
        return [self._line(line) for line in lines]

    def _line(self, line: str) -> str:
        if _ODD.search(line):
            return " ".join(map(_word_of, line))
        return " ".join(line.replace(" ", BLANK))

    def text(self, words: Sequence[str]) -> str:
        """The text of tokens."""
        return "".join({BLANK: " ", _MARK: BLANK}.get(word) or as_token(word) for word in words)

    @property
    def ids(self) -> Mapping[str, int]:
        """Characters have no numbers of their own."""
        return {}

    def begins_word(self, word: str) -> bool:
        """Whether a token stands between words."""
        return word == BLANK


def _word_of(character: str) -> str:
    if character == " ":
        return BLANK
    return _MARK if character == BLANK else as_word(character)
