"""The words of one partition of a text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gapgram.corpus import _SPECIAL_RULES, TextRules, _special_word, _Table, _text_of
from gapgram.kernels import words as kernels
from gapgram.textfile import Block
from gapgram.vocabulary import SPECIAL

Bytes = npt.NDArray[np.uint8]
Array = npt.NDArray[np.int64]


class PartReader:
    """Learns words block by block, as `corpus.read_corpus` does; keeps none of the text."""

    def __init__(self, rules: TextRules) -> None:
        self._rules, self._table = rules, _Table()
        self._lines = self._sentences = self._positions = self._longest = self._digest = 0

    def read(self, block: Block) -> None:
        """Learn the words of a block."""
        text, table, begin = _text_of(block, self._rules), self._table, 0
        while begin < text.size:
            out = np.empty(2 * (text.size - begin) + 2, np.int32)
            status, stopped, table.n, used, lines, empty, digest = kernels.learn_lines(
                text, begin, _SPECIAL_RULES[self._rules.special],
                table.slots, table.pool, table.offsets, table.counts, table.n, out,
            )  # fmt: skip
            if status == kernels.SPECIAL_FOUND:
                raise _special_word(block, text, stopped, self._rules)
            self._lines += lines
            self._sentences += lines - empty
            self._digest = (self._digest + int(digest)) % (1 << 64)
            self._positions += used
            if used:
                starts = np.flatnonzero(out[:used] == kernels.START)
                self._longest = max(self._longest, int(np.diff(starts, append=used).max()) - 2)
            if status == kernels.TABLE_FULL:
                table.grow(int(np.argmax(text[stopped:] == ord("\n"))) + 1)
            begin = stopped

    def facts(self) -> dict[str, int]:
        """What the partition is, in numbers that add up, but `longest`."""
        return {
            "lines": self._lines,
            "sentences": self._sentences,
            "words": self._positions - 2 * self._sentences,
            "longest": self._longest,
            "digest_low": self._digest & 0xFFFFFFFF,
            "digest_high": self._digest >> 32,
        }

    def words(self) -> tuple[Bytes, Array, Array]:
        """The bytes of the words one after the other, where each begins and ends, and how often each occurs."""
        table, first = self._table, len(SPECIAL)
        return table.pool, table.offsets[first : table.n + 1].copy(), table.counts[first : table.n].copy()
