"""Build the library of kernels for this machine into the source tree: `python -m compiler`."""

from __future__ import annotations

import sys

from compiler.build import build_here
from compiler.platforms import BuildError

if __name__ == "__main__":
    try:
        build_here(sys.stderr)  # which says nothing where nothing has changed
    except (BuildError, OSError) as error:
        sys.exit(f"error: {error}")
