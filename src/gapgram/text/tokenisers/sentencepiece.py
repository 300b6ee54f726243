"""Tokens of a SentencePiece model."""

from __future__ import annotations

from collections.abc import Sequence

from gapgram.errors import TokeniserError
from gapgram.text.tokenisers.library import MOST_TOKENS, LibraryTokeniser, library, refusals

PACKAGE = "sentencepiece"
_WORD_MARK = "▁"


class SentencePieces(LibraryTokeniser):
    """Cuts lines as a SentencePiece model does; unknown characters are its piece `<unk>`."""

    def __init__(self, data: bytes) -> None:
        package = library(PACKAGE)
        with refusals("not a SentencePiece model"):
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
        """Whether a piece begins a new word: it has the mark ▁ before it."""
        return word.startswith(_WORD_MARK)
