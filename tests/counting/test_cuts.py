"""Rare grams left out where they are counted: the same bits as training in full and pruning afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.limited import SMALL, names

import gapgram
from gapgram import UsageError
from gapgram.errors import PruningWarning

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

MODELS: list[dict[str, Any]] = [
    {"model": "mkn", "order": 5},
    {"weights": "uniform", "order": 4},
    {"weights": "counts", "order": 4},
    {"weights": "uniform", "order": 5, "lattice": "11,101,1101,1001"},
]
MEMORIES: list[int | str] = [9_000, SMALL, "1T"]  # pairs of words in several parts; bands in files; all in memory


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    words = [f"w{(i * i * 31 + i * j) % 17 % (1 + i % 9)}" for i in range(1, 500) for j in range(8)]
    path.write_text("\n".join(" ".join(words[i : i + 3 + i % 11]) for i in range(0, len(words), 7)) + "\n")
    return path


@pytest.mark.parametrize("options", MODELS, ids=str)
@pytest.mark.parametrize("prune", ["0,0,1,1,2", "0,3", "0,0,0,2", "0,0,200,400", "0 0 1 1111=4 11111=4"])
@pytest.mark.filterwarnings("ignore::gapgram.errors.PruningWarning")
def test_the_same_bits_as_pruned_afterwards(text: Path, options: dict[str, Any], prune: str) -> None:
    folder = text.parent
    if options["order"] == 4:
        prune = prune.removesuffix(",2") if prune.count(",") == 4 else prune.removesuffix("11111=4")
    gapgram.train(text, **options).pruned(counts=prune, output=folder / "expected")
    for memory in MEMORIES:
        gapgram.train(text, output=folder / "cut", memory=memory, prune=prune, **options)
        assert (folder / "cut").read_bytes() == (folder / "expected").read_bytes(), memory
    assert names(folder) == {"text", "expected", "cut"}


def test_thresholds_that_fall_are_refused(text: Path) -> None:
    with pytest.raises(UsageError, match="1 for pattern 111 is less than 2 for 11, its context: thresh"):
        gapgram.train(text, prune="0,2,1")


def test_an_order_without_a_gram_is_said(text: Path) -> None:
    with pytest.warns(PruningWarning, match="no gram is left of pattern 111, none occurs more often"):
        model = gapgram.train(text, model="mkn", order=3, prune="0,0,100000")
    assert model.counts.size(model.counts.lattice.stored[-1]) == 0
