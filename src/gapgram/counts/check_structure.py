"""Whether the arrays of counts fit each other, so that no kernel is led outside of them by what says where things lie.

These arrays are small and are checked whenever a file is opened. What lies in the large ones kernels do not believe.
"""

from __future__ import annotations

import numpy as np

from gapgram.arrays import BitWords, Integers
from gapgram.counts.assemble import n_contexts, parts_of, places_of
from gapgram.counts.compact import packed_columns
from gapgram.kernels.tables import arrays as columns
from gapgram.kernels.tables import compact_read as packed
from gapgram.kernels.tables.arrays import COUNT_MASK, FAST_WIDTH, ROW_MASK, Tables
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.pattern import Pattern

MOST_GRAMS = 1 << 40
MOST_CODE_BITS = 8
_OF_LAYOUT = (columns.GRAM_BIT, columns.WIDTH, columns.CODE_BITS)


def check_structure(patterns: tuple[Pattern, ...], tables: Tables, n_words: int, n_classes: int) -> None:
    """Refuse tables whose places are not those that patterns with so many grams and rows have.

    n_classes: how many classes of all clusterings have names; 0 without patterns of classes.
    """
    _expect("patterns", len(tables.places), len(patterns))
    _check_classes(patterns, tables, n_words, n_classes)
    _check_sizes(patterns, tables, n_words, n_classes)
    places = tables.places
    expected = places_of(patterns, places[:, columns.N_GRAMS].tolist(), places[:, columns.N_ROWS].tolist())
    if tables.packed is not None:
        _check_widths(places, expected)
    wrong = np.argwhere(places != expected)
    if wrong.size:
        p, column = wrong[0].tolist()
        raise ValueError(
            f"places of pattern {patterns[p]}: {places[p, column]} in column {column}, expected {expected[p, column]}"
        )
    bits = int((places[:, columns.N_GRAMS] * places[:, columns.WIDTH]).sum())
    _expect("words of grams", tables.grams.size, -(-bits // 64))
    if tables.packed is not None:
        _check_packed(tables, tables.packed)
    else:
        _expect("contexts", tables.contexts.size, n_contexts(places))
    if tables.parts.any() and (tables.parts != parts_of(patterns)).any():
        raise ValueError("parts of patterns that skip other words")


def _expect(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{found:,} {what}, expected {expected:,}")


def _check_sizes(patterns: tuple[Pattern, ...], tables: Tables, n_words: int, n_classes: int) -> None:
    """Refuse numbers of grams and rows that no table has."""
    places = tables.places
    sizes, n_rows = places[:, columns.N_GRAMS], places[:, columns.N_ROWS]
    if sizes.max() > MOST_GRAMS or int(sizes.sum()) > 64 * tables.grams.size:
        raise ValueError(f"{int(sizes.max()):,} grams of a pattern in {8 * tables.grams.size:,} bytes")
    if n_rows.min() < 1 or n_rows.max() > ROW_MASK:
        raise ValueError(f"{n_rows.min():,} to {n_rows.max():,} rows of a pattern, expected 1 to {ROW_MASK:,}")
    _expect("rows", len(tables.rows), int(n_rows.sum()))
    roots = [p for p, pattern in enumerate(patterns) if not pattern.mask]
    _expect(f"grams of {patterns[0]}", int(sizes[0]), n_words)
    if sizes[roots].min() < len(SPECIAL) or int(sizes[roots].sum()) != n_words + n_classes:
        classes = "+".join(str(size) for size in sizes[roots[1:]])
        raise ValueError(f"{classes or 0} classes of words, expected {n_classes:,}")


def _check_classes(patterns: tuple[Pattern, ...], tables: Tables, n_words: int, n_classes: int) -> None:
    """Refuse classes that are not there, or not for every word."""
    clusterings = max(pattern.classes for pattern in patterns)
    if (clusterings > 0) != (n_classes > 0):
        raise ValueError(f"{n_classes:,} names of classes, {'some' if clusterings else 'no'} patterns of classes")
    _expect("classes of words", tables.class_of.size, clusterings * n_words)
    _expect("counts of words", tables.word_counts.size, n_words if clusterings else 0)


def _check_widths(places: Integers, expected: Integers) -> None:
    """Refuse widths that no compact table has, and take those that it may have for expected."""
    expected[:, _OF_LAYOUT] = places[:, _OF_LAYOUT]
    code_bits = places[:, columns.CODE_BITS]
    if code_bits.min() < 1 or code_bits.max() > MOST_CODE_BITS:
        raise ValueError(f"codes of {code_bits.min()} to {code_bits.max()} bits, expected 1 to {MOST_CODE_BITS}")
    expected[:, columns.WIDTH] = places[:, columns.KEY_BITS] + code_bits
    sizes = places[:, columns.N_GRAMS] * expected[:, columns.WIDTH]
    expected[:, columns.GRAM_BIT] = np.cumsum(sizes) - sizes
    assert FAST_WIDTH + MOST_CODE_BITS < 64, "a gram is read as one number"


def _check_packed(tables: Tables, packed_words: BitWords) -> None:
    """Refuse places in the packed words that are not those of tables with so many listed counts and rows."""
    _expect("contexts", tables.contexts.size, 0)
    _expect("packed places", len(tables.packed_places), len(tables.places))
    word = 0
    for p, (at, own) in enumerate(zip(tables.places, tables.packed_places, strict=True)):
        n_grams, n_contexts_ = int(at[columns.N_GRAMS]), int(at[columns.N_CONTEXTS])
        blocks = (n_contexts_ >> packed.BLOCK_BITS) + 1
        most = {
            packed.N_MORE: n_grams, packed.N_LISTED: min(n_contexts_, int(packed.RANK_MASK)), packed.N_FAR: blocks,
            packed.VALUE_WIDTH: 16, packed.BUCKET_BITS: 44,
        }  # fmt: skip
        for column, limit in most.items():
            if not 0 <= own[column] <= limit:
                raise ValueError(f"packed places of pattern {p}: {own[column]} in column {column}, at most {limit}")
        if own[packed.VALUE_WIDTH] < 1:
            raise ValueError(f"packed places of pattern {p}: counts of no bits")
        expected = packed_columns(word, at, own)
        if (own != expected).any():
            raise ValueError(f"packed places of pattern {p}: {own.tolist()}, expected {expected.tolist()}")
        word = int(expected[packed.END])
    _expect("packed words", packed_words.size, word)
    for p, (at, own) in enumerate(zip(tables.places, tables.packed_places, strict=True)):
        first = int(own[packed.BOOK])
        book = packed_words[first : first + (1 << int(at[columns.CODE_BITS]))].view(np.int64)
        if book.min() < packed.IN_LIST or book.max() > COUNT_MASK:
            raise ValueError(f"a code of pattern {p} for {book.max():,} times, expected at most {COUNT_MASK:,}")
