"""The page with a model that holds a tokeniser: raw text in, whole words out."""

from __future__ import annotations

import pytest
from tests.support.made_models import trained
from tests.support.made_tokenisers import RAW

pytest.importorskip("fastapi", reason="the extra web is not installed")

from gapgram.errors import UsageError
from gapgram.web import requests
from gapgram.web.pool import Deadline
from gapgram.web.served import ServedModel


@pytest.fixture(scope="module")
def served() -> ServedModel:
    return ServedModel("chars", trained(RAW, order=6, model="mkn", tokenizer="chars"))


def test_whole_words_are_predicted(served: ServedModel) -> None:
    asked = requests.PredictQuestion(model="chars", context="the cat", k=1, prefix="s")
    assert served.predict(asked).predictions[0].word == "sat"
    learned = asked.model_copy(update={"history": "the cat sings\nthe cat sings\n"})
    answer = served.predict(learned)
    assert answer.predictions[0].word
    assert answer.words_learned == 2 * len("the cat sings") + 2


def test_raw_text_is_scored_token_by_token(served: ServedModel) -> None:
    answer = served.score(requests.ScoreQuestion(model="chars", text="the cat\n\nA dog"), Deadline.never())
    assert answer.sentences[0].words == [*"the", "▁", *"cat", "</s>"]
    assert answer.log10_prob == pytest.approx(served.model.score("the cat") + served.model.score("A dog"))


def test_the_last_token_is_explained(served: ServedModel) -> None:
    answer = served.explain(requests.ExplainQuestion(model="chars", context="the", word="cat"))
    assert (answer.word, answer.context, answer.known) == ("t", ["h", "e", "▁", "c", "a"], True)


def test_text_is_drawn(served: ServedModel) -> None:
    asked = requests.GenerateQuestion(model="chars", begin="The cat", max_words=20)
    assert served.generate(asked, Deadline.never()).sentences[0].startswith("The cat")


def test_correction_goes_word_by_word(served: ServedModel) -> None:
    with pytest.raises(UsageError, match="correction goes word by word"):
        served.correct(requests.CorrectQuestion(model="chars", text="teh"), Deadline.never())
