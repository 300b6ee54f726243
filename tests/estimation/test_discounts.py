"""Discounts at the limits of their range: what is documented is used, and no word is left without probability."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.model import discounts
from tests.support.corpora import toy_text

import gapgram
from gapgram.errors import DiscountWarning, UsageError
from gapgram.estimation.discounts import FALLBACK, discounts_of
from gapgram.estimation.parts import ModelParts
from gapgram.models.model import Model
from gapgram.pattern import Pattern

# Of pattern 11, n1 … n4 are 4, 1, 1 and 0: D2 = 2 - 3 * 4/6 * 1/1 = 0.
WITHOUT_DISCOUNT = ["w1 w0 w0", "w0 w0 w0 w0 w1 w0 w0 w0 w0 w0 w0 w1 w0 w0 w0"]


@given(*[st.integers(0, 40)] * 4)
def test_they_are_those_of_the_reference(n1: int, n2: int, n3: int, n4: int) -> None:
    found, problem = discounts_of((n1, n2, n3, n4))
    assert found == pytest.approx(discounts(n1, n2, n3, n4))
    assert all(0 < discount <= k for k, discount in enumerate(found, 1))
    assert not problem or found == FALLBACK


@pytest.mark.parametrize("n", [(4, 1, 1, 0), (6, 3, 4, 1), (9, 3, 2, 5)])
def test_a_discount_of_zero_or_below_falls_back(n: tuple[int, int, int, int]) -> None:
    assert discounts_of(n)[0] == FALLBACK == discounts(*n)


def test_a_text_whose_discount_would_be_zero() -> None:
    with pytest.warns(DiscountWarning, match=r"pattern 11 .*: D2 would be 0\.000 .*n1=4, n2=1, n3=1, n4=0"):
        model = gapgram.train(sentences=WITHOUT_DISCOUNT, order=3, model="mkn")
    assert model.distribution("w1")[2] > 1e-3
    assert model.perplexity(sentences=["w1"]).perplexity < 100


@pytest.fixture(scope="module")
def without(models: dict[str, Model]) -> Model:
    """A model as a stranger may make one: its discounts, and what falls back, are zero."""
    parts = models["mkn"].parts
    discounts = replace(parts.discounts, values=0 * parts.discounts.values)
    return Model(ModelParts.of(parts.name, parts.counts, discounts, parts.weights))


def word_without(model: Model, context: str) -> str:
    """A word that has no probability."""
    return model.vocabulary[int(np.flatnonzero(model.distribution(context) == 0)[-1])]


def test_a_probability_of_zero_is_explained(without: Model) -> None:
    found = without.explain(word_without(without, "w1"), "w1")
    assert 0 < found.probability < 1e-300
    assert str(found)
    assert repr(found)
    assert found._repr_html_()


def test_the_service_explains_a_probability_of_zero(without: Model) -> None:
    pytest.importorskip("fastapi")
    from gapgram.web.requests import ExplainQuestion
    from gapgram.web.served import ServedModel

    question = ExplainQuestion(model="odd", context="w1", word=word_without(without, "w1"))
    answer: Any = ServedModel("odd", without).explain(question)
    assert answer.log10_prob < -300


def test_discounts_as_lmplz_has_them(tmp_path: Path) -> None:
    """The word that is new last, `z`, is met twice after one word: lmplz takes 2 for its 1."""
    lines = [*toy_text(1200, seed=5, vocabulary=800), "w1 z", "w1 z"]
    textbook, lmplz = (
        gapgram.train(sentences=lines, order=3, model="mkn", discounts=rule, output=tmp_path / rule)
        for rule in ("textbook", "lmplz")
    )
    n = textbook.counts.counts_of_counts(Pattern.contiguous(0))
    expected, _ = discounts_of((n[0] - 1, n[1] + 1, n[2], n[3]))
    assert lmplz.parts.discounts.values[0].tolist() == list(expected)
    assert lmplz.parts.discounts.values[2].tolist() == textbook.parts.discounts.values[2].tolist()
    again = gapgram.Model.load(tmp_path / "lmplz", verify=True)
    assert again.parts.discounts.as_lmplz and "|discounts:lmplz|" in str(again.signature)
    assert "|discounts:modified|" in str(textbook.signature)
    with pytest.raises(UsageError, match="expected textbook, or lmplz for model mkn"):
        gapgram.train(sentences=lines, discounts="lmplz")
