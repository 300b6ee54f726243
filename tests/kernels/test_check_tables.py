"""The kernel that looks at tables finds what NumPy finds in the same numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gapgram
from gapgram.counts.check_meaning import fault_of, predicted_classes
from gapgram.counts.counts import Counts
from gapgram.kernels.tables import arrays as columns
from gapgram.kernels.tables.arrays import ROW_BITS, ROW_MASK, Tables
from gapgram.kernels.tables.read import context_at
from gapgram.kernels.text.special_words import START_ID
from gapgram.pattern import Pattern


def _is_refused(counts: Counts, pattern: Pattern) -> bool:
    """Whether the contexts of a pattern and their grams are not those of counts, by the arrays of the fast layout."""
    tables, predicted = counts.tables, predicted_classes(counts)[pattern.classes]
    at, rows = tables.places[counts.index(pattern)], counts.rows(pattern)
    records, n_grams = counts.contexts(pattern), int(at[columns.N_GRAMS])
    begins, row_of = records >> ROW_BITS, records[:-1] & ROW_MASK
    if begins[0] != 0 or begins[-1] != n_grams or (np.diff(begins) < 0).any() or row_of.max() >= len(rows):
        return True
    first, code_bits, key_bits = (int(at[k]) for k in (columns.FIRST_GRAM, columns.CODE_BITS, columns.KEY_BITS))
    narrow = tables.grams.view(np.uint32)[first : first + n_grams].astype(np.int64)
    keys, seen = narrow >> code_bits, narrow & ((1 << code_bits) - 1)
    for g in np.flatnonzero(seen == (1 << code_bits) - 1).tolist():
        listed = np.flatnonzero(tables.large_at == first + g)
        if not listed.size:
            return True
        seen[g] = tables.large_counts[listed[0]]
    odd = int((1 << key_bits) * 0.6180339887498949) | 1
    words = keys * pow(odd, -1, 1 << key_bits) & ((1 << key_bits) - 1)
    contexts = np.repeat(np.arange(row_of.size), np.diff(begins))
    kinds = seen, seen == 1, seen == 2, seen > 2
    statistics = np.array([np.bincount(contexts, kind, row_of.size) for kind in kinds])
    expected = rows[row_of, :4].T - rows[row_of, 4] * (np.arange(4) == 0)[:, None]
    falls = (np.diff(keys) <= 0) & (np.diff(contexts) == 0)
    unknown = words >= (predicted.size or len(counts.vocabulary))
    never = predicted.size > 0 and not unknown.any() and (predicted[words] == 0).any()
    odd_grams = unknown | (words == START_ID) | (seen < 1)
    return bool(odd_grams.any() or never or falls.any() or (statistics != expected).any())


def _with_a_bit_flipped(tables: Tables, name: str, chance: np.random.Generator) -> Tables:
    array = np.array(getattr(tables, name))
    array.reshape(-1).view(np.uint64)[chance.integers(array.size)] ^= np.uint64(1) << np.uint64(chance.integers(40))
    return tables._replace(**{name: array})


@pytest.mark.parametrize("kind", ["mkn", "classes", "pruned"])
def test_sound_tables_and_damaged_ones(fast: dict[str, gapgram.Model], kind: str) -> None:
    whole, chance = fast[kind].counts, np.random.default_rng(1)
    predicted, n_refused = predicted_classes(whole), 0
    patterns = [pattern for pattern in whole.lattice.stored if pattern.mask]
    assert not any(fault_of(whole, p, predicted) for p in whole.lattice.stored)
    names = [name for name in ("grams", "contexts", "rows", "large_at") if getattr(whole.tables, name).size]
    for name in 30 * names:
        counts = replace(whole, tables=_with_a_bit_flipped(whole.tables, name, chance))
        for p in patterns:
            refused = _is_refused(counts, p)
            assert bool(fault_of(counts, p, predicted)) == refused, (name, p)
            n_refused += refused
    assert n_refused > 60


def test_compact_tables_are_looked_at_as_fast_ones_are(fast: dict[str, gapgram.Model]) -> None:
    compact = fast["classes"].with_layout("compact").counts
    predicted = predicted_classes(compact)
    assert not any(fault_of(compact, p, predicted) for p in compact.lattice.stored)
    rows = compact.tables.rows.copy()
    rows[1:, 0] += 1
    other = replace(compact, tables=compact.tables._replace(rows=rows))
    said = "statistics that are not those of the grams"
    assert {fault_of(other, p, predicted) for p in compact.lattice.stored} == {said}


@pytest.mark.parametrize("layout", ["fast", "compact"])
def test_a_context_is_where_its_record_says(fast: dict[str, gapgram.Model], layout: str) -> None:
    counts = fast["classes"].with_layout(layout).counts
    for p, pattern in enumerate(counts.lattice.stored):
        records = counts.contexts(pattern)
        for c in range(0, records.size - 1, 7):
            begin, end = (records[c : c + 2] >> ROW_BITS).tolist()
            assert context_at(counts.tables, p, c) == (begin, end, records[c] & ROW_MASK)
