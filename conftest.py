"""Modules that need what is not installed have no examples to run; all others must be importable."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

# Kernels that were edited are built anew before anything is imported, and nothing else is.
if os.environ.get("GAPGRAM_KERNELS", "built") == "built":
    built = subprocess.run([sys.executable, "-m", "compiler"], cwd=Path(__file__).parent, check=False)
    if built.returncode:
        sys.exit("the tests were not run: the kernels were not built")

collect_ignore_glob = [
    f"src/gapgram/{pattern}"
    for pattern, package in {
        "counting/spark/*": "pyspark",
        "adapters/torchaudio.py": "flashlight",
        "adapters/nemo.py": "torch",
        "adapters/transformers.py": "transformers",
        "applications/filtering/stages/datatrove.py": "datatrove",
        "applications/filtering/stages/nemo_curator.py": "nemo_curator",
    }.items()
    if find_spec(package) is None
]
