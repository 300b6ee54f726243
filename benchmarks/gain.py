"""What skips and classes bring: the perplexity of a test text, without unknown words, under several models.

    python benchmarks/gain.py TRAIN TEST [TRAIN TEST …] [-n 5] [--with 'glm full+full']

Trains modified Kneser-Ney, a glm of words alone and the default glm, with word classes, on each training text, and
prints perplexities and what they gain over modified Kneser-Ney, with the CPU seconds of training.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import gapgram
from gapgram.reporting.tables import table

MODELS: dict[str, dict[str, Any]] = {
    "mkn": {"model": "mkn"},
    "glm words": {"classes": "none"},
    "glm classes": {"classes": "auto"},
}
MORE: dict[str, dict[str, Any]] = {"glm full+full": {"classes": "auto", "lattice": "full+full"}}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("texts", nargs="+")
    arguments.add_argument("-n", "--order", type=int, default=5)
    arguments.add_argument("--with", dest="more", action="append", default=[], choices=list(MORE))
    given = arguments.parse_args()
    if len(given.texts) % 2:
        arguments.error("expected pairs of a training text and a test text")
    warnings.simplefilter("ignore", gapgram.errors.DiscountWarning)
    models = MODELS | {name: MORE[name] for name in given.more}
    rows = []
    for train, test in zip(given.texts[::2], given.texts[1::2], strict=True):
        first = 0.0
        row = [Path(train).name]
        for options in models.values():
            began = time.process_time()
            model = gapgram.train(train, order=given.order, **options)
            seconds = time.process_time() - began
            found = model.perplexity(test).perplexity_known
            first = first or found
            row.append(f"{found:.2f} ({100 * (first - found) / first:.1f} %, {seconds:.0f} s)")
        rows.append([f"{row[0]}, {model.counts.text.words:,} words", *row[1:]])
        print(table(["text", *models], rows[-1:], left=1), flush=True)
    print("\n" + table(["text", *models], rows, left=1))


if __name__ == "__main__":
    main()
