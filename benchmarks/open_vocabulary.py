"""Perplexities of models that know different words, and what spelling costs.

    python benchmarks/open_vocabulary.py TRAIN TEST [-n 5] [--min-counts 1 2 3 5 10] [--efforts mkn default]

Trains models with an open vocabulary, in which words are unknown that are met less often than a count. Prints
perplexities of all words, each unknown one being `<unk>`, of known words, and with an open vocabulary, where each
unknown word has a probability of its own; bits per byte; and bytes and CPU seconds of training, one thread, of the
spelling.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import gapgram
from gapgram import Model, TextRules
from gapgram.reporting.tables import table

EFFORTS = ("mkn", "fast", "default", "best")


def trained(text: str, effort: str, min_count: int, order: int, *, is_open: bool) -> tuple[Model, float]:
    """A model and the CPU seconds that it took."""
    options: dict[str, Any] = {"model": "mkn"} if effort == "mkn" else {"effort": effort}
    began = time.process_time()
    model = gapgram.train(
        text, order=order, rules=TextRules(min_count=min_count), open_vocabulary=is_open, threads=1, **options
    )
    return model, time.process_time() - began


def spelling_bytes(model: Model) -> int:
    """What the spelling takes of the model's file."""
    assert model.spelling is not None
    return sum(array.nbytes for array in model.spelling.contents()[0].values())


def row(given: argparse.Namespace, effort: str, min_count: int) -> list[object]:
    """The figures of one model."""
    model, seconds = trained(given.train, effort, min_count, given.order, is_open=True)
    _, without = trained(given.train, effort, min_count, given.order, is_open=False)
    found = model.perplexity(given.test, threads=1)
    return [
        effort, min_count, f"{len(model.vocabulary):,}", f"{100 * found.unknown_words / found.words:.1f} %",
        f"{found.perplexity:.2f}", f"{found.perplexity_known:.2f}", f"{found.perplexity_open:.2f}",
        f"{found.bits_per_byte_open:.4f}", f"{spelling_bytes(model):,}", f"{seconds - without:.1f}",
    ]  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train")
    arguments.add_argument("test")
    arguments.add_argument("-n", "--order", type=int, default=5)
    arguments.add_argument("--min-counts", type=int, nargs="+", default=[1, 2, 3, 5, 10])
    arguments.add_argument("--efforts", nargs="+", default=["mkn", "default"], choices=EFFORTS)
    given = arguments.parse_args()
    warnings.simplefilter("ignore", gapgram.errors.DiscountWarning)
    rows = [row(given, effort, min_count) for effort in given.efforts for min_count in given.min_counts]
    header = ["model", "min count", "words", "unknown", "all", "known", "open", "bits per byte", "bytes", "s"]
    print(table(header, rows, left=1))


if __name__ == "__main__":
    main()
