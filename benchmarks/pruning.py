"""Perplexity by size: models pruned by count and by loss.

    python benchmarks/pruning.py TRAIN VALID [--model mkn] [--weights counts]

For each set of thresholds that pruning by count knows, the model pruned by loss to the same number of bytes; then
by loss to 75, 50, 25 and 10 per cent.
"""

from __future__ import annotations

import argparse
import time
import warnings

import gapgram
from gapgram import Model
from gapgram.compression.pruning.to_size import bytes_of
from gapgram.errors import DiscountWarning, UsageError

COUNTS = ("0,0,0,0,1", "0,0,0,1", "0,0,1", "0,0,1,2", "0,0,2", "0,1", "0,1,2", "0,2")
KEPT = (0.75, 0.5, 0.25, 0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("valid")
    parser.add_argument("--model", default="glm")
    parser.add_argument("--weights")
    parser.add_argument("-n", "--order", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore", DiscountWarning)
    whole = gapgram.train(options.train, model=options.model, weights=options.weights, order=options.order)
    show("whole", whole, whole, options.valid, 0.0)
    for counts in COUNTS:
        small = timed(whole, options.valid, f"counts {counts}", counts=counts)
        if small is not None:
            timed(whole, options.valid, "  by loss", size=bytes_of(small.parts))
    for keep in KEPT:
        timed(whole, options.valid, f"keep {keep}", keep=keep)
    print(whole.signature)


def timed(whole: Model, valid: str, name: str, **options: object) -> Model | None:
    """Prune and show; None where it cannot be done."""
    began = time.process_time()
    try:
        small = whole.pruned(**options)  # type: ignore[arg-type]
    except UsageError as error:
        print(f"{name:20} {error}")
        return None
    show(name, small, whole, valid, time.process_time() - began)
    return small


def show(name: str, model: Model, whole: Model, valid: str, seconds: float) -> None:
    """One line: bytes, their share, perplexity of known and of all words, CPU seconds."""
    found, n_bytes = model.perplexity(valid), bytes_of(model.parts)
    print(
        f"{name:20} {n_bytes:12,} {n_bytes / bytes_of(whole.parts):6.1%} {found.perplexity_known:9.2f} "
        f"{found.perplexity:9.2f} {seconds:6.1f}", flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
