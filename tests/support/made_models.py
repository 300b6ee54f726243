"""One of every estimator, and models of made text."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.corpora import toy_text

import gapgram
from gapgram import Model
from gapgram.arrays import Integers
from gapgram.errors import DiscountWarning

ESTIMATORS: dict[str, dict[str, Any]] = {
    "mkn": {"model": "mkn"},
    "uniform": {"model": "glm", "weights": "uniform"},
    "counts": {"model": "glm", "weights": "counts"},
    "learned": {"model": "glm", "weights": "learned", "classes": "none"},
    "classes": {"model": "glm", "weights": "learned", "classes": 6},
    "clusterings": {"model": "glm", "weights": "learned", "classes": [4, 9]},
}
FAST_KINDS = ("mkn", "glm", "custom", "learned", "counts", "classes", "pruned")  # of the fixture `fast`
FILED_KINDS: dict[str, dict[str, Any]] = {  # of the fixture `model_files`
    "mkn": {"model": "mkn"},
    "learned": {},
    "custom": {"weights": "uniform", "lattice": "11,1001,1011"},
    "classes": {"classes": 6},
}
KINDS = {**ESTIMATORS, "custom": {"model": "glm", "weights": "uniform", "lattice": "11,1001,1011"}}  # one's own lattice


def some_contexts() -> list[list[str]]:
    """Contexts to ask about: none, the start, a word that no model knows, and beginnings of made sentences."""
    return [[], ["<s>"], ["zzz"], *[["<s>", *line.split()[:4]][-4:] for line in toy_text(40, seed=11)]]


def limited(path: Path) -> Model:
    """A model that is read with as little memory as there can be."""
    return Model.load(path, most_resident=0)


def trained(sentences: Any, **options: Any) -> Model:
    """A model of sentences that may be too few for discounts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)
        return gapgram.train(sentences=sentences, threads=1, **options)


def sorted_words(model: Any, context: Any, *, prefix: str = "", special: bool = False) -> list[tuple[str, float]]:
    """All words by falling probability, then rising id: what predictions must be the head of."""
    distribution, words = model.distribution(context), words_of(model)
    kept = _starting(model, prefix, special)
    order = kept[np.lexsort((kept, -distribution[kept]))]
    return [(words[i], p) for i, p in zip(order.tolist(), distribution[order].tolist(), strict=True)]


@cache
def words_of(model: Any) -> list[str]:
    """The words of a model by their ids, decoded once."""
    return list(model.vocabulary)


@cache
def _starting(model: Any, prefix: str, special: bool) -> Integers:
    words = enumerate(words_of(model))
    return np.array([i for i, w in words if w.startswith(prefix) and (i > 2 or (special and i != 1))], int)
