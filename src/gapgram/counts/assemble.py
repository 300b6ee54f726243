"""Tables of bands of a text, put together into the tables of the whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.counts.counts import Piece
from gapgram.errors import TextError
from gapgram.kernels.counting import distinct_rows
from gapgram.kernels.tables import arrays as kernels
from gapgram.kernels.tables import build as build_tables
from gapgram.kernels.tables import structure
from gapgram.kernels.tables.arrays import COUNT_BITS, COUNT_MASK, FAST_WIDTH, ROW_BITS, ROW_MASK, Tables
from gapgram.pattern import Pattern
from gapgram.system.memory import trim
from gapgram.system.parallel import parallel_map

if TYPE_CHECKING:
    from gapgram.counts.streaming import StoredPiece

NO_CLASSES, NO_COUNTS = np.empty(0, np.int32), np.empty(0, np.int64)
_TASKS = 16  # for each thread: pieces are many and small
_MEMORY_TRIMS = 8  # while tables are filled
_WORTH_BYTES = 1 << 27
NO_PIECE = Piece(*np.empty((3, 0), np.int64))


def assemble(
    patterns: tuple[Pattern, ...],
    pieces: dict[Pattern, list[StoredPiece]],
    class_of: Ids = NO_CLASSES,
    word_counts: Integers = NO_COUNTS,
    *,
    threads: int = 1,
    worth_bytes: int = _WORTH_BYTES,
) -> Tables:
    """The tables of all patterns, the pieces of each in order; empties `pieces` as it goes.

    worth_bytes: of grams, from which on the memory of pieces is given back meanwhile.
    """
    for empty in (p for p in patterns if not p.mask):
        pieces[empty] = [all_words([band_piece.grams for band_piece in pieces[empty]])]
    sizes = [sum(p.grams.size for p in pieces[q]) for q in patterns]
    all_rows_of = [[p.rows for p in pieces[q]] for q in patterns]
    rows, numbers = zip(*parallel_map(_distinct_rows, all_rows_of, threads), strict=True)
    places = places_of(patterns, sizes, [len(r) for r in rows])
    grams = np.zeros(-(-sum(sizes) * FAST_WIDTH // 64), np.uint64)
    contexts, parts = np.empty(n_contexts(places), np.int64), structure.parts_of(numbers_of(patterns))

    def fill(p: int, i: int, done: int, context: int) -> tuple[Integers, Integers]:
        """Put one piece of pattern p into its place; so many grams and contexts of the pattern come before it."""
        piece = pieces[patterns[p]][i]
        placed: tuple[Integers, Integers] = build_tables.place_piece(
            piece.grams, piece.contexts, numbers[p][i], places[p], done, context, grams, contexts
        )
        pieces[patterns[p]][i] = NO_PIECE
        return placed

    wanted = list(_in_turn(patterns, pieces))
    step = -(-len(wanted) // (_TASKS * threads))
    between_trims = step * (_TASKS * threads // _MEMORY_TRIMS)

    def fill_some(first: int) -> list[tuple[Integers, Integers]]:
        placed = [fill(*one) for one in wanted[first : first + step]]
        if first % between_trims == 0 and grams.nbytes >= worth_bytes:
            trim()  # tables need more and more as they are filled: what pieces took is there for them
        return placed

    for p in range(len(patterns)):
        at = places[p]
        contexts[at[kernels.FIRST_CONTEXT] + at[kernels.N_CONTEXTS] * at[kernels.STRIDE]] = sizes[p] << ROW_BITS
    tasks = range(0, len(wanted), step)
    large = chain.from_iterable(parallel_map(fill_some, tasks, threads, ahead=_TASKS))
    large_at, large_counts = (np.concatenate(arrays) for arrays in zip(*large, strict=True))
    all_rows = np.concatenate(rows)
    return frozen(Tables(grams, large_at, large_counts, contexts, places, parts, all_rows, class_of, word_counts))


def _in_turn(
    patterns: tuple[Pattern, ...], pieces: dict[Pattern, list[StoredPiece]]
) -> Iterator[tuple[int, int, int, int]]:
    """Every piece: the number of its pattern, its own, and the grams and contexts that come before it."""
    for p, pattern in enumerate(patterns):
        grams, contexts = 0, 0
        for i, piece in enumerate(pieces[pattern]):
            yield p, i, grams, contexts
            grams += piece.grams.size
            contexts += piece.contexts.size


def flat_classes(clusterings: Sequence[Classes]) -> tuple[Ids, tuple[str, ...]]:
    """The class of every word in each clustering, one after the other and counted over all of them, and all names."""
    of_words, names = [np.empty(0, np.int32)], list[str]()
    for classes in clusterings:
        of_words.append(classes.of_word + np.int32(len(names)))
        names += classes.names
    return np.concatenate(of_words), tuple(names)


def frozen(tables: Tables) -> Tables:
    """The same tables, never to be written to again."""
    for array in tables:
        if array is not None:
            array.flags.writeable = False
    return tables


def numbers_of(patterns: tuple[Pattern, ...]) -> Integers:
    """Patterns as kernels take them: mask and clustering of each."""
    return np.array([(pattern.mask, pattern.classes) for pattern in patterns], np.int64)


def places_of(patterns: tuple[Pattern, ...], sizes: list[int], n_rows: list[int]) -> Integers:
    """Where tables of these sizes lie; refuses more words than can be told apart."""
    for pattern, size in zip(patterns, sizes, strict=True):
        if not pattern.mask:
            checked_key_bits(size)
    numbers = numbers_of(patterns), np.array(sizes, np.int64), np.array(n_rows, np.int64)
    places: Integers = structure.places_of(*numbers)
    return places


def side_by_side(patterns: tuple[Pattern, ...]) -> list[list[int]]:
    """The numbers of the patterns whose contexts lie side by side, group by group as they follow each other."""
    with_tail: dict[Pattern, list[int]] = defaultdict(list)
    for q, pattern in enumerate(patterns):
        if pattern.mask:
            with_tail[pattern.tail].append(q)
    groups = []
    for p, tail in enumerate(patterns):
        groups += [[p]] if not tail.mask else []
        groups += [with_tail[tail]] if tail in with_tail else []
    return groups


def n_contexts(places: Integers) -> int:
    """How many contexts of all patterns there are, those that close a table included."""
    return int((places[:, kernels.N_CONTEXTS] + 1).sum())


def checked_key_bits(n_words: int) -> int:
    """The bits that a word takes in a gram; at least two are left for the count."""
    bits = max(1, (n_words - 1).bit_length())
    if bits > FAST_WIDTH - 2:
        raise TextError(f"{n_words:,} different words: at most {1 << (FAST_WIDTH - 2):,} can be told apart")
    return bits


def all_words(grams_of_bands: list[Integers]) -> Piece:
    """The tables of the empty pattern, from its grams in each band: all words follow its one context."""
    grams = np.concatenate(grams_of_bands)
    checked_key_bits(grams.size)
    words, begins = (grams >> COUNT_BITS).astype(np.int32), np.array([0, grams.size], np.int32)
    return Piece(*build_tables.build_tables(words, grams & COUNT_MASK, begins))


def _distinct_rows(tables: list[Integers]) -> tuple[Integers, list[Integers]]:
    """The sorted distinct rows of several tables, and for each table the new number of each row."""
    rows, numbers = distinct_rows.numbered(np.concatenate(tables))
    ends = np.cumsum([len(t) for t in tables])
    return check_rows(rows), np.split(numbers, ends[:-1])


def check_rows(rows: Integers) -> Integers:
    """The rows, unless there are more of them than a context can tell apart."""
    if len(rows) > ROW_MASK:
        raise TextError(f"{len(rows):,} different context statistics in one pattern: at most {ROW_MASK:,}")
    return rows
