"""Tables that a damaged file holds are never read outside their bounds."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.corpora import toy_text
from tests.support.made_tables import DRAWS, LENGTHS, counts_of

import gapgram
from gapgram.counts.layouts import in_layout
from gapgram.kernels.tables import compact_read

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

DAMAGED = """
import sys
import numpy as np
import gapgram
from gapgram import Counts, Model
from gapgram.kernels.tables import read as read_tables
from gapgram.kernels.tables import arrays as kernels

class Guarded(np.ndarray):
    def __getitem__(self, at):
        if isinstance(at, (int, np.integer)) and not 0 <= at < self.size:
            raise IndexError(f"{at} of {self.size}")
        return np.asarray(self)[at]

draw = np.random.default_rng(1)

def damaged(tables, share):
    for name in ("packed", "grams", "large_at", "large_counts"):
        array = getattr(tables, name).copy()
        if array.size:
            some = draw.integers(0, array.size, 1 + array.size // share)
            array[some] = draw.integers(0, 2**64, some.size, dtype=np.uint64).view(array.dtype)
        tables = tables._replace(**{name: array.view(Guarded)})
    return tables

np.seterr(all="ignore")
model, counts = Model.load(sys.argv[1]), Counts.open(sys.argv[2], verify=False)
for share in (1, 5, 5, 9) * 3:
    broken = Model(model.parts.with_tables(damaged(model.counts.tables, share)))
    broken.scores("w1 w2 w3 w1 w9 w1 w2 w3")
    broken.distribution(["w1", "w2"])
    try:
        broken.predict(["w1"], 3)
    except IndexError as error:
        assert "the vocabulary has ids" in str(error)  # a key of no word: refused, not read
    tables = damaged(counts.tables, share)
    n_grams, n_contexts = tables.places[1, [kernels.N_GRAMS, kernels.N_CONTEXTS]]
    for context in draw.integers(0, n_contexts, 60):
        begin, end, row = read_tables.context_at(tables, 1, context)
        assert 0 <= begin <= end <= n_grams
    for gram in draw.integers(0, n_grams, 60):
        read_tables.read_grams(tables, 1, gram, np.empty(1, np.int64), np.empty(1, np.int64))
print("survived")
"""


def test_a_damaged_file_is_never_read_outside(tmp_path: Path) -> None:
    # Kernels as plain Python, in arrays that refuse any place outside, also one before the first.
    lines, chance = [*toy_text(30, vocabulary=12), *["w1 w2 w3"] * 9], random.Random(2)
    gapgram.train(sentences=lines, order=3, model="mkn", layout="compact", output=tmp_path / "m")
    counts = counts_of(LENGTHS["far apart"], lambda: DRAWS["heavy"](chance))
    tables = in_layout(counts, "compact")
    assert (tables.packed_places[1, [compact_read.N_FAR, compact_read.N_LISTED, compact_read.N_MORE]] > 0).all()
    replace(counts, tables=tables).save(tmp_path / "c")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DAMAGED, str(tmp_path / "m"), str(tmp_path / "c")],
        capture_output=True, text=True, env={**os.environ, "GAPGRAM_KERNELS": "python"},
    )  # fmt: skip
    assert done.stdout == "survived\n", done.stderr
