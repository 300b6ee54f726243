"""What skips and classes bring, and what they cost: the perplexity of a test text under several models.

    python benchmarks/gain.py TRAIN TEST [TRAIN TEST …] [-n 5] [--models mkn 'glm classes' 'glm best' …]
                              [--tokenizer chars|FILE]

Trains models on each training text: modified Kneser-Ney, a glm of words alone (`--effort fast`), the default glm, with
word classes, and the best, with classes of several clusterings; `auto` models choose their patterns. Prints
perplexities without unknown words, what they gain over the first model, those of all words, and CPU seconds of training
and of scoring the test text, one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import gapgram
from gapgram import Model
from gapgram.queries.perplexity import Perplexity
from gapgram.reporting.tables import table

MODELS: dict[str, dict[str, Any]] = {
    "mkn": {"model": "mkn"},
    "glm words": {"effort": "fast"},
    "glm classes": {"effort": "default"},
    "glm best": {"effort": "best"},
    "glm full+full": {"classes": "auto", "lattice": "full+full"},
    "glm 3": {"classes": ["auto", 60, 1500]},
    "glm chain": {"lattice": "chain"},
    **{f"glm auto:{n}": {"lattice": f"auto:{n}"} for n in (8, 16, 24, 32, 40)},
    **{f"words auto:{n}": {"lattice": f"auto:{n}", "effort": "fast"} for n in (8, 16, 24, 32, 40)},
    **{f"best auto:{n}": {"lattice": f"auto:{n}", "effort": "best"} for n in (16, 24, 32, 40)},
}
USUAL = ("mkn", "glm words", "glm classes", "glm best")


def trained(text: str, order: int, options: dict[str, Any]) -> tuple[Model, float]:
    """A model and the CPU seconds that it took."""
    began = time.process_time()
    model = gapgram.train(text, order=order, threads=1, **options)
    return model, time.process_time() - began


def scored(model: Model, text: str) -> tuple[Perplexity, float]:
    """The perplexity of a text and the CPU seconds of the second time that it is scored."""
    model.perplexity(text)
    began = time.process_time()
    return model.perplexity(text), time.process_time() - began


def gain(found: float, first: float) -> str:
    """How much less a perplexity is than the first."""
    return f"{100 * (first - found) / first:.1f} %"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("texts", nargs="+")
    arguments.add_argument("-n", "--order", type=int, default=5)
    arguments.add_argument("--models", nargs="+", default=USUAL, choices=list(MODELS))
    arguments.add_argument("--tokenizer")
    given = arguments.parse_args()
    if len(given.texts) % 2:
        arguments.error("expected pairs of a training text and a test text")
    warnings.simplefilter("ignore", gapgram.errors.DiscountWarning)
    for train, test in zip(given.texts[::2], given.texts[1::2], strict=True):
        rows: list[list[object]] = []
        first = None
        for name in given.models:
            model, seconds = trained(train, given.order, {**MODELS[name], "tokenizer": given.tokenizer})
            found, scoring = scored(model, test)
            first = first or found
            known, every = found.perplexity_known, found.perplexity
            gains = gain(known, first.perplexity_known), gain(every, first.perplexity)
            row = [name, len(model.counts.lattice.stored), f"{known:.2f}", gains[0], f"{every:.2f}", gains[1]]
            rows.append([*row, f"{seconds:.1f}", f"{scoring:.3f}"])
        print(f"{Path(train).name}, {model.counts.text.words:,} words")
        header = ["model", "patterns", "known words", "gain", "all words", "gain", "training, s", "scoring, s"]
        print(table(header, rows, left=1) + "\n", flush=True)


if __name__ == "__main__":
    main()
