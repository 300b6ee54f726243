"""Build the library of kernels for this machine into the source tree: `python -m compiler`.

And, where ziglang is installed, what the page without a server needs.
"""

from __future__ import annotations

import sys

from compiler.build import build_here
from compiler.library import build_for_page
from compiler.platforms import BuildError

if __name__ == "__main__":
    try:
        build_here(sys.stderr)  # which says nothing where nothing has changed
        build_for_page()
    except (BuildError, OSError) as error:
        sys.exit(f"error: {error}")
