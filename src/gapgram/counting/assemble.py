"""Tables of bands of a text, put together into the tables of the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gapgram.counts import Tables
from gapgram.errors import TextError
from gapgram.kernels.tables import COUNT_BITS, COUNT_MASK, ROW_BITS, ROW_MASK, build_tables, place_contexts
from gapgram.pattern import Pattern

Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Piece:
    """The tables of one pattern in one band, as `kernels.tables.build_tables` returns them.

    The empty pattern's has grams alone: its one context spans all bands.
    """

    grams: Array
    contexts: Array
    rows: Array


def assemble(patterns: tuple[Pattern, ...], pieces: dict[Pattern, list[Piece]]) -> Tables:
    """The tables of all patterns, the pieces of each in order; empties `pieces` as it goes."""
    pieces[Pattern(0)] = [_all_words(pieces[Pattern(0)])]
    gram_base = _bases(sum(p.grams.size for p in pieces[q]) for q in patterns)
    context_base = _bases(sum(p.contexts.size for p in pieces[q]) + 1 for q in patterns)
    grams = np.empty(gram_base[-1], np.int64)
    contexts = np.empty(context_base[-1], np.int64)
    rows = []
    for i, pattern in enumerate(patterns):
        parts = pieces.pop(pattern)
        distinct, numbers = _distinct_rows([p.rows for p in parts])
        rows.append(distinct)
        gram, context = 0, int(context_base[i])
        for part, row_numbers in zip(parts, numbers, strict=True):
            begin = int(gram_base[i]) + gram
            grams[begin : begin + part.grams.size] = part.grams
            place_contexts(part.contexts, gram, row_numbers, contexts[context : context + part.contexts.size])
            gram += part.grams.size
            context += part.contexts.size
        contexts[context] = gram << ROW_BITS
    return Tables(grams, gram_base, contexts, context_base, np.concatenate(rows), _bases(map(len, rows)))


def _all_words(parts: list[Piece]) -> Piece:
    """The tables of the empty pattern: the words of all bands follow its one context."""
    grams = np.concatenate([part.grams for part in parts])
    return Piece(*build_tables(grams >> COUNT_BITS, grams & COUNT_MASK, np.array([0, grams.size], np.int32)))


def _bases(sizes: object) -> Array:
    return np.cumsum([0, *sizes], dtype=np.int64)  # type: ignore[misc]


def _distinct_rows(tables: list[Array]) -> tuple[Array, list[Array]]:
    """The sorted distinct rows of several tables, and for each table the new number of each row."""
    distinct, inverse = np.unique(np.concatenate(tables), axis=0, return_inverse=True)
    if len(distinct) > ROW_MASK:
        raise TextError(f"{len(distinct):,} different context statistics in one pattern: at most {ROW_MASK:,}")
    ends = np.cumsum([len(t) for t in tables])
    return distinct, np.split(inverse.reshape(-1), ends[:-1])
