"""Scoring speed of model files: CPU time a word of the same text, one thread, the files in turn, best of several.

    python benchmarks/layouts.py TEXT MODEL…
"""

from __future__ import annotations

import sys
import time

import numpy as np

import gapgram
from gapgram.text import corpus as text
from gapgram.text.corpus import sentence_begins
from gapgram.text.files import blocks_of_files

ROUNDS = 5


def main() -> None:
    """Print µs of CPU a word for each model, relative to the first, and how long it takes to open."""
    source, *paths = sys.argv[1:]
    best = dict.fromkeys(paths, np.inf)
    opening = dict.fromkeys(paths, np.inf)
    for _ in range(ROUNDS):
        for path in paths:
            began = time.process_time()
            model = gapgram.load(path)
            opening[path] = min(opening[path], time.process_time() - began)
            parts = text.encode(blocks_of_files(source), model.vocabulary)
            ids = np.concatenate([part.ids for part in parts])
            begins = sentence_begins(ids)
            model.score_checked_ids(ids[: begins[1]], begins[:2])  # compiled and mapped
            began = time.process_time()
            model.score_checked_ids(ids, begins)
            best[path] = min(best[path], (time.process_time() - began) / ids.size * 1e6)
    for path in paths:
        relative = best[path] / best[paths[0]]
        print(f"{path}  {best[path]:.2f} µs a word  {relative:.2f} ×  opened in {opening[path] * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
