"""A million words scored by the library for C and by Python, model by model: how many have other bits.

python -m benchmarks.c_equality TEXT MODEL …
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from tests.support.c_library import Library, built_library

import gapgram

MOST = 1_000_000


def differing(library: Library, path: str, lines: list[str]) -> tuple[int, int]:
    """(words that were scored, of these with other bits) of one model; a tenth of the lines by sessions that learn."""
    model, n, different = gapgram.load(path), 0, 0
    with library.open(Path(path)) as other, other.session(0) as session:
        expected = model.session()
        for i, line in enumerate(lines):
            ids = np.array([1, *model.vocabulary.ids(line.split()), 2], np.int32)
            mine, theirs = other.score_words(ids.tolist()), model.score_ids(ids, np.array([0, ids.size]))
            different += int((mine != theirs).sum()) + (other.score(line) != model.score(line))
            if i % 10 == 0:
                different += session.score(line, learn=True) != expected.score(line, learn=True)
            n += ids.size
            if n >= MOST:
                break
    return n, different


if __name__ == "__main__":
    library, text = Library(built_library()), Path(sys.argv[1]).read_text("utf-8").split("\n")
    for path in sys.argv[2:]:
        n, different = differing(library, path, [line for line in text if line.split()])
        print(f"{path}: {different} of {n:,} differ", flush=True)
