"""Compile all kernels for this machine: `python -m gapgram.warmup` is `gapgram warmup`."""

from __future__ import annotations

import sys

from gapgram.cli.main import main

if __name__ == "__main__":
    sys.argv.insert(1, "warmup")
    main()
