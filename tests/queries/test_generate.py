"""Sentences are drawn from the model's distribution."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.made_models import trained

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


def test_the_command(made: dict[str, Model]) -> None:
    out = CliRunner().invoke(command, [str(made["learned"].path), "w1", "-n", "3", "--seed", "7"])
    expected = [" ".join(words) for words in generate(made["learned"], 3, begin="w1", seed=7)]
    assert out.stdout.splitlines() == expected
