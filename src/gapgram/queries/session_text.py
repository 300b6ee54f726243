"""Text as a session scores it: in its order, piece by piece, document by document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Floats, Mask
from gapgram.queries.history import ReadSentences
from gapgram.queries.line_scores import PIECE_BYTES
from gapgram.text.files import Block


class SessionLines(NamedTuple):
    """Lines: the session's ids, log10 of the probability of each position, and which words the model knows.

    block: the lines as words of the model.
    """

    text: ReadSentences
    scores: Floats
    known: Mask
    block: Block


def pieces_of_documents(block: Block, *, documents: bool) -> Iterator[tuple[bool, Block]]:
    """(whether a document begins with it, a piece of a block); without `documents` none does.

    >>> [(new, piece.data) for new, piece in pieces_of_documents(Block("text", 1, b"a\\nb\\n\\nc\\n"), documents=True)]
    [(True, b'a\\nb\\n'), (True, b'\\n'), (False, b'c\\n')]
    """
    if not documents:
        yield from ((False, piece) for piece in block.cut(PIECE_BYTES))
        return
    first, lines = block.first_line, block.data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()  # after the last newline
    for is_empty, run in groupby(lines, key=lambda line: not line.split()):
        some = list(run)
        yield is_empty or first == 1, replace(block, first_line=first, held=b"\n".join([*some, b""]))
        first += len(some)


def with_words(lines: SessionLines) -> tuple[SessionLines, Mask]:
    """The lines that have words, and which positions are theirs."""
    lengths = np.diff(lines.text.begins)
    kept = np.repeat(lengths > 2, lengths)
    begins = np.concatenate([[0], np.cumsum(lengths[lengths > 2])])
    text = ReadSentences(lines.text.ids[kept], begins)
    return SessionLines(text, lines.scores[kept], lines.known[kept], lines.block), kept
