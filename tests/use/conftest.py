"""The folder itself on the path (for `made_models`), and a model of every estimator, saved."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from made_models import ESTIMATORS, trained

from corpora import toy_text
from gapgram import Model


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    """One model of each estimator, order 4, of a text with some 560 words."""
    folder = tmp_path_factory.mktemp("made")
    text = toy_text(1200, seed=5, vocabulary=800)
    return {
        name: trained(text, order=4, output=folder / f"{name}.model", **options) for name, options in ESTIMATORS.items()
    }
