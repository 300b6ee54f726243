"""Whether the arrays of counts fit each other, so that no kernel is led outside of them by what says where things lie.

These arrays are small and are checked whenever a file is opened (`kernels.tables.structure`). What lies in the large
ones kernels do not believe.
"""

from __future__ import annotations

from gapgram.counts.assemble import numbers_of
from gapgram.kernels.tables.arrays import Tables
from gapgram.kernels.tables.structure import FAULTS, fault_of_structure
from gapgram.pattern import Pattern


def check_structure(patterns: tuple[Pattern, ...], tables: Tables, n_words: int, n_classes: int) -> None:
    """Refuse tables whose places are not those that patterns with so many grams and rows have.

    n_classes: how many classes of all clusterings have names; 0 without patterns of classes.
    """
    number, p, column, found, expected = fault_of_structure(numbers_of(patterns), tables, n_words, n_classes)
    if number:
        named = {"pattern": patterns[p], "column": column, "found": f"{found:,}", "expected": f"{expected:,}"}
        raise ValueError(FAULTS[number].format(**named))
