"""What the page begins with: places of held-out text; and files of KenLM beside models of gapgram."""

from __future__ import annotations

import math

import pytest
from tests.support.kenlm_files import opened

import gapgram
from gapgram.reporting.showcase import best_places
from gapgram.text.splitting import as_written

pytest.importorskip("fastapi", reason="the extra web is not installed")

from gapgram.web import requests
from gapgram.web.examples import make_examples
from gapgram.web.served import ServedModel

WORDS = ["red", "green", "blue", "grey", "pink", "white"]
# A gap pays: what comes two words after `big` or `small` depends on it, whatever stands between.
SIZES = (("big", "house"), ("small", "mouse"))
TEXT = [f"we saw one {size} {word} {thing} today" for word in WORDS for size, thing in SIZES] * 5
HELD_OUT = ["we saw one big brown house today", "they went home"]


@pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
def test_examples_are_the_held_out_places_where_a_gap_saves_most() -> None:
    models = {name: gapgram.train(sentences=[*TEXT, "brown"], order=3, model=name) for name in ("mkn", "glm")}
    (place,) = best_places(models["glm"], HELD_OUT, beside=models["mkn"])
    assert (place.context, place.word) == (("big", "brown"), "house")
    explained = models["glm"].explain(place.word, place.context)
    gaps = sum(p.contribution for p in explained.patterns if "0" in p.pattern)
    assert place.gain == pytest.approx(-math.log2(1 - gaps / explained.probability))
    examples = make_examples([ServedModel(*one) for one in models.items()], HELD_OUT)
    assert (examples.beginning, examples.next_word) == ("we saw one big brown", "house")
    assert "gaps and classes save most" in examples.told


def test_marks_are_written_as_people_write_them() -> None:
    assert as_written(["(", "a", ")", ",", "``", "b", "''", "it", "'s"]) == "(a), `` b '' it's"


def test_a_chain_of_kenlm_is_taken_apart_by_its_backoff_weights() -> None:
    model = opened("probing")
    words = [word for word in model.vocabulary if word.isalpha()]
    served = ServedModel("kenlm", model)
    assert served.description.estimator == "kenlm"
    for word in words[:20]:
        answer = served.explain(requests.ExplainQuestion(model="kenlm", context=" ".join(words[:3]), word=word))
        assert sum(p.contribution for p in answer.patterns) == pytest.approx(answer.probability)
        (giving,) = [p for p in answer.patterns if p.contribution]
        weight = math.prod(p.backoff for p in answer.patterns if len(p.pattern) > len(giving.pattern))
        assert weight == pytest.approx(giving.share)
        assert giving.share * giving.discounted == pytest.approx(answer.probability)
