"""Words for people who type: no marks or numbers, found from small plain letters, one letter wrong."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.running import Cli

import gapgram
from gapgram import TypedWords

LINES = ["he saw London , 1914 .", "he saw Paris , 1918 .", "elle a vu l' État .", "he saw Londonderry ."] * 9


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> gapgram.Model:
    return gapgram.train(sentences=LINES, order=3, model="mkn", output=tmp_path_factory.mktemp("typed") / "m")


def test_words_alone_are_the_models_own_in_its_order(model: gapgram.Model) -> None:
    found = TypedWords(model).predict("he saw", k=50)
    expected = [p for p in model.predict("he saw", k=50) if p.word.isalpha()]
    assert [p.word for p in found] == [p.word for p in expected]
    assert [p.probability for p in found] == pytest.approx([p.probability for p in expected])
    assert {p.word for p in found}.isdisjoint({",", ".", "1914", "l'"})


@pytest.mark.parametrize(
    ("typed", "word"),
    [("lon", "London"), ("LON", "London"), ("eta", "État"), ("lodn", "London"), ("lndo", "London"), ("lonnd", "London"),
     ("pariz", "Paris"), ("ét", "État"), ("lo", "London")],
)  # fmt: skip
def test_a_beginning_finds_its_word(model: gapgram.Model, typed: str, word: str) -> None:
    assert TypedWords(model).predict("he saw", k=1, prefix=typed)[0].word == word


def test_what_is_right_weighs_more(model: gapgram.Model) -> None:
    (right,), (wrong,) = (TypedWords(model).predict("he saw", k=1, prefix=p) for p in ("londonde", "londonne"))
    assert right.word == wrong.word == "Londonderry"
    assert right.probability == pytest.approx(50 * wrong.probability)
    assert TypedWords(model).predict("he saw", prefix="xyzzy") == []
    assert TypedWords(model).predict("he saw", prefix="xo") == []  # the first letter is right, and there are three


def test_words_that_a_session_has_read(model: gapgram.Model) -> None:
    session = model.session()
    typed = TypedWords(session)
    assert typed.predict("he saw", prefix="zo") == []
    session.read("he saw Zorblina")
    assert [p.word for p in typed.predict("he saw", prefix="zo")] == ["Zorblina"]
    chance = typed.predict("he saw", prefix="zo")[0].probability
    assert chance == pytest.approx(float(session.distribution("he saw")[session.vocabulary.id("Zorblina")]))
    assert np.isfinite(chance)


def test_the_command(model: gapgram.Model, cli: Cli) -> None:
    ran = cli("predict", model.path, "he saw", "--prefix", "lodn", "--words-only", "-k", "1", "--json")
    assert ran.json["predictions"][0]["word"] == "London"
    ran = cli("predict", model.path, "he saw", "--prefix", "lon")
    assert "no word of the model starts with 'lon'; --words-only forgives" in ran.err
    with pytest.raises(gapgram.UsageError, match="k = 0: expected how many words to predict"):
        TypedWords(model).predict(k=0)
    tokens = gapgram.train(sentences=LINES, order=3, model="mkn", tokenizer="chars")
    with pytest.raises(gapgram.UsageError, match="predict --words-only goes word by word"):
        TypedWords(tokens)
