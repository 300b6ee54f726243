"""Figures that other programs, or the slow reference, gave; each file says how it was made."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import pytest
from tests.support.corpora import golden_sentences, golden_text

import gapgram
from gapgram import Model, Pattern

GOLDEN = Path(__file__).parent / "golden"

# Below the figures' last digit: KenLM prints float32 sums of up to 15 words.
KENLM_TOLERANCE = 1e-5


def rows(path: Path) -> list[dict[str, str]]:
    lines = (line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("# "))
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def trained(name: str, order: int) -> Model:
    weights = "uniform" if name == "glm" else None
    return gapgram.train(sentences=golden_text(), order=order, model=name, weights=weights)


@cache
def trained_on_the_paper(text: Path, name: str, order: int) -> Model:
    return gapgram.train(text, order=order, model=name, weights="uniform" if name == "glm" else None)


def test_the_golden_text_has_not_changed() -> None:
    words = " ".join(golden_text()).split()
    assert (len(golden_text()), len(words), len(set(words))) == (2000, 14_820, 800)
    assert [row["sentence"] for row in rows(GOLDEN / "kenlm.tsv")] == golden_sentences()


@pytest.mark.parametrize("order", [3, 5])
def test_mkn_scores_are_those_of_kenlm(order: int) -> None:
    model = trained("mkn", order)
    golden = rows(GOLDEN / "kenlm.tsv")
    assert len(golden) == 100
    for row in golden:
        assert model.score(row["sentence"]) == pytest.approx(float(row[f"order{order}"]), abs=KENLM_TOLERANCE)
        assert sum(word not in model.vocabulary for word in row["sentence"].split()) == int(row["unknown"])


@pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")  # 11011 at order 5: no count is 3
@pytest.mark.parametrize("order", [3, 5])
def test_glm_probabilities_are_those_of_the_reference(order: int) -> None:
    model = trained("glm", order)
    golden = rows(GOLDEN / "glm_uniform.tsv")
    assert len(golden) == 100
    for row in golden:
        *context, word = row["words"].split()
        assert model.log10_prob(word, context) == pytest.approx(float(row[f"order{order}"]), abs=2e-12)


@pytest.mark.parametrize("order", [3, 4, 5])
@pytest.mark.parametrize("name", ["mkn", "glm"])
def test_the_sequences_of_the_paper(shared_data: Path, name: str, order: int) -> None:
    model = trained_on_the_paper(shared_data / "paper" / "train.txt", name, order)
    golden = rows(shared_data / "golden" / "paper_sequences.tsv")
    assert len(golden) == 300
    for row in golden:
        *context, word = row["sequence"].split()[:order]
        assert model.log10_prob(word, context) == pytest.approx(float(row[f"{name}{order}"]), abs=1e-6)


def test_the_discounts_of_the_paper(shared_data: Path) -> None:
    model = trained_on_the_paper(shared_data / "paper" / "train.txt", "glm", 5)
    golden = rows(shared_data / "golden" / "paper_discounts.tsv")
    assert len(golden) == 16
    for row in golden:
        pattern = Pattern.parse(row["pattern"])
        assert model.counts.counts_of_counts(pattern) == tuple(int(row[f"n{k}"]) for k in (1, 2, 3, 4))
        found = model.parts.discounts.values[model.counts.index(pattern)]
        assert found.tolist() == pytest.approx([float(row[d]) for d in ("D1", "D2", "D3+")], abs=1e-6)
