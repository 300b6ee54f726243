"""Whether tables mean what tables of counts mean: every gram a word that there is, every context its own statistics.

Where they do, the discounted counts of each context and what it passes on add up to one, and a search finds every gram
that a list holds. The tables of small models are checked whenever a file is opened; those of all others by `verify`.
Whether all parts of all grams of a large model are there takes seconds, and is looked at where a complete check is
wanted.
"""

from __future__ import annotations

import numpy as np

from gapgram.arrays import Integers
from gapgram.counts.counts import Counts
from gapgram.kernels.tables import arrays as columns
from gapgram.kernels.tables.arrays import COUNT_BITS, COUNT_MASK, ROW_BITS, Tables
from gapgram.kernels.tables.check import FAULTS, OVERLAP, fault_of_contexts
from gapgram.kernels.tables.keys import keys_of
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.pattern import Pattern

MAX_GRAMS_CHECKED_ON_OPENING = 1 << 16
_CHUNK = 1 << 20  # contexts looked at at a time
_NO_CLASSES = np.zeros(0, np.int64)


def is_checked_whole(counts: Counts, verify: bool | None) -> bool:
    """Whether all of the tables is looked at when a file is opened: if `verify`; unless False, where they are small."""
    return are_small(counts) if verify is None else verify


def are_small(counts: Counts) -> bool:
    """Whether the tables are so small that they are checked whenever a file is opened."""
    return int(counts.tables.places[:, columns.N_GRAMS].sum()) <= MAX_GRAMS_CHECKED_ON_OPENING


def check_meaning(counts: Counts) -> None:
    """Refuse counts whose tables are not those of any text; large ones whose grams lack parts: `check_parts`."""
    _check_large(counts.tables)
    predicted = predicted_classes(counts)
    for pattern in counts.lattice.stored:
        _check_rows(counts, pattern)
        if fault := fault_of(counts, pattern, predicted):
            _refuse(pattern, fault)
    if are_small(counts):
        check_parts(counts)


def fault_of(counts: Counts, pattern: Pattern, predicted: list[Integers]) -> str:
    """What is wrong with the contexts of a pattern and their grams; nothing where they are sound.

    predicted: of each clustering how often the words of each class are met; nothing of words.
    """
    p, own, end = counts.index(pattern), predicted[pattern.classes], 0
    n_contexts, n_grams = map(int, counts.tables.places[p, [columns.N_CONTEXTS, columns.N_GRAMS]])
    for first in range(0, n_contexts, _CHUNK):
        span = first, min(first + _CHUNK, n_contexts)
        number, end = fault_of_contexts(counts.tables, p, *span, end, own.size or len(counts.vocabulary), own)
        if number:
            return FAULTS[number]
        if counts.pages is not None:
            counts.pages.release()
    return FAULTS[OVERLAP] if end != n_grams else ""


def _refuse(pattern: Pattern, what: str) -> None:
    raise ValueError(f"tables of pattern {pattern}: {what}")


def _check_large(tables: Tables) -> None:
    """Refuse a list of large counts that cannot be searched, or of more than can be counted."""
    n_grams = int(tables.places[:, columns.N_GRAMS].sum())
    if tables.large_at.size and (tables.large_at[-1] >= n_grams or (np.diff(tables.large_at) <= 0).any()):
        raise ValueError("large counts of grams that are not there, or in no order")
    if tables.large_counts.size and tables.large_counts.max() > COUNT_MASK:
        raise ValueError(f"a large count of {tables.large_counts.max():,}, expected at most {COUNT_MASK:,}")


def predicted_classes(counts: Counts) -> list[Integers]:
    """Of each clustering how often the words of each class are met: one that never is cannot be predicted.

    The first is nothing, for patterns of words.
    """
    predicted = [_NO_CLASSES]
    class_of = counts.tables.class_of.reshape(-1, len(counts.vocabulary))
    for own, numbers in zip(counts.clusterings, class_of.astype(np.int64), strict=True):
        numbers, n_classes = numbers - own.start, own.stop - own.start
        has_special = numbers[: len(SPECIAL)].tolist() == list(range(len(SPECIAL)))
        if not has_special or numbers.min() < 0 or numbers.max() >= n_classes:
            raise ValueError("classes of words that have no name")
        predicted.append(np.bincount(numbers, counts.tables.word_counts, n_classes).astype(np.int64))
    return predicted


def _check_rows(counts: Counts, pattern: Pattern) -> None:
    """Refuse statistics that no context has."""
    rows = counts.rows(pattern)
    if rows[0].any():
        _refuse(pattern, "statistics of contexts never seen")
    if not counts.pruned and rows[:, 4].any():
        _refuse(pattern, "grams that are missing though none was pruned")


def check_parts(counts: Counts) -> None:
    """Refuse a gram of which a part, the gram that skips one word more, is not there: no search would look for it."""
    if not counts.tables.parts.any():
        return
    contexts_of: dict[Pattern, Integers] = {}
    parts_of: dict[tuple[Pattern, Pattern], Integers] = {}  # of each gram of a pattern its part's number in another
    for pattern in counts.lattice.stored:
        contexts, words = _contexts_and_words(counts, pattern)
        contexts_of[pattern] = contexts
        for part in pattern.smaller():
            if part not in counts.lattice.stored:
                continue
            if not part.mask:
                parts_of[pattern, part] = words  # a gram of the empty pattern has the number of its word
                continue
            # Without the nearest word the context is that of the context; else it is the context's own part.
            nearest_goes = part.nearest != pattern.nearest
            above = contexts_of[pattern.tail] if nearest_goes else parts_of[pattern.tail, part.tail]
            parts_of[pattern, part] = numbers = _numbers_of(counts, part, above[contexts], words)
            if (numbers < 0).any():
                _refuse(pattern, f"a gram whose words pattern {part} was never seen with")


def _contexts_and_words(counts: Counts, pattern: Pattern) -> tuple[Integers, Integers]:
    """The context and the word of each gram of a pattern."""
    n = np.diff(counts.contexts(pattern) >> ROW_BITS)
    return np.repeat(np.arange(n.size), n), counts.grams(pattern) >> COUNT_BITS


def _numbers_of(counts: Counts, pattern: Pattern, contexts: Integers, words: Integers) -> Integers:
    """The numbers of the grams of a pattern with these contexts and words; -1 where it has none."""
    bits = int(counts.tables.places[counts.index(pattern), columns.KEY_BITS])
    own_contexts, own_words = _contexts_and_words(counts, pattern)
    own = own_contexts << bits | keys_of(own_words, bits)
    wanted = contexts << bits | keys_of(words, bits)
    nearest = np.minimum(np.searchsorted(own, wanted), max(own.size - 1, 0))
    return np.where(own[nearest] == wanted, nearest, -1) if own.size else np.full(wanted.size, -1)
