"""Models of made text, one of every estimator, for the tests of what models are used for."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import gapgram
from gapgram import Model
from gapgram.errors import DiscountWarning

ESTIMATORS: dict[str, dict[str, Any]] = {
    "mkn": {"model": "mkn"},
    "uniform": {"model": "glm", "weights": "uniform"},
    "counts": {"model": "glm", "weights": "counts"},
    "learned": {"model": "glm", "weights": "learned"},
    "custom": {"model": "glm", "weights": "uniform", "lattice": "11,1001,1011"},
}


def trained(sentences: Any, **options: Any) -> Model:
    """A model of sentences that may be too few for discounts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)
        return gapgram.train(sentences=sentences, threads=1, **options)


def sorted_words(model: Any, context: Any, *, prefix: str = "", special: bool = False) -> list[tuple[str, float]]:
    """All words by falling probability, then rising id: what predictions must be the head of."""
    distribution = model.distribution(context)
    words = list(model.vocabulary)
    kept = [i for i, w in enumerate(words) if w.startswith(prefix) and (i > 2 or (special and i != 1))]
    order = np.array(kept, int)[np.lexsort((kept, -distribution[kept]))]
    return [(words[i], float(distribution[i])) for i in order]
