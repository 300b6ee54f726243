"""A tokeniser of any kind: lines of raw text to lines of tokens, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from gapgram.arguments import checked_path, is_text
from gapgram.errors import TextError, TokeniserError, UsageError
from gapgram.system.parallel import read_ahead
from gapgram.text.corpus import TextRules, checked_text
from gapgram.text.files import Block, open_raw

if TYPE_CHECKING:
    from gapgram.text.tokenisers.engines import Engine

CHARS, SENTENCEPIECE, TOKENIZERS = "chars", "sentencepiece", "tokenizers"
KINDS = (CHARS, SENTENCEPIECE, TOKENIZERS)
MOST_BYTES = 1 << 26  # of a tokeniser
_WHITE_SPACE = " \t\v\f\r"  # at the ends of a line it says nothing, to no kind of model
_FIRST_BYTE_OF_PIECES = b"\n"  # of a SentencePiece model: a piece comes first


@dataclass(frozen=True)
class Tokeniser:
    """How a model's text is cut: a kind, and the bytes of its file.

    >>> tokeniser = Tokeniser.named("chars")
    >>> tokeniser.encode("a cat"), tokeniser.decode(["a", "▁", "c"]), str(tokeniser)
    (['a', '▁', 'c', 'a', 't'], 'a c', 'chars')
    """

    kind: str
    data: bytes = b""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"a tokeniser of kind {self.kind!r}, expected {', '.join(KINDS)}")
        if (self.kind == CHARS) != (not self.data) or len(self.data) > MOST_BYTES:
            raise ValueError(f"a tokeniser {self.kind} of {len(self.data):,} bytes, at most {MOST_BYTES:,} are read")

    @classmethod
    def named(cls, name: str | Path) -> Tokeniser:
        """`chars`, or the tokeniser of a file: a SentencePiece model or a tokenizer.json. The file must make sense."""
        if str(name) == CHARS:
            return cls(CHARS)
        path = checked_path("tokenizer", name)
        with open_raw(path) as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise UsageError(f"{path}: more than {MOST_BYTES >> 20} MiB: no tokeniser is so large")
        is_json = data.lstrip().startswith(b"{")
        if not is_json and not data.startswith(_FIRST_BYTE_OF_PIECES):
            raise UsageError(f"{path}: neither a SentencePiece model nor a tokenizer.json; chars needs no file")
        tokeniser = cls(TOKENIZERS if is_json else SENTENCEPIECE, data)
        try:
            tokeniser.engine.lines(["a"])
        except TokeniserError as error:
            raise UsageError(f"{path}: {error}") from None
        return tokeniser

    def __str__(self) -> str:
        return f"{self.kind}@{xxhash.xxh3_64_hexdigest(self.data)}" if self.data else self.kind

    @cached_property
    def engine(self) -> Engine:
        """What does the work; its library is loaded now."""
        from gapgram.text.tokenisers import engines

        if self.kind == CHARS:
            return engines.Characters()
        return (engines.SentencePieces if self.kind == SENTENCEPIECE else engines.HuggingFaceTokens)(self.data)

    @cached_property
    def unknown(self) -> str | None:
        """The token of characters that the tokeniser does not know; None where it has none, or cannot be asked."""
        try:
            return self.engine.unknown
        except (UsageError, TokeniserError):
            return None

    def encode(self, text: str) -> list[str]:
        """The tokens of a text, which is one line."""
        if not is_text(text):
            raise TextError("the text holds half of a surrogate pair, which is no text")
        line = self.engine.lines([text.replace("\n", " ").strip(_WHITE_SPACE)])[0]
        return line.split(" ") if line else []  # not split(): tokens may hold white space that is not ASCII

    def decode(self, tokens: Sequence[str]) -> str:
        """The text of tokens."""
        return self.engine.text(tokens)

    def tokenised(self, block: Block, rules: TextRules, threads: int = 1) -> Block:
        """The lines of a block as tokens with blanks between them; empty lines stay empty."""
        lines = [line.strip(_WHITE_SPACE) for line in checked_text(block, rules).tobytes().decode().split("\n")]
        if lines[-1] == "":
            lines.pop()  # after the last newline
        cut = self.engine.lines(lines, threads)
        return replace(block, held="\n".join([*cut, ""]).encode(), is_tokenised=True)

    def blocks(self, blocks: Iterable[Block], rules: TextRules, threads: int) -> Iterator[Block]:
        """Blocks of text as blocks of tokens; the next is cut while one is used."""
        return read_ahead(b if b.is_tokenised else self.tokenised(b, rules, threads) for b in blocks)


def check_same(tokenisers: Mapping[str, Tokeniser | None], what: str) -> Tokeniser | None:
    """The tokeniser that several models have, by their names; refuses different ones."""
    different = {str(tokeniser): name for name, tokeniser in tokenisers.items()}
    if len(different) > 1:
        told = ", ".join(f"{name} has {'none' if shown == 'None' else shown}" for shown, name in different.items())
        raise UsageError(f"{what}: models of different tokenisers: {told}; train them with the same")
    return next(iter(tokenisers.values()), None)
