"""What a sentence takes by how many others come before it is scored again: what is memory, and what a wrong guess.

    python benchmarks/foreseen.py MODEL TEXT [--copies 8] [--rounds 8]

Microseconds of processor time a sentence, the least of several rounds through the first N sentences of TEXT. With
copies of the model each sentence is scored with one copy after the other: the processor reads as much memory as for so
many times as many sentences, but what a search will find it has met before, and can foresee.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import gapgram
from gapgram.reporting.tables import table

LINES = 20, 160, 1000
AT_LEAST = 8000  # sentences that are scored in a round: a processor learns slowly what comes

Score = Callable[[str], float]


def microseconds(scores: Sequence[Score], lines: Sequence[str], rounds: int) -> float:
    """A sentence takes, where all lines go through one model after the other."""
    least, again = float("inf"), -(-AT_LEAST // (len(lines) * len(scores)))
    for _ in range(rounds + 1):  # pages are mapped in the first
        began = time.process_time()
        for score in list(scores) * again:
            for line in lines:
                score(line)
        least = min(least, time.process_time() - began)
    return least * 1e6 / len(lines) / len(scores) / again


def main() -> None:
    """Measure, and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model")
    arguments.add_argument("text")
    arguments.add_argument("--copies", type=int, default=8)
    arguments.add_argument("--rounds", type=int, default=8)
    given = arguments.parse_args()
    lines = [line for line in Path(given.text).read_text("utf-8").split("\n") if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        scores: list[Score] = []
        for i in range(given.copies):
            copy = shutil.copy(given.model, f"{folder}/{i}")
            scores.append(gapgram.load(copy).score)
        rows = [
            [f"{n:,}", *(f"{microseconds(some, lines[:n], given.rounds):.2f}" for some in (scores[:1], scores))]
            for n in LINES
        ]
    print(table(["sentences", "one model", f"{given.copies} copies of it"], rows))


if __name__ == "__main__":
    main()
