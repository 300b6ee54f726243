"""Modules that need what is not installed have no examples to run; all others must be importable."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [
    pattern
    for package, pattern in {
        "pyspark": "src/gapgram/counting/spark/*",
        "pyctcdecode": "src/gapgram/adapters/pyctcdecode.py",
        "flashlight": "src/gapgram/adapters/torchaudio.py",
    }.items()
    if find_spec(package) is None
]
