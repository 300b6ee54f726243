"""What cuts lines and joins tokens: every character a token, a model of SentencePiece, a tokenizer.json."""

from __future__ import annotations

import contextlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from gapgram.errors import TokeniserError, UsageError, to_install
from gapgram.kernels.text.special_words import SPECIAL

MOST_TOKENS = 1 << 21  # of a tokeniser


class Engine(ABC):
    """Cuts lines and joins tokens, as words of text.

    unknown: the token of characters that are not known, where there is one. ids: of tokens that have numbers.
    """

    unknown: str | None = None
    ids: Mapping[str, int] = {}

    @abstractmethod
    def lines(self, lines: Sequence[str], threads: int = 1) -> list[str]:
        """The tokens of each line, blanks between them."""

    @abstractmethod
    def text(self, words: Sequence[str]) -> str:
        """The text of tokens; words that are none stand for what is unknown, or are left out."""

    @abstractmethod
    def begins_word(self, word: str) -> bool:
        """Whether a token begins a new word, or stands between words."""


BLANK = "▁"
_MARK = "\\" + BLANK  # the character ▁ itself
_ODD_CHARACTER = re.compile(f"[\\\\{BLANK}\t\v\f\r]")


class Characters(Engine):
    """Cuts lines into characters, a blank the mark ▁; what is inside a line comes back as it was.

    >>> engine = Characters()
    >>> engine.lines(["to be"])
    ['t o ▁ b e']
    >>> engine.text(["b", "e", "▁", "b", "o", "x"])
    'be box'
    """

    def lines(self, lines: Sequence[str], threads: int = 1) -> list[str]:
        return [self._line(line) for line in lines]

    def _line(self, line: str) -> str:
        if _ODD_CHARACTER.search(line):
            return " ".join(map(_word_of, line))
        return " ".join(line.replace(" ", BLANK))

    def text(self, words: Sequence[str]) -> str:
        return "".join({BLANK: " ", _MARK: BLANK}.get(word) or as_token(word) for word in words)

    def begins_word(self, word: str) -> bool:
        return word == BLANK


def _word_of(character: str) -> str:
    if character == " ":
        return BLANK
    return _MARK if character == BLANK else as_word(character)


def _library(name: str) -> Any:
    """A package that is an extra."""
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"{name} is not installed: {to_install(name)}") from None


@contextlib.contextmanager
def _refusals(what: str) -> Iterator[None]:
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


class _LibraryEngine(Engine):
    """Cuts lines with a library that gives tokens ids.

    tokens: by id. unknown_id: of what the library writes for characters that it does not know, if it has one.
    """

    def __init__(self, tokens: Mapping[int, str], unknown_id: int | None) -> None:
        self._words = {number: as_word(token) for number, token in tokens.items()}
        self.ids = {word: number for number, word in self._words.items()}
        self.unknown = self._words.get(unknown_id) if unknown_id is not None else None

    @abstractmethod
    def _encoded(self, lines: Sequence[str], threads: int) -> list[list[int]]:
        """The ids of the tokens of each line."""

    @abstractmethod
    def _decoded(self, ids: list[int]) -> str:
        """The text of tokens."""

    def lines(self, lines: Sequence[str], threads: int = 1) -> list[str]:
        words = self._words
        with _refusals("the tokeniser cannot cut a line"):
            return [" ".join([words[number] for number in ids]) for ids in self._encoded(lines, threads)]

    def text(self, words: Sequence[str]) -> str:
        unknown = self.ids.get(self.unknown, -1) if self.unknown is not None else -1
        ids = [self.ids.get(word, unknown) for word in words]
        with _refusals("the tokeniser cannot join tokens"):
            return self._decoded([number for number in ids if number >= 0])


class SentencePieces(_LibraryEngine):
    """Cuts lines as a SentencePiece model does; unknown characters are its piece `<unk>`."""

    def __init__(self, data: bytes) -> None:
        package = _library("sentencepiece")
        with _refusals("not a SentencePiece model"):
            processor = package.SentencePieceProcessor()
            processor.LoadFromSerializedProto(data)
            size = processor.GetPieceSize()
            if not 0 < size <= MOST_TOKENS:
                raise TokeniserError(f"a SentencePiece model of {size:,} pieces, expected 1 to {MOST_TOKENS:,}")
            pieces = {number: processor.IdToPiece(number) for number in range(size)}
        self._processor = processor
        super().__init__(pieces, processor.unk_id())

    def _encoded(self, lines: Sequence[str], threads: int) -> list[list[int]]:
        ids: list[list[int]] = self._processor.Encode(list(lines), out_type=int, num_threads=threads)
        return ids

    def _decoded(self, ids: list[int]) -> str:
        return str(self._processor.Decode(ids))

    def begins_word(self, word: str) -> bool:
        return word.startswith(BLANK)


_WORD_MARKS = {"Metaspace": "▁", "ByteLevel": "Ġ"}  # before the first token of a word, by the parts that put them there
_CONTINUATION_PREFIX = "##"  # WordPiece's


class HuggingFaceTokens(_LibraryEngine):
    """Cuts lines as a `tokenizer.json` says, without the tokens that it puts around a sentence."""

    def __init__(self, data: bytes) -> None:
        package = _library("tokenizers")
        with _refusals("not a tokenizer.json that the package tokenizers reads"):
            text = data.decode("utf-8")
            tokenizer = package.Tokenizer.from_str(text)
            tokenizer.no_truncation()
            tokenizer.no_padding()
            vocabulary: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
            if not 0 < len(vocabulary) <= MOST_TOKENS:
                raise TokeniserError(f"a tokeniser of {len(vocabulary):,} tokens, expected 1 to {MOST_TOKENS:,}")
            parts = json.loads(text)
            unknown = _unknown_id(parts.get("model") or {}, vocabulary)
            self._mark = _mark(parts)
        self._tokenizer = tokenizer
        super().__init__({number: token for token, number in vocabulary.items()}, unknown)

    def _encoded(self, lines: Sequence[str], threads: int) -> list[list[int]]:
        found = self._tokenizer.encode_batch_fast(list(lines), add_special_tokens=False)
        return [line.ids for line in found]

    def _decoded(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=False))

    def begins_word(self, word: str) -> bool:
        """Whether a token begins a new word; where nothing marks words, every token is one."""
        if self._mark == _CONTINUATION_PREFIX:
            return not word.startswith(_CONTINUATION_PREFIX)
        return word.startswith(self._mark)


def _unknown_id(model: dict[str, Any], vocabulary: dict[str, int]) -> int | None:
    token, number = model.get("unk_token"), model.get("unk_id")
    if isinstance(token, str):
        return vocabulary.get(token)
    return number if isinstance(number, int) else None


def _mark(parts: dict[str, Any]) -> str:
    """What stands before the first token of a word, or ## where it stands before the others."""
    kinds = {part.get("type") for name in ("pre_tokenizer", "decoder") for part in _parts_of(parts.get(name))}
    if "WordPiece" in kinds:
        return _CONTINUATION_PREFIX
    return next((mark for kind, mark in _WORD_MARKS.items() if kind in kinds), "")


def _parts_of(part: Any) -> list[dict[str, Any]]:
    """A part of a tokeniser and, of a sequence, those in it."""
    if not isinstance(part, dict):
        return []
    inner = [*(part.get("pretokenizers") or []), *(part.get("decoders") or [])]
    return [part, *(one for one in inner if isinstance(one, dict))]


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
