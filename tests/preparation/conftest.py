"""Where the shared data is."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def shared_dumps() -> Path:
    folder = Path(__file__).parents[3] / "shared" / "data" / "dumps"
    if not folder.is_dir():
        pytest.skip(f"the shared dumps are not here: {folder}")
    return folder
