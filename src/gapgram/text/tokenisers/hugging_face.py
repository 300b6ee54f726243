"""Tokens of a `tokenizer.json` of Hugging Face."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gapgram.errors import TokeniserError
from gapgram.text.tokenisers.library import MOST_TOKENS, LibraryTokeniser, library, refusals

PACKAGE = "tokenizers"
_WORD_MARKS = {"Metaspace": "▁", "ByteLevel": "Ġ"}  # before the first token of a word, by the parts that put them there
_CONTINUATION_PREFIX = "##"  # WordPiece's


class HuggingFaceTokens(LibraryTokeniser):
    """Cuts lines as a `tokenizer.json` says, without the tokens that it puts around a sentence."""

    def __init__(self, data: bytes) -> None:
        package = library(PACKAGE)
        with refusals("not a tokenizer.json that the package tokenizers reads"):
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
