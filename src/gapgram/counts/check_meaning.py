"""Whether tables mean what tables of counts mean: every gram a word that there is, every context its own statistics.

Where they do, the discounted counts of each context and what it passes on add up to one, and a search finds every gram
that a list holds. The tables of small models are checked whenever a file is opened, without a kernel to be loaded;
those of all others by `verify`, where a kernel looks at them first. Whether all parts of all grams of a large model are
there takes seconds, and is looked at where a complete check is wanted. One pattern is read at a time, the grams of some
contexts at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gapgram.arrays import Integers
from gapgram.counts.counts import Counts
from gapgram.kernels.tables import arrays as columns
from gapgram.kernels.tables.arrays import COUNT_BITS, COUNT_MASK, ROW_BITS, ROW_MASK, Tables
from gapgram.kernels.tables.check import are_sound
from gapgram.kernels.tables.compact_read import BLOCK
from gapgram.kernels.tables.read import context_at, unpack_contexts, unpack_grams
from gapgram.kernels.text.special_words import SPECIAL, START_ID
from gapgram.pattern import Pattern

MAX_GRAMS_CHECKED_ON_OPENING = 1 << 16
_CHUNK = 1 << 20  # contexts read at a time
_NO_GRAMS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class _Some:
    """Some contexts of a pattern that follow each other, and their grams.

    first, begins, rows: the number of the first context, where the grams of each begin and the last end, its row.
    words, counts: of each gram.
    """

    first: int
    begins: Integers
    rows: Integers
    words: Integers
    counts: Integers

    @property
    def contexts(self) -> Integers:
        """The context of each gram."""
        return np.repeat(np.arange(self.first, self.first + self.rows.size), np.diff(self.begins))


def is_checked_whole(counts: Counts, verify: bool | None) -> bool:
    """Whether all of the tables is looked at when a file is opened: if `verify`; unless False, where they are small."""
    return are_small(counts) if verify is None else verify


def are_small(counts: Counts) -> bool:
    """Whether the tables are so small that they are checked whenever a file is opened."""
    return int(counts.tables.places[:, columns.N_GRAMS].sum()) <= MAX_GRAMS_CHECKED_ON_OPENING


def check_meaning(counts: Counts) -> None:
    """Refuse counts whose tables are not those of any text; large ones whose grams lack parts: `check_parts`."""
    _check_large(counts.tables)
    predicted, small = _predicted_classes(counts), are_small(counts)
    for p, pattern in enumerate(counts.lattice.stored):
        _check_rows(counts, p)
        if not small and is_sound(counts, p, predicted):
            continue
        for some in _in_chunks(counts, p):
            _check_words(counts, p, some, predicted[pattern.classes])
            _check_statistics(counts, p, some)
    if small:
        check_parts(counts)


def is_sound(counts: Counts, p: int, predicted: list[Integers]) -> bool:
    """Whether a kernel finds nothing wrong with pattern p; False where it cannot look.

    predicted: of each clustering how often the words of each class are met; nothing of words.
    """
    pattern = counts.lattice.stored[p]
    if counts.tables.packed is not None or not pattern.mask or counts.pages is not None:
        return False
    own = predicted[pattern.classes]
    return bool(are_sound(counts.tables, p, own.size or len(counts.vocabulary), own))


def _refuse(pattern: Pattern, what: str) -> None:
    raise ValueError(f"tables of pattern {pattern}: {what}")


def _check_large(tables: Tables) -> None:
    """Refuse a list of large counts that cannot be searched, or of more than can be counted."""
    n_grams = int(tables.places[:, columns.N_GRAMS].sum())
    if tables.large_at.size and (tables.large_at[-1] >= n_grams or (np.diff(tables.large_at) <= 0).any()):
        raise ValueError("large counts of grams that are not there, or in no order")
    if tables.large_counts.size and tables.large_counts.max() > COUNT_MASK:
        raise ValueError(f"a large count of {tables.large_counts.max():,}, expected at most {COUNT_MASK:,}")


def _predicted_classes(counts: Counts) -> list[Integers]:
    """Of each clustering how often the words of each class are met: one that never is cannot be predicted.

    The first is nothing, for patterns of words.
    """
    predicted = [_NO_GRAMS]
    class_of = counts.tables.class_of.reshape(-1, len(counts.vocabulary))
    for own, numbers in zip(counts.clusterings, class_of.astype(np.int64), strict=True):
        numbers, n_classes = numbers - own.start, own.stop - own.start
        has_special = numbers[: len(SPECIAL)].tolist() == list(range(len(SPECIAL)))
        if not has_special or numbers.min() < 0 or numbers.max() >= n_classes:
            raise ValueError("classes of words that have no name")
        predicted.append(np.bincount(numbers, counts.tables.word_counts, n_classes).astype(np.int64))
    return predicted


def _in_chunks(counts: Counts, p: int) -> Iterator[_Some]:
    """The contexts of pattern p and their grams, some at a time; their bounds are checked."""
    tables, pattern, at = counts.tables, counts.lattice.stored[p], counts.tables.places[p]
    n_contexts, n_grams = int(at[columns.N_CONTEXTS]), int(at[columns.N_GRAMS])
    done = 0
    for first in range(0, n_contexts, _CHUNK) or (0,):
        last = min(first + _CHUNK, n_contexts)
        records = _records(tables, p, first, last)
        begins, rows = records >> ROW_BITS, records[:-1] & ROW_MASK
        if begins[0] != done or (np.diff(begins) < 0).any() or (last == n_contexts and begins[-1] != n_grams):
            _refuse(pattern, "contexts whose grams overlap, or are not there")
        if tables.packed is not None and not _ends_are_begins(tables, p, first, begins):
            _refuse(pattern, "contexts that end elsewhere than the next begins")
        if rows.size and rows.max() >= at[columns.N_ROWS]:
            _refuse(pattern, "contexts without statistics")
        done = int(begins[-1])
        yield _Some(first, begins, rows, *_grams(tables, p, int(begins[0]), done))
        if counts.pages is not None:
            counts.pages.release()


def _ends_are_begins(tables: Tables, p: int, first: int, begins: Integers) -> bool:
    """Whether the last context of each block, in the compact layout, ends where the next block has the next begin."""
    lasts = [c for c in range(first, first + begins.size - 1) if (c + 1) % BLOCK == 0 or c == first + begins.size - 2]
    return all(context_at(tables, p, c)[1] == begins[c + 1 - first] for c in lasts)


def _records(tables: Tables, p: int, first: int, last: int) -> Integers:
    """Contexts first … last as `begin << ROW_BITS | row`, the last only for where it begins."""
    at = tables.places[p]
    if tables.contexts.size:
        begin, stride = int(at[columns.FIRST_CONTEXT]), int(at[columns.STRIDE])
        return tables.contexts[begin + first * stride : begin + last * stride + 1 : stride]
    n_contexts = int(at[columns.N_CONTEXTS])
    records: Integers = unpack_contexts(tables, p, first, min(last + 1, n_contexts))
    return records if last < n_contexts else np.append(records, at[columns.N_GRAMS] << ROW_BITS)


def _grams(tables: Tables, p: int, begin: int, end: int) -> tuple[Integers, Integers]:
    """The words and counts of some grams. Those of the fast layout are read here, without a kernel to be loaded."""
    at = tables.places[p]
    if not tables.contexts.size or sys.byteorder != "little":
        grams: Integers = unpack_grams(tables, p, begin, end)
        return grams >> COUNT_BITS, grams & COUNT_MASK
    first, code_bits, key_bits = int(at[columns.FIRST_GRAM]), int(at[columns.CODE_BITS]), int(at[columns.KEY_BITS])
    narrow = tables.grams.view(np.uint32)[first + begin : first + end].astype(np.int64)
    counts = narrow & ((1 << code_bits) - 1)
    large = np.flatnonzero(counts == (1 << code_bits) - 1)
    if large.size:
        places = np.searchsorted(tables.large_at, large + (first + begin))
        if places.max() >= tables.large_at.size or (tables.large_at[places] != large + (first + begin)).any():
            raise ValueError("a large count that is not listed")
        counts[large] = tables.large_counts[places]
    inverse = pow(_odd(key_bits), -1, 1 << key_bits)
    return (narrow >> code_bits) * inverse & ((1 << key_bits) - 1), counts


def _odd(key_bits: int) -> int:
    """What words are multiplied with to give keys (`kernels.tables.keys.key_of`)."""
    return int((1 << key_bits) * 0.6180339887498949) | 1


def _keys(tables: Tables, p: int, words: Integers) -> Integers:
    """The keys of words, by which the grams of a context are sorted."""
    key_bits = int(tables.places[p, columns.KEY_BITS])
    return words * _odd(key_bits) & ((1 << key_bits) - 1)


def _check_words(counts: Counts, p: int, some: _Some, predicted: Integers) -> None:
    """Refuse grams of words that there are not, in an order that cannot be searched, or that predict `<s>`."""
    pattern, words = counts.lattice.stored[p], some.words
    n_words = predicted.size or len(counts.vocabulary)
    if words.size and words.max() >= n_words:
        _refuse(pattern, "a gram of a word that is not there")
    if (some.counts[words == START_ID] > 0).any():
        _refuse(pattern, "a gram that predicts <s>")
    if predicted.size and (predicted[words[some.counts > 0]] == 0).any():
        _refuse(pattern, "a gram of a class without words")
    if not pattern.mask:
        if (words != np.arange(n_words)).any():
            _refuse(pattern, "words in another order than that of their ids")
    else:
        rising = np.diff(_keys(counts.tables, p, words)) > 0
        starts = some.begins[1:-1] - some.begins[0]
        starts = starts[(starts > 0) & (starts < words.size)]
        rising[starts - 1] = True  # between the last gram of a context and the first of another
        if not rising.all() or (some.counts < 1).any():
            _refuse(pattern, "grams that are there twice, or in no order, or were never seen")


def _rows_of(tables: Tables, p: int) -> Integers:
    """The statistics of the contexts of pattern p."""
    first = int(tables.places[p, columns.FIRST_ROW])
    rows: Integers = tables.rows[first : first + int(tables.places[p, columns.N_ROWS])]
    return rows


def _check_rows(counts: Counts, p: int) -> None:
    """Refuse statistics that no context has."""
    pattern, rows = counts.lattice.stored[p], _rows_of(counts.tables, p)
    if rows[0].any():
        _refuse(pattern, "statistics of contexts never seen")
    if not counts.pruned and rows[:, 4].any():
        _refuse(pattern, "grams that are missing though none was pruned")


def _check_statistics(counts: Counts, p: int, some: _Some) -> None:
    """Refuse contexts whose statistics are not those of their grams."""
    pattern, rows = counts.lattice.stored[p], _rows_of(counts.tables, p)
    ends = some.begins - some.begins[0]
    statistics = rows[some.rows]
    seen = (some.counts, some.counts == 1, some.counts == 2, some.counts >= 3)
    for k, occurring in enumerate(seen):
        sums = np.diff(np.concatenate([[0], np.cumsum(occurring, dtype=np.int64)])[ends])
        if (sums != statistics[:, k] - (statistics[:, 4] if k == 0 else 0)).any():
            _refuse(pattern, "statistics that are not those of the grams")


def check_parts(counts: Counts) -> None:
    """Refuse a gram of which a part, the gram that skips one word more, is not there: no search would look for it."""
    if not counts.tables.parts.any():
        return
    number = {pattern: p for p, pattern in enumerate(counts.lattice.stored)}
    contexts_of: dict[Pattern, Integers] = {}
    parts_of: dict[tuple[Pattern, Pattern], Integers] = {}  # of each gram of a pattern its part's number in another
    for p, pattern in enumerate(counts.lattice.stored):
        contexts, words = _contexts_and_words(counts, p)
        contexts_of[pattern] = contexts
        for part in pattern.smaller():
            if part not in number:
                continue
            if not part.mask:
                parts_of[pattern, part] = words  # a gram of the empty pattern has the number of its word
                continue
            # Without the nearest word the context is that of the context; else it is the context's own part.
            nearest_goes = part.nearest != pattern.nearest
            above = contexts_of[pattern.tail] if nearest_goes else parts_of[pattern.tail, part.tail]
            parts_of[pattern, part] = numbers = _numbers_of(counts, number[part], above[contexts], words)
            if (numbers < 0).any():
                _refuse(pattern, f"a gram whose words pattern {part} was never seen with")


def _contexts_and_words(counts: Counts, p: int) -> tuple[Integers, Integers]:
    """The context and the word of each gram of pattern p."""
    some = list(_in_chunks(counts, p))
    return np.concatenate([s.contexts for s in some]), np.concatenate([s.words for s in some])


def _numbers_of(counts: Counts, p: int, contexts: Integers, words: Integers) -> Integers:
    """The numbers of the grams of pattern p with these contexts and words; -1 where it has none."""
    tables, bits = counts.tables, int(counts.tables.places[p, columns.KEY_BITS])
    own_contexts, own_words = _contexts_and_words(counts, p)
    own = own_contexts << bits | _keys(tables, p, own_words)
    wanted = contexts << bits | _keys(tables, p, words)
    nearest = np.minimum(np.searchsorted(own, wanted), max(own.size - 1, 0))
    return np.where(own[nearest] == wanted, nearest, -1) if own.size else np.full(wanted.size, -1)
