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
    pattern
    for package, pattern in {
        "pyspark": "src/gapgram/counting/spark/*",
        "flashlight": "src/gapgram/adapters/torchaudio.py",
        "torch": "src/gapgram/adapters/nemo.py",
        "transformers": "src/gapgram/adapters/transformers.py",
    }.items()
    if find_spec(package) is None
]
