"""Schemathesis: requests made up from the API's own description, valid ones and broken ones, find nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.running import HANGING_SECONDS
from tests.support.running_service import Service

pytest.importorskip("schemathesis", reason="schemathesis is not installed")

EXAMPLES, SEED = 25, 7


def test_the_service_keeps_to_its_description(service: Service, tmp_path: Path) -> None:
    options = ["--checks", "all", "--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES),
               "--seed", str(SEED), "--generation-database", "none", "--no-color"]  # fmt: skip
    program = [sys.executable, "-m", "schemathesis.cli", "run", f"{service.url}api/openapi.json"]
    ran = subprocess.run([*program, *options], cwd=tmp_path, capture_output=True, text=True, timeout=HANGING_SECONDS)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert "No issues found" in ran.stdout
