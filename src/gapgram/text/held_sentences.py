"""Sentences held in memory, as strings or as lists of words, made into lines of text."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from os import PathLike
from os.path import isfile
from typing import Any

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.errors import PathWarning, UsageError
from gapgram.system.parallel import piece_size
from gapgram.text.files import BLOCK_BYTES, NEWLINE, Block

FILES_ARE_FOR = "text files are for perplexity, score_lines and surprisal"
_FIRST = 64  # sentences by whose length that of others is guessed
_ASSUMED_WORD_BYTES = 6
_MAX_BLOCK_GROWTH = 4  # from one block to the next, in sentences
_FILE_NAME = re.compile(r"\S*[./\\]\S*\w")


@dataclass(frozen=True)
class PieceOfSentences:
    """Sentences that follow each other, held as they were given; the number of the first.

    Whoever takes them makes lines of them: a thread of its own, where there are several.
    """

    first: int
    sentences: list[Any]

    def as_strings(self) -> Block:
        """Strings as lines, with the newlines that they hold; what is no string is a TypeError."""
        return Block("sentences", self.first, _encoded(self.sentences))

    def blocks(self) -> Iterator[Block]:
        """Strings or lists of words as lines, whatever they hold; a block has only strings or only lists."""
        line = self.first
        for is_tokenised, run in groupby(self.sentences, lambda sentence: not isinstance(sentence, str)):
            some = list(run)
            lines = (_line_of(one, number) + b"\n" for number, one in enumerate(some, line)) if is_tokenised else ()
            yield Block("sentences", line, b"".join(lines) if is_tokenised else _joined(some), is_tokenised)
            line += len(some)


def pieces_of_sentences(
    sentences: Iterable[str | Sequence[str]], piece_bytes: int, *, smaller_last: bool = True
) -> Iterator[PieceOfSentences]:
    """Sentences held in memory, in pieces of about so many bytes; the last ones of a list are smaller."""
    if isinstance(sentences, str):
        raise UsageError("sentences: expected a list of sentences, found one string; put it into a list")
    if not isinstance(sentences, Iterable):
        raise wrong_type("sentences", sentences, "a list of sentences")
    if not isinstance(sentences, list):
        yield from _pieces_one_by_one(sentences, piece_bytes)
        return
    begin, n = 0, _guessed(sentences[:_FIRST], piece_bytes)
    while begin < len(sentences):
        some = sentences[begin : begin + (piece_size(len(sentences) - begin, n) if smaller_last else n)]
        yield PieceOfSentences(begin + 1, some)
        begin += len(some)
        n = min(_MAX_BLOCK_GROWTH * n, _guessed(some[:: 1 + len(some) // _FIRST], piece_bytes))


def _pieces_one_by_one(sentences: Iterable[Any], piece_bytes: int) -> Iterator[PieceOfSentences]:
    first, some, used = 1, list[Any](), 0
    for sentence in sentences:
        some.append(sentence)
        used += _size(sentence)
        if used > piece_bytes:
            yield PieceOfSentences(first, some)
            first, some, used = first + len(some), [], 0
    if some:
        yield PieceOfSentences(first, some)


def blocks_of_sentences(
    sentences: Iterable[str | Sequence[str]], *, block_bytes: int = BLOCK_BYTES
) -> Iterator[Block]:
    """Sentences held in memory, as strings or as lists of words, as if they were lines of a file.

    Lists are of the words of a model, its tokens where it has a tokeniser; a block has only strings or only lists.
    block_bytes: from about so many on, a block is full.
    """
    for piece in pieces_of_sentences(sentences, block_bytes, smaller_last=False):
        yield from piece.blocks()


def _guessed(some: list[Any], n_bytes: int) -> int:
    """How many sentences have about so many bytes, by some of them."""
    return max(1, n_bytes * len(some) // max(1, sum(map(_size, some))))


def _size(sentence: Any) -> int:
    """About how many bytes a sentence has, as a line."""
    if not hasattr(sentence, "__len__"):
        return 1  # no sentence, which whoever reads it finds out
    return (1 if isinstance(sentence, str) else _ASSUMED_WORD_BYTES) * len(sentence) + 1


def _encoded(strings: list[str]) -> bytes:
    """Strings as lines, with the newlines that they hold."""
    return "\n".join([*strings, ""]).encode("utf-8", "surrogatepass")  # halves of characters: no word has them


def _joined(strings: list[str]) -> bytes:
    """Strings as lines; a newline in one becomes a space."""
    text = _encoded(strings)
    # NumPy counts without Python's lock.
    if np.count_nonzero(np.frombuffer(text, np.uint8) == NEWLINE) == len(strings):
        return text
    return _joined([string.replace("\n", " ") for string in strings])


def block_of_sentence(sentence: str | Sequence[str]) -> Block:
    """One sentence as `blocks_of_sentences` gives it; the name of a file in its place is warned of."""
    return block_of_line(line_of_sentence(sentence, stacklevel=4), is_tokenised=not isinstance(sentence, str))


def block_of_line(line: bytes, *, is_tokenised: bool = False) -> Block:
    """A line that `line_of_sentence` made, as `blocks_of_sentences` gives it."""
    return Block("sentences", 1, line, is_tokenised)


def line_of_sentence(sentence: str | Sequence[str], *, stacklevel: int = 3) -> bytes:
    """One sentence as a line, which ends in its only newline; the name of a file in its place is warned of."""
    if isinstance(sentence, str) and " " not in sentence and _FILE_NAME.fullmatch(sentence) and isfile(sentence):
        said = f"{sentence!r} is scored as a sentence of one word; {FILES_ARE_FOR}"
        warnings.warn(said, PathWarning, stacklevel=stacklevel)
    return _line_of(sentence, 1) + b"\n"


def _line_of(sentence: str | Sequence[str], number: int) -> bytes:
    if isinstance(sentence, str):
        return sentence.replace("\n", " ").encode("utf-8", "surrogatepass")
    try:
        line = " ".join(sentence).encode("utf-8", "surrogatepass")
    except TypeError:
        raise _no_sentence(sentence, number) from None
    if b"\n" in line or len(line.split()) != len(sentence):
        word = next((word for word in sentence if len(word.encode("utf-8", "surrogatepass").split()) != 1), "")
        raise UsageError(f"sentence {number}: {word!r}: a word of a list may not be empty or hold white space")
    return line


def _no_sentence(sentence: object, number: int) -> UsageError:
    if isinstance(sentence, PathLike):
        return wrong_type(f"sentence {number}", sentence, f"words; {FILES_ARE_FOR}")
    if isinstance(sentence, bytes) or not isinstance(sentence, Iterable):
        return wrong_type(f"sentence {number}", sentence, "a string or a list of words")
    other = next(word for word in sentence if not isinstance(word, str))
    return wrong_type(f"sentence {number}", other, "words that are strings")
