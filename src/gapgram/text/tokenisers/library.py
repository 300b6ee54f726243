"""What tokenisers of libraries have in common: tokens with ids, and a library that may be missing or give up."""

from __future__ import annotations

import contextlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from gapgram.errors import TokeniserError, UsageError, to_install
from gapgram.kernels.text.special_words import SPECIAL

MOST_TOKENS = 1 << 21  # of a tokeniser


def library(name: str) -> Any:
    """A package that is an extra."""
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"{name} is not installed: {to_install(name)}") from None


@contextlib.contextmanager
def refusals(what: str) -> Iterator[None]:
    """Turn whatever a library raises, a panic of Rust among it, into a sentence."""
    try:
        yield
    except (UsageError, TokeniserError, MemoryError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        said = " ".join(str(error).split())[:200]
        raise TokeniserError(f"{what}: {said or type(error).__name__}") from None


class LibraryTokeniser(ABC):
    """Cuts lines with a library that gives tokens ids.

    tokens: by id. unknown_id: of what the library writes for characters that it does not know, if it has one.
    """

    def __init__(self, tokens: Mapping[int, str], unknown_id: int | None) -> None:
        self._words = {number: as_word(token) for number, token in tokens.items()}
        self.ids: Mapping[str, int] = {word: number for number, word in self._words.items()}
        self.unknown = self._words.get(unknown_id) if unknown_id is not None else None

    @abstractmethod
    def _encoded(self, lines: Sequence[str], threads: int) -> list[list[int]]:
        """The ids of the tokens of each line."""

    @abstractmethod
    def _decoded(self, ids: list[int]) -> str:
        """The text of tokens."""

    @abstractmethod
    def begins_word(self, word: str) -> bool:
        """Whether a token begins a new word."""

    def lines(self, lines: Sequence[str], threads: int = 1) -> list[str]:
        """The tokens of each line, blanks between them."""
        words = self._words
        with refusals("the tokeniser cannot cut a line"):
            return [" ".join([words[number] for number in ids]) for ids in self._encoded(lines, threads)]

    def text(self, words: Sequence[str]) -> str:
        """The text of tokens; words that are none stand for what is unknown, or are left out."""
        unknown = self.ids.get(self.unknown, -1) if self.unknown is not None else -1
        ids = [self.ids.get(word, unknown) for word in words]
        with refusals("the tokeniser cannot join tokens"):
            return self._decoded([number for number in ids if number >= 0])


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
