"""The kernel that looks at large tables finds what the check of small ones finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gapgram
from gapgram.counts import check_meaning as meaning
from gapgram.counts.counts import Counts
from gapgram.kernels.tables.arrays import Tables


def _is_refused(counts: Counts, p: int) -> bool:
    """Whether the check of small tables refuses pattern p."""
    pattern, predicted = counts.lattice.stored[p], meaning._predicted_classes(counts)
    try:
        for some in meaning._in_chunks(counts, p):
            meaning._check_words(counts, p, some, predicted[pattern.classes])
            meaning._check_statistics(counts, p, some)
    except (ValueError, IndexError):
        return True
    return False


def _with_a_bit_flipped(tables: Tables, name: str, chance: np.random.Generator) -> Tables:
    array = np.array(getattr(tables, name))
    array.reshape(-1).view(np.uint64)[chance.integers(array.size)] ^= np.uint64(1) << np.uint64(chance.integers(40))
    return tables._replace(**{name: array})


@pytest.mark.parametrize("kind", ["mkn", "classes", "pruned"])
def test_sound_tables_and_damaged_ones(fast: dict[str, gapgram.Model], kind: str) -> None:
    whole, chance = fast[kind].counts, np.random.default_rng(1)
    predicted, n_refused = meaning._predicted_classes(whole), 0
    patterns = [p for p, pattern in enumerate(whole.lattice.stored) if pattern.mask]
    assert all(meaning.is_sound(whole, p, predicted) for p in patterns)
    names = [name for name in ("grams", "contexts", "rows", "large_at") if getattr(whole.tables, name).size]
    for name in 30 * names:
        counts = replace(whole, tables=_with_a_bit_flipped(whole.tables, name, chance))
        for p in patterns:
            refused = _is_refused(counts, p)
            assert meaning.is_sound(counts, p, predicted) == (not refused), (name, p)
            n_refused += refused
    assert n_refused > 60
