"""What follows a context is found from the context alone."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.support.made_models import KINDS

import gapgram

PLAIN_PYTHON = """
import warnings
import gapgram
warnings.simplefilter("ignore")
text = ["the cat sat on the mat", "the dog sat", "a cat ran to the mat"] * 4
for options in ({"model": "mkn"}, {"weights": "uniform"}, {"weights": "learned", "classes": 2}):
    model = gapgram.train(sentences=text, order=4, threads=1, **options)
    for context in ([], ["<s>"], ["the", "cat"]):
        assert abs(model.distribution(context).sum() - 1) < 1e-12
        assert len(model.predict(context, 3)) == 3
        assert len(model.predict(context, 3, prefix="t")) == 2
        assert model.explain("cat", context).probability > 0
"""


def test_no_context_is_too_short_to_be_asked() -> None:
    """As plain Python, where an index outside an array is an error and not whatever lies there."""
    environment = {**os.environ, "GAPGRAM_KERNELS": "python"}
    done = subprocess.run([sys.executable, "-c", PLAIN_PYTHON], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("context", [[], ["<s>"], ["w1"], ["<s>", "w1", "w2"], ["w3", "nowhere", "w2"]])
def test_a_distribution_has_the_probability_of_each_word(
    made: dict[str, gapgram.Model], name: str, context: list[str]
) -> None:
    model = made[name]
    words = [word for word in model.vocabulary if word != "<s>"]
    expected = [10 ** model.log10_prob(word, context) for word in words]
    assert np.delete(model.distribution(context), model.vocabulary.id("<s>")) == pytest.approx(expected, rel=1e-12)
