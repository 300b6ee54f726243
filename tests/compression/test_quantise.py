"""Quantised models: still distributions, with few different counts, and close to the exact ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.corpora import toy_text
from tests.support.made_models import FAST_KINDS, some_contexts

from gapgram import Model
from gapgram.arrays import Floats, Integers
from gapgram.compression.quantise import means_of_runs
from gapgram.errors import UsageError
from gapgram.kernels.tables.arrays import COUNT_BITS

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


def test_runs_lose_the_least() -> None:
    numbers = np.array([0, 100, 40, 20, 10, 5, 4, 3, 2, 1, 1, 0, 0, 1])
    values = np.arange(numbers.size)
    assert means_of_runs(values, numbers, 99).put_into(values).tolist() == [*range(11), 10, 10, 13]
    counts = np.flatnonzero(numbers)

    def loss(means: Integers | Floats) -> float:
        return float((numbers[counts] * counts * np.log(counts / means[counts])).sum())

    found = means_of_runs(values, numbers, 3).put_into(values)
    assert np.unique(found[counts]).size == 3
    # 1; 2 and 3; 4 to 13; all others with two cuts are worse, but for the rounding of means.
    cuts = [(a, b) for a in range(2, 13) for b in range(a + 1, 14)]
    exact = []
    for a, b in cuts:
        means: Floats = np.zeros(numbers.size)
        for low, high in ((1, a), (a, b), (b, 14)):
            n = numbers[low:high]
            means[low:high] = (n * np.arange(low, high)).sum() / max(1, n.sum())
        exact.append(loss(means) if (means[counts] > 0).all() else np.inf)
    a, b = cuts[int(np.argmin(exact))]
    assert [np.unique(found[low:high]).size for low, high in ((1, a), (a, b), (b, 14))] == [1, 1, 1]


def test_huge_counts_need_no_table_of_all_below() -> None:
    """A dense table of them would take 160 GB."""
    values, numbers = np.array([0, 1, 2, 3, 2 * 10**10]), np.array([5, 40, 20, 10, 1])
    new = means_of_runs(values, numbers, 4)
    assert new.firsts.tolist() == new.means.tolist() == [0, 1, 2, 3, 2 * 10**10]
    grams = np.array([7 << COUNT_BITS | 2 * 10**10, 8 << COUNT_BITS, 9 << COUNT_BITS | 3])
    assert new.put_into(grams).tolist() == grams.tolist()
    assert means_of_runs(values, numbers, 1).means.tolist() == [0, round((40 + 40 + 30 + 2 * 10**10) / 71)]


@pytest.mark.parametrize("kind", FAST_KINDS)
@pytest.mark.parametrize("n_bits", [1, 3])
def test_quantised_models_sum_to_one(fast: dict[str, Model], kind: str, n_bits: int, tmp_path: Path) -> None:
    model = fast[kind].quantised(n_bits)
    for context in some_contexts():
        assert model.distribution(context).sum() == pytest.approx(1, abs=1e-12)
    for pattern in model.counts.lattice.stored[1:]:
        if pattern.mask:
            assert np.unique(model.counts.gram_counts(pattern)).size <= 1 << n_bits
    assert f"|counts:quantised={n_bits}|" in str(model.signature)
    model.save(tmp_path / "m")
    mapped = Model.load(tmp_path / "m")
    assert (mapped.signature, mapped.score("w1 w2")) == (model.signature, model.score("w1 w2"))
    with pytest.raises(UsageError, match=f"quantised already, to {n_bits} bits: start from the exact one"):
        mapped.quantised(2)


def test_many_bits_change_nothing(fast: dict[str, Model]) -> None:
    for kind in FAST_KINDS:
        exact, model = fast[kind], fast[kind].quantised(8)
        assert all(np.unique(exact.counts.gram_counts(p)).size <= 256 for p in exact.counts.lattice.stored[1:])
        texts = toy_text(60, seed=8)
        assert np.array_equal(model.score_many(texts), exact.score_many(texts))


def test_bits_that_make_no_sense(fast: dict[str, Model]) -> None:
    with pytest.raises(UsageError, match="quantise to 9 bits: expected 1 to 8"):
        fast["mkn"].quantised(9)
