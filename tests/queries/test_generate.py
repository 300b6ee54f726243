"""Sentences are drawn from the model's distribution."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.made_models import ESTIMATORS, trained

from gapgram import Model
from gapgram.cli.generate import command
from gapgram.errors import UsageError
from gapgram.queries.generate import generate, sharpened

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


def test_words_come_as_often_as_the_model_says() -> None:
    """First words of 20,000 sentences against their probabilities; 5 standard deviations are allowed."""
    model = trained(["a b", "a c", "b a c", "c", "c c a"] * 5, order=3, model="glm", weights="uniform")
    n = 20_000
    first = Counter((words or ["</s>"])[0] for words in generate(model, n, max_words=1, seed=3))
    chances = sharpened(model.distribution(["<s>"]), 1.0, None)
    for word, chance in zip(model.vocabulary, chances / chances.sum(), strict=True):
        assert abs(first[word] / n - chance) <= 5 * np.sqrt(chance * (1 - chance) / n)


@pytest.mark.parametrize("kind", ["mkn", "uniform", "learned", "classes", "clusterings", "compact", "pruned"])
@pytest.mark.parametrize("begin", [(), ("c",), ("c", "a")])
def test_every_kind_of_model_is_drawn_from_exactly(small: dict[str, Model], kind: str, begin: tuple[str, ...]) -> None:
    """Words after some others against their probabilities; 5 standard deviations are allowed."""
    model, n = small[kind], 5000
    sentences = generate(model, n, begin=begin, max_words=len(begin) + 1, seed=3)
    next_words = Counter((words[len(begin) :] or ["</s>"])[0] for words in sentences)
    chances = sharpened(model.distribution(["<s>", *begin]), 1.0, None)
    for word, chance in zip(model.vocabulary, chances / chances.sum(), strict=True):
        assert abs(next_words[word] / n - chance) <= 5 * np.sqrt(chance * (1 - chance) / n)


@pytest.fixture(scope="module")
def small() -> dict[str, Model]:
    text = [*["a b", "a c", "b a c", "c", "c c a", "d a b c"] * 5, "e f a", "f e", "a e b"]
    models = {name: trained(text, order=3, **options) for name, options in ESTIMATORS.items()}
    compact, pruned = models["classes"].with_layout("compact"), models["learned"].pruned(counts="0,0,1")
    return {**models, "compact": compact, "pruned": pruned}


def test_long_lists_are_drawn_from_by_their_running_sums() -> None:
    """300 words follow one context: more than one step of the sums."""
    text = [f"a w{i} z" for i in range(300)] + [f"a w{7 * i} z" for i in range(40) for _ in range(9)]
    model = trained(text, order=2, model="mkn")
    n = 30_000
    drawn = Counter(words[1] for words in generate(model, n, begin="a", max_words=2, seed=2) if len(words) > 1)
    chances = sharpened(model.distribution(["<s>", "a"]), 1.0, None)
    for word, chance in zip(model.vocabulary, chances / chances.sum(), strict=True):
        if word != "</s>":
            assert abs(drawn[word] / n - chance) <= 5 * np.sqrt(chance * (1 - chance) / n)


def test_sentences_do_not_depend_on_threads_or_on_how_many_are_drawn(made: dict[str, Model]) -> None:
    model = made["learned"]
    some = list(generate(model, 300, seed=5, threads=1, max_words=2000))
    assert some == list(generate(model, 300, seed=5, threads=3, max_words=2000))
    assert some[:40] == list(generate(model, 40, seed=5, max_words=2000))


def test_the_same_seed_gives_the_same_sentences(made: dict[str, Model]) -> None:
    model = made["learned"]
    drawn = [list(generate(model, 4, seed=seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_top_1_takes_the_most_probable_word_each_time(made: dict[str, Model]) -> None:
    model = made["mkn"]
    (words,) = generate(model, top_k=1, max_words=8)
    for i, word in enumerate(words):
        best = [p.word for p in model.predict(["<s>", *words[:i]], 2, special=True) if p.word != "<unk>"]
        assert word == best[0]


def test_a_low_temperature_sharpens_and_never_vanishes() -> None:
    chances = sharpened(np.array([0.5, 0.0, 1e-5, 2e-5]), 0.001, None)
    assert chances.tolist() == [0.0, 0.0, pytest.approx(0.0, abs=1e-200), 1.0]


def test_sentences_begin_as_told_and_are_cut_off(made: dict[str, Model]) -> None:
    for words in generate(made["mkn"], 5, begin="w1 w2", max_words=4):
        assert words[:2] == ["w1", "w2"]
        assert len(words) <= 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "0 sentences: expected 1 or more"),
        ({"temperature": 0.0}, "temperature 0.0: expected a number above 0"),
    ({"seed": -1}, "seed -1: expected a whole number, 0 or more"),
        ({"temperature": float("nan")}, "temperature nan: expected a number above 0"),
        ({"top_k": 0}, "top k 0: expected 1 or more"),
        ({"max_words": 0}, "at most 0 words: expected 1 or more"),
    ],
)
def test_mistakes(made: dict[str, Model], options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(generate(made["mkn"], **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(("arguments", "options", "message"), [
    ((-3,), {}, "-3 sentences of at most 100 words"), ((1,), {"max_words": 0}, "1 sentences of at most 0 words"),
    ((1,), {"max_words": 1.5}, "max_words: expected a whole number, found the number 1.5"),
    ((1, "w1 w2"), {}, "expected a list of words, found one string"),
    ((1, ["<s>"]), {}, "begins with '<s>': <s> and </s> are not words of it"),
])  # fmt: skip
def test_mistakes_with_ids(
    made: dict[str, Model], arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises((UsageError, TypeError), match=re.escape(message)):
        list(made["mkn"].draw_ids(*arguments, **options))


def test_the_command(made: dict[str, Model]) -> None:
    out = CliRunner().invoke(command, [str(made["learned"].path), "w1", "-n", "3", "--seed", "7"])
    expected = [" ".join(words) for words in generate(made["learned"], 3, begin="w1", seed=7)]
    assert out.stdout.splitlines() == expected
