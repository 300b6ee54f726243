"""What the service answers: the model's own numbers, nothing rounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

from fastapi.testclient import TestClient

import gapgram
from gapgram.web.readers import Readers

Ask = Callable[..., Any]
Models = dict[str, gapgram.Model]


def test_health_and_models(client: TestClient) -> None:
    assert client.get("/api/health").json() == {"status": "ok", "version": gapgram.__version__, "models": 3}
    overview = client.get("/api/models").json()
    assert [m["name"] for m in overview["models"]] == ["mkn", "glm", "custom"]
    assert [p["pattern"] for p in overview["models"][0]["patterns"]] == ["1", "11", "111", "1111"]
    assert overview["models"][1]["vocabulary"] == 63
    assert not overview["models"][1]["punctuation_apart"]
    assert overview["limits"]["predictions"] == 100


def test_examples_are_of_the_models_language(client: TestClient) -> None:
    examples = client.get("/api/models").json()["examples"]
    assert all(word.startswith("w") for word in (examples["beginning"] + " " + examples["text"]).split())
    assert examples["next_word"]


@pytest.mark.parametrize("name", ["mkn", "glm", "custom"])
def test_predictions_are_the_predictors(ask: Ask, models: Models, name: str) -> None:
    answer = ask("predict", model=name, context="w1 w2", k=5)
    expected = models[name].predict(["<s>", "w1", "w2"], 5)
    assert [(p["word"], p["probability"]) for p in answer["predictions"]] == [(p.word, p.probability) for p in expected]
    assert answer["signature"] == str(models[name].signature)


def test_predictions_learn_from_a_history(ask: Ask, models: Models) -> None:
    history = "w1 w2 zebra\n\nw1 w2 zebra </s>"
    answer = ask("predict", model="mkn", context="w1 w2", k=3, history=history)
    session = models["mkn"].session()
    session.read(["w1 w2 zebra", "w1 w2 zebra <unk>"])
    expected = session.predict(["<s>", "w1", "w2"], 3)
    assert [(p["word"], p["probability"]) for p in answer["predictions"]] == [(p.word, p.probability) for p in expected]
    assert answer["words_learned"] == session.words_read == 9
    assert answer["signature"] == session.signature
    (zebra,) = ask("predict", model="mkn", context="w1 zebra w2", prefix="ze", history=history)["predictions"]
    assert (zebra["word"], zebra["learned"]) == ("zebra", 1.0)
    assert ask("predict", model="mkn", context="zebra", history=history)["unknown"] == []
    alone = ask("predict", model="mkn", context="zebra")
    assert (alone["unknown"], alone["words_learned"]) == (["zebra"], 0)
    assert all(p["learned"] == 0.0 for p in alone["predictions"])


def test_who_writes_on_is_answered_as_if_all_was_read_at_once(models: Models) -> None:
    readers = Readers(models["glm"], most=2)
    text = "w1 w2 zebra\n"
    for _ in range(4):
        with readers.after(text) as session:
            fresh = models["glm"].session()
            fresh.read(text)
            assert session.predict("w1 w2", 3) == fresh.predict("w1 w2", 3)
        text += "w3 zebra w2\n"
    assert len(readers) == 2  # no more are kept


def test_completion_keeps_to_the_letters(ask: Ask) -> None:
    words = [p["word"] for p in ask("predict", model="glm", context="w1", prefix="w1")["predictions"]]
    assert len(words) == 10
    assert all(word.startswith("w1") for word in words)
    assert ask("predict", model="glm", prefix="nothing")["predictions"] == []


def test_unknown_and_special_words_of_a_context_are_unknown_words(ask: Ask) -> None:
    plain = ask("predict", model="mkn", context="w1 what")
    assert plain["unknown"] == ["what"]
    assert ask("predict", model="mkn", context="w1 </s>")["predictions"] == plain["predictions"]


@pytest.mark.parametrize("name", ["mkn", "glm", "custom"])
def test_explanations_add_up_and_are_the_models(ask: Ask, models: Models, name: str) -> None:
    answer = ask("explain", model=name, context="w1 w2 w9", word="w3")
    found = models[name].explain("w3", ["w1", "w2", "w9"])
    assert answer["probability"] == found.probability
    assert [p["pattern"] for p in answer["patterns"]] == [p.pattern for p in found.patterns]
    parts = sum(p["part"] for p in answer["patterns"]) + answer["uniform_contribution"] / answer["probability"]
    assert parts == pytest.approx(1, abs=1e-12)
    for pattern in answer["patterns"]:
        left = max(0.0, pattern["count"] - pattern["discount"])
        assert pattern["discounted"] == pytest.approx(left / max(1, pattern["total"]), rel=1e-9)


def test_gaps_are_null_and_an_underscore_is_a_word(ask: Ask) -> None:
    answer = ask("explain", model="glm", context="_ w2 w3", word="w3")
    kept = {p["pattern"]: p["kept"] for p in answer["patterns"]}
    assert kept["1011"] == ["<unk>", None, "w3"]
    assert kept["101"] == ["w2", None]
    assert answer["unknown"] == ["_"]


def test_scores_are_the_models(ask: Ask, models: Models) -> None:
    answer = ask("score", model="glm", text="w1 w2 what\n\n w3\t<s> ")
    first, second = answer["sentences"]
    assert first["words"] == ["w1", "w2", "what", "</s>"]
    assert first["known"] == [True, True, False, True]
    assert second["words"] == ["w3", "<unk>", "</s>"]
    assert first["log10_probs"] == models["glm"].scores("w1 w2 what").tolist()
    perplexity = models["glm"].perplexity(sentences=["w1 w2 what", "w3 <unk>"])
    assert answer["perplexity"] == pytest.approx(perplexity.perplexity)
    assert answer["perplexity_known"] == pytest.approx(perplexity.perplexity_known)
    assert (answer["words"], answer["unknown_words"]) == (5, 2)


def test_nothing_has_no_perplexity(ask: Ask) -> None:
    answer = ask("score", model="mkn", text=" \n ")
    assert (answer["sentences"], answer["perplexity"], answer["perplexity_known"]) == ([], None, None)


def test_generated_sentences_are_words_and_repeatable(ask: Ask, models: Models) -> None:
    question = {"model": "glm", "begin": "w1", "sentences": 3, "max_words": 6, "seed": 9}
    answer = ask("generate", **question)
    assert answer == ask("generate", **question)
    for sentence in answer["sentences"]:
        assert sentence.startswith("w1")
        assert len(sentence.split()) <= 6
        assert math.isfinite(models["glm"].score(sentence))


def test_the_description_is_complete(client: TestClient) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    questions = ("predict", "score", "explain", "correct", "generate")
    assert set(paths) == {f"/api/{name}" for name in ("health", "models", *questions)}
    for name in questions:
        assert {"200", "400", "404", "413", "422", "503"} <= set(paths[f"/api/{name}"]["post"]["responses"])
