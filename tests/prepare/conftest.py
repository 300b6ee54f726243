"""Where the shared data is; and the made documents, which tests import by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def shared_dumps() -> Path:
    folder = Path(__file__).parents[3] / "shared" / "data" / "dumps"
    if not folder.is_dir():
        pytest.skip(f"the shared dumps are not here: {folder}")
    return folder
