"""A token as a word of text: without white space, not empty, and none of the model's own special words."""

from __future__ import annotations

import re

from gapgram.kernels.text.special_words import SPECIAL

_ODD = re.compile(r"[\\ \t\n\v\f\r]")
_ESCAPED = re.compile(r"\\(?:\\|x([0-9a-f]{2}))")
_EMPTY = "\\e"


def as_word(token: str) -> str:
    r"""The word that a token is written as; most are what they are.

    >>> [as_word(token) for token in ("▁the", "a b", "<s>", "\\", "")]
    ['▁the', 'a\\x20b', '\\<s>', '\\\\', '\\e']
    """
    if not token:
        return _EMPTY
    if token in SPECIAL:
        return "\\" + token
    return _ODD.sub(lambda found: "\\\\" if found[0] == "\\" else f"\\x{ord(found[0]):02x}", token)


def as_token(word: str) -> str:
    r"""The token that a word stands for.

    >>> [as_token(as_word(token)) for token in ("▁the", "a b", "<s>", "\\", "")]
    ['▁the', 'a b', '<s>', '\\', '']
    """
    if word == _EMPTY:
        return ""
    if word.startswith("\\") and word[1:] in SPECIAL:
        return word[1:]
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else "\\", word)
