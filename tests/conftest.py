"""What all tests share: the folder itself on the path (for `corpora`), a quick Hypothesis, small models."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.append(str(Path(__file__).parent))

import gapgram
from corpora import toy_text
from gapgram.errors import DiscountWarning

# Kernels are compiled in the first example, so that no example may be timed; the same examples every time.
settings.register_profile(
    "gapgram", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("gapgram")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The measurement data beside the repository; tests that need it are skipped where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here: the project's own goldens are tested in its place")
    return folder


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, gapgram.Model]:
    """Models of the toy text, saved: mkn, glm with equal weights, and a lattice of a user's own."""
    folder = tmp_path_factory.mktemp("models")
    lines = toy_text(300)
    kinds: dict[str, dict[str, str]] = {
        "mkn": {"model": "mkn"},
        "glm": {"model": "glm", "weights": "uniform"},
        "custom": {"model": "glm", "weights": "uniform", "lattice": "11,1001,1011"},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)
        return {
            name: gapgram.train(sentences=lines, order=4, output=folder / f"{name}.model", **options)  # type: ignore[arg-type]
            for name, options in kinds.items()
        }
