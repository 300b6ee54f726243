"""The words of a line, their case, and the marks and blanks around them, which are left alone."""

from __future__ import annotations

import re
from typing import NamedTuple

from gapgram.text.splitting import core_of

_TOKEN = re.compile(r"[ \t\n\v\f\r]*[^ \t\n\v\f\r]+")
_INSIDE = "'’-"


class Token(NamedTuple):
    """A piece of a line: blank and marks before a word, the word, and marks after it.

    before: the blank. opening, closing: marks. word: what the model reads of the token; all of it where it is only
        marks. correctable: whether the word may be changed.
    """

    blank: str
    opening: str
    word: str
    closing: str
    correctable: bool

    def written(self, word: str) -> str:
        """The token with another word in the place of its own."""
        return f"{self.blank}{self.opening}{word}{self.closing}"


def tokens_of(line: str) -> list[Token]:
    """The tokens of a line.

    >>> [(t.opening, t.word, t.closing, t.correctable) for t in tokens_of('(Teh cat, NASA "')]
    [('(', 'Teh', '', True), ('', 'cat', ',', True), ('', 'NASA', '', False), ('', '"', '', False)]
    """
    return [_token(match[0]) for match in _TOKEN.finditer(line)]


def _token(piece: str) -> Token:
    text = piece.lstrip(" \t\n\v\f\r")
    blank = piece[: len(piece) - len(text)]
    begin, end = core_of(text)
    if begin == end:
        return Token(blank, "", text, "", False)
    word = text[begin:end]
    return Token(blank, text[:begin], word, text[end:], is_correctable(word))


def is_correctable(word: str) -> bool:
    """Whether a word is letters, in lower case or with a capital first; apostrophes and hyphens may be inside.

    >>> [is_correctable(w) for w in ("it's", "Teh", "NASA", "mp3", "I")]
    [True, True, False, False, False]
    """
    letters = [c for c in word if c not in _INSIDE]
    if not letters or not all(c.isalpha() for c in letters) or len(word) < 2:
        return False
    return word[1:] == word[1:].lower()


def in_case_of(word: str, other: str) -> str:
    """A word in lower case, or with a capital first where another has one.

    >>> in_case_of("the", "Teh"), in_case_of("the", "teh")
    ('The', 'the')
    """
    return word[:1].upper() + word[1:] if other[:1].isupper() else word
